// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lesson_files.h"

#include <algorithm>

#include <QDialog>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QRegularExpression>
#include <QSettings>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/lessons/lesson.h"
#include "app/window/commands/command_table.h"
#include "app/window/commands/commands.h"
#include "app/window/files/usual_folder.h"
#include "app/window/files/write_path.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "viz/reduce/lecture.h"

namespace kvscope {

namespace {
constexpr const char* kKinds = "Lessons (*.json);;All files (*)";
constexpr std::size_t kMostBytes = 1u << 20;
constexpr const char* kOwn = "lessons/own";
constexpr qsizetype kMostOwn = 8;

/// Among those of the program, by whatever path the file was named.
std::vector<std::string>::const_iterator place_of(const std::string& path) {
  const QString file = QFileInfo(qs(path)).canonicalFilePath();
  return std::ranges::find_if(built_in_lessons(), [&](const std::string& one) { return QFileInfo(qs(one)).canonicalFilePath() == file; });
}

/// The table of facts, with a column of what they are now behind their names.
QString withValues(const QString& page, const viz::Facts& facts) {
  static const QRegularExpression name("`([a-z0-9_]+)`");
  QStringList lines = page.split('\n');
  for (qsizetype i = lines.indexOf("## Facts"); i >= 0 && i < lines.size(); ++i) {
    if (!lines[i].startsWith('|')) continue;
    QString now = lines[i].startsWith("|---") ? "---" : " now ";
    const QString names = lines[i].section('|', 1, 1);
    QStringList values;
    for (auto it = name.globalMatch(names); it.hasNext();) {
      const auto fact = facts.find(it.next().captured(1).toStdString());
      QString value = fact == facts.end() ? QString() : qs(fact->second.text).toHtmlEscaped();
      for (const char* mark : {"|", "*", "_", "`", "#"}) value.replace(mark, QString("\\") + mark);
      values << (value.isEmpty() ? QString("–") : value);
    }
    if (!values.isEmpty()) now = " " + values.join(", ") + " ";
    lines[i] = "|" + names + "|" + now + "|" + lines[i].section('|', 2);
  }
  return lines.join('\n');
}
}  // namespace

LessonFiles::LessonFiles(const LectureGuide& guide, const Workspace& workspace, QSettings* settings, QObject* parent)
    : QObject(parent), m_guide(guide), m_workspace(workspace), m_settings(settings) {
  if (m_settings != nullptr) m_own = m_settings->value(kOwn).toStringList().mid(0, kMostOwn);
}

void LessonFiles::fillMenu(Commands& commands, QMenu* menu) {
  for (const std::string& path : built_in_lessons()) {
    try {
      const Lesson lesson = read_lesson(path);
      QStringList scenes;
      for (const Scene& scene : lesson.scenes) scenes << qs(scene.name);
      QAction* item =
          commands.add(menu, {qs(lesson.name), {}, [this, path = qs(path)] { Q_EMIT openRequested(path); }, qs(lesson.about), scenes});
      item->setCheckable(true);
      item->setData(qs(path));
      connect(item, &QAction::triggered, this, &LessonFiles::markShown);  // it may be refused
      m_items << item;
    } catch (const Error& error) {
      qWarning("%s", error.what());
    }
  }
  m_own_end = menu->addSeparator();
  connect(menu, &QMenu::aboutToShow, this, [this, menu] { listOwn(menu); });
  connect(&m_guide, &LectureGuide::lessonChanged, this, &LessonFiles::markShown);
  markShown();
  QWidget* over = &commands.window();
  commands.add(menu, {"&Open lesson…", {}, [this, over] { open(over); }, "A text file with scenes; a drop on the window does the same"});
  commands.add(menu, {"&Save a copy of this lesson…", {}, [this, over] { saveCopy(over); }, "A beginning for one of your own"});
  commands.add(menu, {"&How to write a lesson", {}, [this, over] { showGuide(over); }, "The format, and every fact with its value now"});
}

/// Below those of the program; one whose file is gone, or is no lesson any more, has nothing to open.
void LessonFiles::listOwn(QMenu* menu) {
  qDeleteAll(m_own_items);
  m_own_items.clear();
  QStringList names;  // as a copy of one that the program brings has the same
  for (const QAction* item : m_items) names << item->text();
  for (const QString& path : m_own) {
    try {
      const Lesson lesson = read_lesson(path.toStdString());
      if (m_own_items.isEmpty()) m_own_items << menu->insertSeparator(m_own_end);
      QString name = qs(lesson.name);
      if (names.contains(name)) name += QString(" (%1)").arg(QFileInfo(path).fileName());
      if (names.contains(name)) name = QString("%1 (%2)").arg(qs(lesson.name), path);
      names << name;
      auto* item = new QAction(asLabel(name), menu);
      item->setCheckable(true);
      item->setData(path);
      item->setToolTip(path);
      connect(item, &QAction::triggered, this, [this, path] { Q_EMIT openRequested(path); });
      menu->insertAction(m_own_end, item);
      m_own_items << item;
    } catch (const Error&) {
      continue;  // it is listed again once it is back
    }
  }
  markShown();
}

QString LessonFiles::folder() const { return m_folder.isEmpty() ? usualFolder() : m_folder; }

void LessonFiles::setShown(const QString& path) {
  if (place_of(path.toStdString()) != built_in_lessons().end()) return;
  const QString file = QFileInfo(path).absoluteFilePath();
  m_folder = QFileInfo(path).absolutePath();
  m_own.removeAll(file);
  m_own.prepend(file);
  if (m_own.size() > kMostOwn) m_own.removeLast();
  if (m_settings != nullptr) m_settings->setValue(kOwn, m_own);
}

QString LessonFiles::next() const {
  const std::vector<std::string>& all = built_in_lessons();
  const auto it = place_of(m_guide.lesson().path);
  return it == all.end() || it + 1 == all.end() ? QString() : qs(*(it + 1));
}

QString LessonFiles::before() const {
  const std::vector<std::string>& all = built_in_lessons();
  const auto it = place_of(m_guide.lesson().path);
  return it == all.end() || it - all.begin() < 2 ? QString() : qs(*(it - 1));
}

/// Which of them runs.
void LessonFiles::markShown() {
  const auto same = [this](const QAction* item) {
    return QFileInfo(item->data().toString()).canonicalFilePath() == QFileInfo(qs(m_guide.lesson().path)).canonicalFilePath();
  };
  for (const QList<QAction*>* items : {&m_items, &m_own_items})
    for (QAction* item : *items) item->setChecked(same(item));
}

void LessonFiles::open(QWidget* over) {
  const QString path = QFileDialog::getOpenFileName(over, "Open lesson", folder(), kKinds);
  if (!path.isEmpty()) Q_EMIT openRequested(path);
}

/// Texts that the program brings are found from anywhere; those beside the lesson stay there.
void LessonFiles::saveCopy(QWidget* over) {
  const QString from = qs(m_guide.lesson().path);
  const QString path = askWhereToWrite(*over, "Save a copy of this lesson", folder() + "/" + QFileInfo(from).fileName(), kKinds);
  if (path.isEmpty()) return;
  try {
    write_atomically(path.toStdString(), read_text(from.toStdString(), kMostBytes));
    m_folder = QFileInfo(path).absolutePath();
    Q_EMIT said(QString("Saved as %1. Change it in a text editor, then drop it on the window.").arg(path));
  } catch (const Error& error) {
    Q_EMIT failed(error.what());
  }
}

QString LessonFiles::guideText() const {
  QString out;
  try {
    out = qs(read_text(asset("lessons/WRITING.md"), kMostBytes));
  } catch (const Error& error) {
    out = QString("The page did not come with this program: %1").arg(error.what());
  }
  return withValues(out, viz::lecture_facts(m_workspace.snapshot(), m_workspace.selection()));
}

void LessonFiles::showGuide(QWidget* over) {
  auto* dialog = new QDialog(over);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle("How to write a lesson");
  dialog->resize(px(*dialog, 980), px(*dialog, 680));
  auto* column = new QVBoxLayout(dialog);
  column->setContentsMargins(0, 0, 0, 0);
  auto* page = new QTextBrowser(dialog);
  page->setFrameShape(QFrame::NoFrame);
  page->document()->setDocumentMargin(px(*dialog, 16));
  page->setMarkdown(guideText());
  page->setAccessibleName("how to write a lesson");
  column->addWidget(page);
  dialog->show();
}

}  // namespace kvscope
