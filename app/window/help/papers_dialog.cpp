// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/papers_dialog.h"

#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/assets.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "io/files.h"

namespace kvscope {

namespace {

constexpr std::size_t kMostBytes = 1 << 20;

QString words() {
  try {
    return QString::fromStdString(read_text(asset("papers/TRUTH.md"), kMostBytes));
  } catch (const Error& error) {
    return QString("The page did not come with this program: %1").arg(QString::fromUtf8(error.what()));
  }
}

}  // namespace

PapersDialog::PapersDialog(QWidget* parent) : QDialog(parent), m_page(new QTextBrowser(this)) {
  setWindowTitle("What papers say, and what shows here");
  resize(px(*this, 1080), px(*this, 720));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  m_page->setFrameShape(QFrame::NoFrame);
  m_page->setOpenLinks(false);  // they are of the checkout, whose files are not here
  m_page->document()->setDocumentMargin(px(*this, 16));
  m_page->setMarkdown(words());
  m_page->setAccessibleName("what papers say, and what shows here");
  column->addWidget(m_page);
}

}  // namespace kvscope
