// SPDX-License-Identifier: Apache-2.0
// Opening and saving: sessions, prompts, model folders; bookmarks; what is offered after a crash.
#include <algorithm>

#include <QAction>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QStandardPaths>

#include "app/window/panels/runs/bookmark_panel.h"
#include "app/window/files/library_dialog.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/passing_words.h"
#include "app/window/files/prompt_file.h"
#include "app/window/shell/rows.h"
#include "app/window/session/session_file.h"
#include "app/window/session/stored_results.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/help/welcome_page.h"
#include "core/error.h"

namespace kvscope {

namespace {

QString words(int n, const char* one) { return QString("%1 %2%3").arg(n).arg(one, n == 1 ? "" : "s"); }

}  // namespace

namespace {
// The welcome is no place to come back to.
constexpr std::size_t kSortOption = 1;  // of the comparison
const QStringList kPages = {"inspect", "inspector", "compare", "sweep", "lecture", "inspect"};
}

MainWindow::Page MainWindow::pageOf(const QString& name) { return static_cast<Page>(std::max<qsizetype>(0, kPages.indexOf(name))); }

QString MainWindow::nameOf(Page page) { return kPages[static_cast<int>(page)]; }

SavedSession MainWindow::session() const {
  SavedSession s;
  const QString& folder = m_controller.modelFolder();
  s.model = QFileInfo(folder) == QFileInfo(QString::fromStdString(builtInModel())) ? QString() : QFileInfo(folder).absoluteFilePath();
  if (m_controller.viewOnly() && m_stored) {
    s.model = m_stored->model;
    s.results = m_stored->results;
  }
  s.request = m_controller.request();
  s.selection = m_pending ? *m_pending : m_workspace.selection();
  s.page = nameOf(page());
  s.bookmarks = m_bookmarks.all();
  s.sweep = m_sweep->saved();
  const viz::Option sort = canvas("compare")->view().options()[kSortOption];
  if (sort.current > 0) s.sort = QString::fromStdString(sort.choices[static_cast<std::size_t>(sort.current)]);
  return s;
}

void MainWindow::openSession(const SavedSession& s, const QString& path) {
  QString missing;
  const QString folder = s.model.isEmpty() ? QString::fromStdString(builtInModel()) : s.model;
  if (!QFileInfo(folder).isDir())
    missing = QString("the model folder %1 is missing: the model before is still there; open the folder where it is now (Ctrl+O)").arg(folder);
  m_undo.clear();
  m_bookmarks.reset(s.bookmarks);
  m_stored.reset();
  if (!missing.isEmpty() && !s.results.zlib.isEmpty()) {
    missing = QString("the results of %1 are being read").arg(QFileInfo(path).fileName());
    m_stored = s;
    m_results->read(s.results, path);
  } else {
    m_undoing = true;
    m_controller.openRequest(s.request);
    m_undoing = false;
  }
  m_tools->setGenerateCount(std::max(0, s.request.n_generate));
  m_sweep->restore(s.sweep);
  const viz::Option sort = canvas("compare")->view().options()[kSortOption];
  const auto column = std::ranges::find(sort.choices, s.sort.toStdString());
  canvas("compare")->view().choose(kSortOption, column == sort.choices.end() ? 0 : static_cast<int>(column - sort.choices.begin()));
  canvas("compare")->invalidate();
  Q_EMIT canvas("compare")->factsChanged();
  m_pending = s.selection;  // until there is something to select
  showPage(pageOf(s.page));
  if (missing.isEmpty() && QFileInfo(folder) != QFileInfo(m_controller.modelFolder())) m_controller.loadModel(folder);
  if (!missing.isEmpty()) m_notices->show(missing, missing);
  m_session_path = path;
  m_modified = path.isEmpty();
  m_journal->touch();
  refreshTitle();
}

void MainWindow::openSessionFile(const QString& path) {
  try {
    const ReadSession read = readSession(path);
    const SavedSession before = session();
    const QString before_path = m_session_path;
    const bool lost = m_modified;
    m_notices->clear();
    m_stored_notes = read.notes;
    openSession(read.session, path);
    m_recent->add(m_unseen = path);
    QString text = read.notes.join("; ");
    if (lost && text.isEmpty()) text = QString("opened %1; what was there before was not saved").arg(QFileInfo(path).fileName());
    if (text.isEmpty() || !m_notices->isHidden()) return;
    m_notices->show(text, text, lost ? "Back to the session before" : QString(), [this, before, before_path] {
      m_notices->dismiss();
      openSession(before, before_path);
      m_modified = true;
      refreshTitle();
    });
    if (read.notes.isEmpty()) m_notices->markNews();
  } catch (const Error& error) {
    sayNotOpened(QString::fromUtf8(error.what()));
  }
}

void MainWindow::openFile(const QString& path) {
  if (QFileInfo(path).isDir()) {
    m_controller.loadModel(path);
    m_notices->takeBack(m_not_opened);
    m_recent->add(m_unseen = path);
    return;
  }
  if (isTrace(path)) return openTrace(path);
  if (!isPromptFile(path)) return openSessionFile(path);
  try {
    m_controller.setPrompt(readPromptFile(path));
    m_notices->takeBack(m_not_opened);
    m_recent->add(m_unseen = path);
  } catch (const Error& error) {
    sayNotOpened(QString::fromUtf8(error.what()));
  }
}

void MainWindow::sayNotOpened(const QString& why) {
  m_not_opened = why;
  m_notices->show(why, why);
}

bool MainWindow::saveSession(const QString& path) {
  try {
    const SavedSession s = session();
    writeSession(path, s);
    keepResults(path, s);
  } catch (const Error& error) {
    m_notices->show(error.what(), error.what());
    return false;
  }
  m_session_path = path;
  m_passing->say("Saved to " + path, *m_pages);
  m_modified = false;
  m_journal->discard();
  m_recent->add(m_unseen = path);
  keepThumbnail();
  refreshTitle();
  return true;
}

/// What is still being computed is not stored.
void MainWindow::keepResults(const QString& path, const SavedSession& written) {
  const Snapshot& s = m_workspace.snapshot();
  const bool there = s.phase == RunPhase::idle && !s.lanes.empty() && m_controller.answersNewest(s) && !m_synthetic;
  if (there && written.results.zlib.isEmpty()) m_results->keep(path, written, m_workspace.snapshotPtr());
}

void MainWindow::saveNow() { m_session_path.isEmpty() ? askAndSaveSession() : void(saveSession(m_session_path)); }

void MainWindow::askAndSaveSession() {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
  QString path = QFileDialog::getSaveFileName(this, "Save session", m_session_path.isEmpty() ? folder + "/session.kvscope" : m_session_path,
                                              "Sessions (*.kvscope)");
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) path += ".kvscope";
  saveSession(path);
}

