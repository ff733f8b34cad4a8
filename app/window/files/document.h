// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <QObject>
#include <QStringList>

#include "app/window/files/awaited_results.h"
#include "app/window/files/kept_results.h"
#include "app/window/files/unsaved/aside.h"
#include "app/window/files/unsaved/backups.h"
#include "app/window/files/unsaved/not_saved.h"
#include "app/window/files/view_only_words.h"
#include "app/window/session/seen_file.h"
#include "app/window/session/session_file.h"
#include "app/window/session/stored_results.h"

class QWidget;

namespace kvscope {

class Canvases;
class JobsPanel;
class Library;
class ModelChoice;
class Pages;
class RunsUndo;
class StartPlace;
class SweepPage;
class WelcomePage;
class WindowRows;
struct LeftSession;
struct WindowModel;

/// The session as a file: opening, saving, what is kept against a crash, and results that are shown without the model that made them.
class Document : public QObject {
  Q_OBJECT

 public:
  /// What a session is read from and put back into.
  struct Parts {
    QWidget& window;
    WindowModel& model;
    WindowRows& rows;
    Pages& pages;
    Canvases& canvases;
    Library& library;
    SweepPage& sweep;
    JobsPanel& jobs;
    WelcomePage& welcome;
    RunsUndo& undo;
    StartPlace& place;
  };
  explicit Document(const Parts& parts);
  ~Document() override;

  StoredResults& results() { return m_results; }
  /// Files beside the model that the runs of the results on screen read.
  const std::vector<SeenTable>& tables() const { return m_kept.tables(); }
  ModelChoice& models() { return *m_models; }
  /// What a file of the session would hold now.
  SavedSession session() const;
  bool save(const QString& path);  // false: said in the notices
  /// Why the last file that could not be opened was not; empty: all were.
  const QString& notOpened() const { return m_not_opened; }
  void takeSnapshot();
  void keepJournal();                         // from now on what is not saved is kept for the next start
  void offerRecovery();                       // of it; after what the start opens, which has a message of its own
  QStringList leave();                        // the window closes; sentences: of what is not saved, and would be lost
  void forgetJournal() { m_backups.stop(); }  // what changes from now on is no change of the session

 public Q_SLOTS:
  void openFile(const QString& path);          // model folder, session, trace, kept tokens, lesson, store of a sweep or prompt text
  void openFromList(const QString& path);      // the same of a list or a drop: the welcome was left by it
  void openGivenSession(const QString& path);  // of the command line: nothing but a session, a trace or kept tokens
  void openModel();                            // asks which
  void openModelOf(const QString& path);       // empty: asks which
  void openModelFolder();
  void openStoreIn(const QString& folder);
  void openStore();  // asks for its folder
  void openModelFile();
  void openSampleLecture();
  /// A lesson takes the place of the session, which waits: it is what is kept against a crash, and comes back whole.
  void putAside();
  void stage(const kvscope::RunRequest& request);
  void giveBack();  // ends that; nothing where nothing was put aside
  /// The sample text with the runs of a fresh start, shown where it goes wrong.
  void openSample();
  void openLast();     // the session that was opened or saved last, if it is still there
  void saveNow();      // to its file, or asks for one
  void saveUnsaved();  // what would be lost first
  void saveAs();       // asks
  void refreshTitle();

 Q_SIGNALS:
  /// The user's session waits, or is back.
  void asideChanged(bool on);
  /// What is shown in the lesson's place has a text of the user's own.
  void typedChanged(bool own);
  /// A file that is one was opened.
  void lessonRequested(const QString& path);

 private:
  /// The user's own session: what is on screen, or what was put aside for a lesson.
  SavedSession own() const { return m_aside ? m_aside->session : session(); }
  const SeenFile& ownFile() const { return m_aside ? m_aside->file : m_file; }
  void endAside();
  /// unread: what the file holds beside it. modified: against what the file holds; a session without a file is.
  enum class Steps : std::uint8_t { forgotten, waiting };  // that could be taken back
  void openSession(const SavedSession& session, const SeenFile& file, const QStringList& unread = {}, const Shown& shown = {},
                   std::optional<bool> modified = {}, Steps steps = Steps::forgotten);
  /// What a session is opened by: at once, or where its model is missing once its results are read. Nothing changes if they cannot be.
  void openOnceRead(const SavedSession& session, const SeenFile& file, Take take);
  void openSessionFile(const QString& path);
  void takeSession(const ReadSession& read, const SeenFile& file);
  void offerToRead(const QStringList& files, const ReadSession& read, const SeenFile& file);
  Aside leaveBehind();
  void offerBack(const QString& text, const Aside& before);
  void goBack(const Aside& before);
  void sayLeft(const QString& what, const Aside& before);
  void recover(const LeftSession& left);
  void offerWithoutModel(const SavedSession& session, const QString& path);
  void sayNotOpened(const QString& why);  // until the next file opens
  void changed();
  void renamed(const QString& from, const QString& to);
  void connectModels();
  // document_results.cpp
  void connectResults();
  void openTrace(const QString& path);
  void openKept(const QString& path);
  void takeKept(const KeptOpening& opening);
  void showKept(const KeptOpening& opening);
  void showResults(const TracePtr& trace, const QString& name);
  Aside takeTrace(const Trace& trace, const QString& name, const Shown& shown);
  void sayWithoutResults(const QString& path, const QString& why);

  Parts m;
  WindowModel& m_model;
  StoredResults m_results;
  AwaitedResults m_awaited;
  NotSaved m_not_saved;
  KeptResults m_kept;
  ViewOnlyWords m_view_only;
  std::unique_ptr<ModelChoice> m_models;
  std::optional<SavedSession> m_stored;  // whose results are shown
  QStringList m_unread;                  // what the file of the session holds and was left out when it was opened
  std::optional<Aside> m_aside;
  SeenFile m_file;       // path empty: the session has none
  QString m_not_opened;  // what was said last of a file that could not be opened
  Backups m_backups;
};

}  // namespace kvscope
