// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/document.h"

#include <algorithm>
#include <utility>

#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QLineEdit>

#include "app/window/canvas/canvases.h"
#include "app/window/files/file_kind.h"
#include "app/window/files/found_models.h"
#include "app/window/files/kept_choices.h"
#include "app/window/files/library.h"
#include "app/window/files/library_dialog.h"
#include "app/window/files/model_choice.h"
#include "app/window/files/prompt_file.h"
#include "app/window/files/usual_folder.h"
#include "app/window/files/write_path.h"
#include "app/window/help/welcome_page.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/stores/store_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/request_key.h"
#include "app/window/session/start_place.h"
#include "app/window/session/undo/runs_undo.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "core/failure.h"
#include "io/files.h"

namespace kvscope {

namespace {

/// Where the model of a session is.
QString folderOf(const SavedSession& s) { return s.model.isEmpty() ? QString::fromStdString(builtInModel()) : s.model; }

bool isModel(const QString& path) { return QFileInfo::exists(path) && kindOfFile(path) == FileKind::model; }

}  // namespace

Document::Document(const Parts& parts)
    : m(parts),
      m_model(parts.model),
      m_awaited(m_results, parts.rows.notices()),
      m_not_saved(parts.rows.notices(), [this] { saveAs(); }),
      m_kept(m_model, m_results, parts.rows.notices()),
      m_view_only(m_model, parts.place, parts.rows.notices(), [this] { openModel(); }),
      m_backups(m_model.controller, m_model.options.journalFolder(),
                {[this] { return own(); }, [this] { return ownFile().path; }, [this] { return session(); }}) {
  connectResults();
  connectModels();
  connect(&m.library.recent(), &RecentFiles::openRequested, this, &Document::openFile);
  connect(&m.library.dialog(), &LibraryDialog::fileRequested, this, &Document::openFromList);
  connect(&m.library.dialog(), &LibraryDialog::sessionRenamed, this, &Document::renamed);
  connect(&m.rows.tools(), &ToolRow::openRequested, this, &Document::openModel);
  connect(&m.rows.tools(), &ToolRow::saveRequested, this, &Document::saveNow);
  connect(&m.welcome, &WelcomePage::modelRequested, this, &Document::openModel);
  connect(&m_model.controller, &SessionController::refused, this, [this](const QString& why) {
    if (!m_view_only.sayAgain(why)) m.rows.messages().show(why, why);
  });
}

Document::~Document() = default;

/// The welcome has the models on this machine below its cards, as they are when it is shown.
void Document::connectModels() {
  m_models = std::make_unique<ModelChoice>(m.library.recent(), !m_model.options.scripted(), m.window);
  m.welcome.setModels(m_models->makeTable(&m.welcome));
  connect(&m.pages, &Pages::aboutToShow, m_models.get(), [this](Page page) {
    if (page == Page::welcome && !m_model.options.scripted()) m_models->look();
  });
  connect(m_models.get(), &ModelChoice::chosen, this, &Document::openFromList);
}

void Document::openFromList(const QString& path) {
  openFile(path);
  if (m.pages.shows(Page::welcome)) m.pages.show(Page::inspect);
}

SavedSession Document::session() const {
  SavedSession s;
  const QString& folder = m_model.controller.modelFolder();
  s.model = QFileInfo(folder) == QFileInfo(QString::fromStdString(builtInModel())) ? QString() : QFileInfo(folder).absoluteFilePath();
  if (m_model.controller.viewOnly() && m_stored) {
    s.model = m_stored->model;
    s.results = m_stored->results;
  }
  s.request = m_model.controller.request();
  s.selection = m.place.wanted().value_or(m_model.workspace.selection());
  s.page = m.pages.name();
  s.bookmarks = bookmarksForFile(m_model.bookmarks.all(), s.request.lanes);
  m.sweep.save(s);
  s.views = keptChoices(m.canvases, m_model.hand);
  return s;
}

void Document::putAside() {
  m_awaited.stop();
  if (m_aside) return;
  m_aside = {session(), std::exchange(m_file, {}), std::exchange(m_unread, {})};
  m_model.undo.putAside();
  m_model.bookmarks.reset({});     // they are of the text that waits
  restoreChoices(m.canvases, {});  // a scene speaks of what views show when nobody has chosen
  refreshTitle();
  Q_EMIT asideChanged(true);
}

void Document::stage(const RunRequest& request) {
  putAside();
  sayLeft("the lesson goes on", m_backups.leaveTyped());
  m_backups.typed().begin(request.prompt);
  m.undo.without([&] { m_model.controller.openRequest(request); });
}

void Document::giveBack() {
  if (!m_aside) return;
  m.rows.notices().clear();
  openOnceRead(m_aside->session, m_aside->file, [this, back = *m_aside](const Shown& shown) {
    const Aside typed = m_backups.leaveTyped();
    openSession(back.session, back.file, back.unread, shown, m_backups.any(), Steps::waiting);
    m_model.undo.giveBack();
    if (typed.unsaved) offerBack(typed.openedOver("your session is back"), typed);
    return typed;
  });
}

/// Another session takes the place of what was put aside.
void Document::endAside() {
  if (!m_aside) return;
  sayLeft("the lesson is left", m_backups.leaveTyped());
  m_aside.reset();
  Q_EMIT asideChanged(false);
  m_backups.typed().end();
}

void Document::openOnceRead(const SavedSession& s, const SeenFile& file, Take take) {
  if (m_model.controller.computesElsewhere() || isModel(folderOf(s)) || s.results.zlib.isEmpty()) return void(take({}));
  m_awaited.read({s, std::move(take)}, file.path);
}

void Document::openSession(const SavedSession& s, const SeenFile& file, const QStringList& unread, const Shown& shown,
                           std::optional<bool> modified, Steps steps) {
  endAside();
  m_awaited.stop();
  m_not_saved.end();
  QString missing;
  const QString folder = folderOf(s);
  if (!shown.results && !m_model.controller.computesElsewhere() && !isModel(folder))
    missing =
        QString("the model folder %1 is missing: the model before is still there; open the folder where it is now (Ctrl+O)").arg(folder);
  if (steps == Steps::forgotten) m_model.undo.forget();
  m_model.bookmarks.reset(bookmarksOfFile(s.bookmarks, s.request.lanes));
  m_stored.reset();
  m_unread = unread;
  if (!shown.results) m.undo.without([&] { m_model.controller.openRequest(s.request); });
  m.rows.tools().setGenerateCount(std::max(0, s.request.n_generate));
  m.sweep.restore(s);
  restoreChoices(m.canvases, s.views, m.place, m_model.hand);
  m.place.want(s.selection);  // until there is something to select
  m.pages.show(m.pages.of(m_model.options.pageOf(file.path, s.page)));
  const bool computed = !shown.results && missing.isEmpty();
  const bool another = computed && QFileInfo(folder) != QFileInfo(m_model.controller.modelFolder());
  if (another) m_model.controller.loadModel(folder);
  computed ? m_kept.follow(s, file.path, folder, another, unread) : m_kept.forget();
  if (shown.results) {
    m_stored = s;
    m.undo.without([&] { m_model.controller.showStored(shown.results, s.request, shown.why); });
  }
  if (!missing.isEmpty()) m.rows.notices().show(missing, missing);
  m_file = file;
  m_backups.clean(modified.value_or(file.path.isEmpty()));
  refreshTitle();
}

void Document::openSessionFile(const QString& path) {
  try {
    const SeenFile file = SeenFile::now(path);
    ReadSession read = takeUpSession(path, m_model.options.ofSession() ? Runs::all : Runs::known);
    read.session.request.lanes = with_files_beside(read.session.request.lanes, folder_of(file.path.toStdString()));
    if (!isModel(folderOf(read.session)) && (read.session.results.zlib.isEmpty() || m_model.options.ofSession()))
      return offerWithoutModel(read.session, path);
    const QStringList outside = filesOutside(read.session.request.lanes, path, folderOf(read.session));
    outside.isEmpty() ? takeSession(read, file) : offerToRead(outside, read, file);
  } catch (const Error& error) {
    sayNotOpened(QString::fromUtf8(error.what()));
  }
}

void Document::takeSession(const ReadSession& read, const SeenFile& file) {
  m.rows.notices().clear();
  openOnceRead(read.session, file, [this, read, file](const Shown& shown) {
    const Aside before = leaveBehind();
    openSession(read.session, file, read.notes, shown);
    m.library.use(file.path);
    QString text = read.notes.join("; ");
    if (before.unsaved && text.isEmpty()) text = before.openedOver("opened " + QFileInfo(file.path).fileName());
    if (text.isEmpty() || !m.rows.notices().isHidden()) return before;
    before.unsaved ? offerBack(text, before) : m.rows.notices().show(text, text);
    if (read.notes.isEmpty()) m.rows.notices().markNews();
    return before;
  });
}

/// Who wrote the session may want to have something read that its reader would not show anybody.
void Document::offerToRead(const QStringList& files, const ReadSession& read, const SeenFile& file) {
  sayNotOpened(whyNotUnasked(file.path, files));
  m.rows.notices().show(m_not_opened, m_not_opened, readThem(files), [this, read, file] { takeSession(read, file); });
}

/// What there is now. Work that no file has stays in a journal of its own, which the next start offers.
Aside Document::leaveBehind() {
  Aside out{own(), ownFile(), m_aside ? m_aside->unread : m_unread, m_backups.any()};
  if (out.unsaved) m_backups.leave(out);
  return out;
}

void Document::offerBack(const QString& text, const Aside& before) {
  m.rows.notices().show(text, text, kBack, [this, before] { goBack(before); });
}

void Document::goBack(const Aside& before) {
  m.rows.notices().dismiss();
  openOnceRead(before.session, before.file, [this, before](const Shown& shown) {
    const Aside now = leaveBehind();
    openSession(before.session, before.file, before.unread, shown, true);
    m_backups.goesOn(before.left);
    sayLeft("it is back", now);
    return now;
  });
}

/// Nothing where nothing was unsaved. What could not be left behind is offered as long as the window has it.
void Document::sayLeft(const QString& what, const Aside& before) {
  if (before.unsaved) !before.backed_up ? offerBack(before.openedOver(what), before) : m.rows.say(before.openedOver(what));
}

/// There is nothing to show of it, and another model gives another result: nobody gets that unasked.
void Document::offerWithoutModel(const SavedSession& s, const QString& path) {
  const QString now = m_model.controller.modelFolder();
  sayNotOpened(QString("%1 was not opened: its model folder %2 is missing; put it back, or open the session with another model")
                   .arg(path, folderOf(s)));
  m.rows.notices().show(m_not_opened, m_not_opened, QString("Open it with %1").arg(QFileInfo(now).fileName()), [this, s, now] {
    m.rows.notices().dismiss();
    SavedSession with = s;
    with.model = now;
    openSession(with, {});  // the file stays that of the other model
  });
}

void Document::openGivenSession(const QString& path) {
  const FileKind kind = kindOfFile(path);
  if (QFileInfo::exists(path) && kind != FileKind::session && kind != FileKind::trace && kind != FileKind::kept)
    return sayNotOpened(
        QString("%1: expected a session (*.kvscope), a trace or kept tokens (*.json), got %2")
            .arg(path, QFileInfo(path).isDir() ? "a folder: --model opens one" : "another kind of file: --prompt-file reads a text"));
  openFile(path);
}

void Document::openFile(const QString& path) {
  switch (kindOfFile(path)) {
    case FileKind::model:
      if (m_model.controller.computesElsewhere())
        return sayNotOpened(path + " was not opened: it is on this machine, and the engine is elsewhere; Open model… takes a folder there");
      return openModelOf(modelAt(path));
    case FileKind::trace:
      return openTrace(path);
    case FileKind::lesson:
      return Q_EMIT lessonRequested(path);
    case FileKind::session:
      return openSessionFile(path);
    case FileKind::kept:
      return openKept(path);
    case FileKind::store:
      return openStoreIn(path);
    case FileKind::prompt:
      break;
  }
  if (m_model.controller.refuses()) return;
  try {
    m_model.controller.setPrompt(readPromptFile(path));
    m.rows.notices().takeBack(m_not_opened);
    m.rows.say(QFileInfo(path).fileName() + " is the prompt now");  // which not every page shows
    m.library.use(path);
  } catch (const std::exception& error) {  // memory, too
    sayNotOpened(QString::fromUtf8(words_of(error)));
  }
}

void Document::openModelOf(const QString& path) {
  if (path.isEmpty()) return openModel();
  if (!m_file.path.isEmpty() && QFileInfo(path) != QFileInfo(m_model.controller.modelFolder())) changed();  // the file's is another one
  m.library.useOnceOpen(path);
  m_model.controller.loadModel(path);
  m.rows.notices().takeBack(m_not_opened);
}

void Document::openStoreIn(const QString& folder) {
  try {
    m.sweep.openStore(folder);
    m.rows.notices().takeBack(m_not_opened);
    m.pages.show(Page::sweep);
  } catch (const std::exception& error) {  // memory, too
    sayNotOpened(QString::fromUtf8(words_of(error)));
  }
}

void Document::sayNotOpened(const QString& why) { m.rows.notices().show(m_not_opened = why, why); }

bool Document::save(const QString& path) {
  KeptResults::Said results;
  try {
    const SavedSession s = m_kept.completed(session(), path, m_file.path);
    writeSession(path, s);
    results = m_kept.keep(path, s);
  } catch (const std::exception& error) {  // memory, too
    m_not_saved.say(words_of(error));
    m.rows.say("Not saved");                                         // in place of what was said of the last time
    if (path == m_file.path && !QFileInfo::exists(path)) changed();  // it holds nothing of this any more
    return false;
  }
  m_not_saved.end();
  m.rows.say("Saved to " + path + results.words);
  if (!results.why_not.isEmpty()) sayWithoutResults(path, results.why_not);
  if (m_aside) m_backups.typed().begin(m_model.controller.request().prompt);
  if (m_aside) return true;  // what was put aside is still to be saved, and goes to its own file
  m_file = SeenFile::now(path);
  m_unread.clear();
  m_backups.clean();
  m.library.use(path);
  m.library.keepPicture();
  refreshTitle();
  return true;
}

void Document::saveUnsaved() {
  if (const std::optional<LeftSession> held = m_backups.held()) recover(*held);
  if (m_backups.any()) giveBack();  // what is on screen may be a lesson's
  if (!m_aside || !m_backups.any()) saveNow();
}

/// What another window wrote into the same file, or what this one could not read of it, is not written over unasked.
void Document::saveNow() {
  if (m_file.path.isEmpty()) return saveAs();
  QString why = m_unread.isEmpty() ? QString() : "it holds what would be lost: " + m_unread.join("; ");
  if (m_file.changedSince() && !m_results.wrote(SeenFile::now(m_file.path)))
    why = "another window or program has written this file since it was opened or saved here";
  if (why.isEmpty()) return void(save(m_file.path));
  m_not_saved.ask(m_file.path, why,
                  [this](const SeenFile& read) { read.path == m_file.path && !read.changedSince() ? void(save(m_file.path)) : saveNow(); });
}

void Document::saveAs() {
  const QString before = m_file.path.isEmpty() ? usualFolder() + "/session.kvscope" : m_file.path;
  if (const QString path = askWhereToWrite(m.window, "Save session", before, "Sessions (*.kvscope)"); !path.isEmpty()) save(path);
}

/// A path that only the engine elsewhere can look at.
static void askForModelThere(SessionController& controller, QWidget& window) {
  const QString place = QString::fromStdString(controller.engineLink().place), now = controller.modelFolder();
  bool open = false;
  const QString folder = QInputDialog::getText(&window, "Open model", "Model folder or GGUF file, as " + place + " sees it",
                                               QLineEdit::Normal, now == QString::fromStdString(builtInModel()) ? QString() : now, &open);
  if (open && !folder.trimmed().isEmpty()) controller.loadModel(folder.trimmed());
}

void Document::openModel() { m_model.controller.computesElsewhere() ? askForModelThere(m_model.controller, m.window) : m_models->ask(); }

void Document::openModelFolder() { m_model.controller.computesElsewhere() ? openModel() : m_models->askForFolder(); }

void Document::openStore() {
  const QString folder = QFileDialog::getExistingDirectory(&m.window, "Open store of a sweep");
  if (!folder.isEmpty()) openStoreIn(folder);
}

void Document::openModelFile() { m_model.controller.computesElsewhere() ? openModel() : m_models->askForFile(); }

void Document::openSampleLecture() {
  openSessionFile(QString::fromStdString(sampleLecture()));
  m_file = {};  // saving must not write over the sample
  m_backups.clean();
  refreshTitle();
  m.pages.show(Page::lecture);
}

void Document::openSample() {
  SavedSession sample;
  sample.request = startState({}).request;
  sample.selection.lane = static_cast<int>(sample.request.lanes.size()) - 1;
  const Aside before = leaveBehind();
  m_model.difference.beginAnew();
  openSession(sample, {}, {}, {}, false);
  if (!before.unsaved) return;
  offerBack(before.openedOver("opened the sample text"), before);
  m.rows.notices().markNews();
}

void Document::openLast() {
  for (const QString& path : m.library.recent().all())
    if (path.endsWith(".kvscope") && QFileInfo(path).isFile()) return openGivenSession(path);
}

void Document::renamed(const QString& from, const QString& to) {
  if (QFileInfo(m_file.path).absoluteFilePath() != from) return;
  m_file.path = to;
  refreshTitle();
}

void Document::changed() {
  if (m_aside) return;  // the lesson's
  m_backups.changed();
  refreshTitle();
}

void Document::keepJournal() {
  connect(&m_backups, &Backups::failed, this, [this](const QString& why) { m.rows.notices().show(why, why); });
  connect(&m_backups.typed(), &LessonWork::changed, this, &Document::typedChanged);
  m_backups.follow(workKey(m_model.controller.request()));
  m_backups.clean();
  connect(&m_model.controller, &SessionController::requestChanged, this, [this] {
    if (!m_aside && !m_model.controller.viewOnly() && m_backups.follow(workKey(m_model.controller.request()))) refreshTitle();
  });
  connect(&m_model.bookmarks, &Bookmarks::changed, this, &Document::changed);
  connect(&m.sweep.own(), &SweepPanel::measured, this, &Document::changed);
  connect(&m.sweep.store(), &StorePanel::openRequested, this, &Document::openStore);
  connect(&m.sweep, &SweepPage::storeOpened, &m.library.recent(), &RecentFiles::add);
  connect(&m_model.workspace, &Workspace::selectionChanged, &m_backups, &Backups::touch);
}

void Document::offerRecovery() {
  m_backups.offer(m.welcome, m.rows.notices(), m.pages, m_model.settings.get(), [this](const LeftSession& left) { recover(left); });
}

/// Work that no file has, such as what was recovered before it, stays for the next start.
void Document::recover(const LeftSession& left) {
  m.rows.notices().clear();  // it may be what is offered there
  openOnceRead(left.session, left.file, [this, left](const Shown& shown) {
    const Aside before = leaveBehind();
    openSession(left.session, left.file, left.notRead(), shown, true);
    m_backups.goesOn(left.path);
    sayLeft("recovered it", before);
    return before;
  });
}

QStringList Document::leave() { return m_backups.close(m_model.options.scripted()); }

void Document::refreshTitle() {
  if (m_model.options.synthetic_size) return m.window.setWindowTitle("kvscope: synthetic cache");
  const QString name = m_file.path.isEmpty() ? QString() : QFileInfo(m_file.path).completeBaseName();
  m.window.setWindowTitle(name.isEmpty() ? QString("kvscope") : QString("%1%2 – kvscope").arg(name, m_backups.any() ? "*" : ""));
}

}  // namespace kvscope