void MainWindow::buildSessionMenu(QMenu* menu) {
  action(menu, "Open &session or trace…", {QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_O)}, [this] {
    const QString path = QFileDialog::getOpenFileName(this, "Open session", {}, "Sessions and traces (*.kvscope *.json);;All files (*)");
    if (!path.isEmpty()) openFile(path);
  })->setToolTip("Model, prompt, runs, seeds, selection and bookmarks as they were saved, or results that were computed elsewhere; a drop on the window does the same");
  action(menu, "&Library…", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L)}, [this] {
    m_library->show();
    m_library->raise();
    m_library->activateWindow();
  })->setToolTip("Models, sessions and prompts used last, runs and bookmarks, with pictures: open, rename, compare");
  QMenu* recent = menu->addMenu("Open &recent");
  m_recent->attach(recent);
  connect(m_recent.get(), &RecentFiles::openRequested, this, &MainWindow::openFile);
  menu->addSeparator();
  action(menu, "Save sessi&on", {QKeySequence::Save}, [this] { saveNow(); });
  action(menu, "Save session &as…", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S)}, [this] { askAndSaveSession(); });
}

void MainWindow::keepSession() {
  m_journal = std::make_unique<SessionJournal>(m_options.journalFolder(), [this] { return sessionJson(session()); });
  connect(m_journal.get(), &SessionJournal::failed, this, [this](const QString& why) { m_notices->show(why, why); });
  const auto changed = [this] {
    m_modified = true;
    m_journal->touch();
    refreshTitle();
  };
  connect(&m_controller, &SessionController::requestChanged, this, [this, changed] {
    if (!m_controller.viewOnly()) changed();  // a refusal
  });
  connect(&m_bookmarks, &Bookmarks::changed, this, changed);
  connect(m_sweep, &SweepPanel::measured, this, changed);
  connect(&m_workspace, &Workspace::selectionChanged, this, [this] {
    if (m_modified) m_journal->touch();
  });
  offerRecovery();
}

