// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/papers_dialog.h"

#include <algorithm>

#include <QDesktopServices>
#include <QFileInfo>
#include <QLabel>
#include <QTextBrowser>
#include <QUrl>
#include <QVBoxLayout>

#include "app/window/shell/panel_paint.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"

namespace kvscope {

namespace {

constexpr std::size_t kMostBytes = 1 << 20;

QString words() {
  try {
    QStringList parts = QString::fromStdString(read_text(asset("papers/TRUTH.md"), kMostBytes)).trimmed().split("\n\n");
    const auto made = std::ranges::find_if(parts, [](const QString& part) { return part.startsWith("Written by"); });
    if (made != parts.end()) std::rotate(made, made + 1, parts.end());  // how it was made is read by those who want to make it again
    return parts.join("\n\n");
  } catch (const Error& error) {
    return QString("The page did not come with this program: %1").arg(QString::fromUtf8(error.what()));
  }
}

}  // namespace

PapersDialog::PapersDialog(QWidget* parent)
    : QDialog(parent), m_page(new QTextBrowser(this)), m_said(new QLabel(this)), m_open(QDesktopServices::openUrl) {
  setWindowTitle("What papers say, and what shows here");
  resize(px(*this, 1080), px(*this, 720));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  m_page->setFrameShape(QFrame::NoFrame);
  m_page->setOpenLinks(false);  // a picture is shown by the desktop's own viewer, not in place of the page
  connect(m_page, &QTextBrowser::anchorClicked, this, &PapersDialog::follow);
  m_page->document()->setDocumentMargin(px(*this, 16));
  m_page->setMarkdown(words());
  m_page->setAccessibleName("what papers say, and what shows here");
  column->addWidget(m_page);
  m_said->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_said->setMargin(px(*this, 8));
  m_said->setWordWrap(true);
  m_said->hide();
  column->addWidget(m_said);
}

void PapersDialog::follow(const QUrl& link) {
  const QString file = link.isRelative() ? QString::fromStdString(asset("papers")) + "/" + link.path() : QString();
  if (!file.isEmpty() && !QFileInfo::exists(file)) return say(QString("%1 did not come with this program").arg(link.path()));
  if (!m_open(file.isEmpty() ? link : QUrl::fromLocalFile(file)))
    say(QString("No program here shows it: %1").arg(file.isEmpty() ? link.toString() : file));
}

void PapersDialog::say(const QString& words) {
  m_said->setText(words);
  m_said->setVisible(true);
}

}  // namespace kvscope