void MainWindow::offerRecovery() {
  for (const QString& path : SessionJournal::left(m_options.journalFolder())) {
    try {
      const SavedSession s = readSession(path).session;
      const QString text =
          QString("The session of %1 was not saved: %2, %3, %4 characters of prompt.")
              .arg(QFileInfo(path).lastModified().toString("d MMMM, hh:mm"), words(static_cast<int>(s.request.lanes.size()), "run"),
                   words(static_cast<int>(s.bookmarks.size()), "bookmark"))
              .arg(QString::fromStdString(s.request.prompt).size());
      const auto recover = [this, s, path] {
        m_notices->dismiss();
        m_welcome->setRecovery({});
        openSession(s, {});
        m_journal->writeNow();
        QFile::remove(path);  // it lives on in the journal of this window
      };
      if (page() == Page::welcome) {  // it has a card there
        m_welcome->setRecovery(text);
        connect(m_welcome, &WelcomePage::recoveryRequested, this, recover, Qt::SingleShotConnection);
      } else {
        m_notices->show(text, path, "Recover it", recover);
      }
      return;
    } catch (const Error&) {
      continue;  // damaged: the next one
    }
  }
}

void MainWindow::leaveSession() {
  if (!m_journal) return;
  m_modified && !m_options.scripted() ? m_journal->leave() : m_journal->discard();
}

void MainWindow::refreshTitle() {
  if (m_synthetic) return setWindowTitle("kvscope: synthetic cache");
  const QString name = m_session_path.isEmpty() ? QString() : QFileInfo(m_session_path).completeBaseName();
  setWindowTitle(name.isEmpty() ? QString("kvscope") : QString("%1%2 – kvscope").arg(name, m_modified ? "*" : ""));
}

void MainWindow::addBookmark() {
  Bookmark b;
  b.selection = m_workspace.selection();
  if (!b.selection.step && m_workspace.step() >= 0) b.selection.step = m_workspace.step();  // this step, not the latest of some later day
  b.page = nameOf(page());
  b.colour = m_bookmarks.size() % static_cast<int>(m_workspace.theme().runs.size());
  QStringList parts;
  if (b.selection.step) parts << QString("step %1").arg(*b.selection.step);
  if (b.selection.layer) parts << (b.selection.kv_head ? QString("L%1 · H%2").arg(*b.selection.layer).arg(*b.selection.kv_head) : QString("L%1").arg(*b.selection.layer));
  if (b.selection.tokens) parts << (b.selection.tokens->first == b.selection.tokens->last ? QString("token %1").arg(b.selection.tokens->first)
                                                                                          : QString("tokens %1–%2").arg(b.selection.tokens->first).arg(b.selection.tokens->last));
  if (const LaneSnapshot* lane = m_workspace.lane()) parts << QString::fromStdString(lane->title);
  b.name = parts.isEmpty() ? QString("bookmark %1").arg(m_bookmarks.size() + 1) : parts.join(" · ");
  m_bookmarks.add(b);
  m_passing->say("Bookmarked: " + b.name, *m_pages);
}

void MainWindow::goToBookmark(int index) {
  if (index < 0 || index >= m_bookmarks.size()) return;
  const Bookmark& b = m_bookmarks.all()[static_cast<std::size_t>(index)];
  showPage(pageOf(b.page));
  m_workspace.setSelection(b.selection);
}

void MainWindow::goToBookmarkBeside(int direction) {
  // In the order of the steps, from the shown one on.
  const int now = m_workspace.step();
  int best = -1;
  for (int i = 0; i < m_bookmarks.size(); ++i) {
    const int step = m_bookmarks.all()[static_cast<std::size_t>(i)].selection.step.value_or(0);
    if ((step - now) * direction <= 0) continue;
    if (best < 0 || (step - m_bookmarks.all()[static_cast<std::size_t>(best)].selection.step.value_or(0)) * direction < 0) best = i;
  }
  goToBookmark(best);
}

void MainWindow::buildBookmarkMenu(QMenu* menu) {
  action(menu, "&Bookmark this view", {QKeySequence(Qt::CTRL | Qt::Key_B)}, [this] { addBookmark(); })
      ->setToolTip("Selection, step and page; also B, where no text is typed");
  action(menu, "Bookmark with a &note…", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_B)}, [this] {
    addBookmark();
    showDock("bookmarks");
    m_bookmark_panel->editNote(m_bookmarks.size() - 1);
  });
  action(menu, "Ne&xt bookmark", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Right)}, [this] { goToBookmarkBeside(1); })
      ->setToolTip("By step, from the shown one");
  action(menu, "Previo&us bookmark", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Left)}, [this] { goToBookmarkBeside(-1); })
      ->setToolTip("By step, from the shown one");
}

}  // namespace kvscope
