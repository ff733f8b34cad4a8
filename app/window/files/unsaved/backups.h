// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include "app/window/files/unsaved/aside.h"
#include "app/window/files/unsaved/left_session.h"
#include "app/window/files/unsaved/lesson_work.h"
#include "app/window/files/unsaved/unsaved_work.h"
#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"

namespace kvscope {

/// What no file has, kept against a crash and for the next start: the user's session, what is written in place of a lesson's text, and what
/// was left behind when something else took the place of either.
class Backups : public QObject {
  Q_OBJECT

 public:
  struct Sources {
    std::function<SavedSession()> own;    // the user's session
    std::function<QString()> own_file;    // whose it is; empty: none
    std::function<SavedSession()> shown;  // what is on screen
  };

  /// folder empty: nothing is ever kept.
  Backups(SessionController& controller, const QString& folder, const Sources& sources);

  bool any() const { return m_work.any(); }
  /// The key of the user's request (request_key.h); false: it is the one of before.
  bool follow(const std::string& key);
  void changed();  // something that is not in the request
  void touch();    // what is kept anyway
  /// Saved, opened or begun just now; modified: and changed since, so that there is a backup at once.
  void clean(bool modified = false);
  /// The user's session, which is unsaved, stays behind: by its backup, and where that cannot be written as long as there is this window.
  void leave(Aside& own);
  LessonWork& typed() { return m_typed; }
  /// What was written in place of a lesson's text, the same way; nothing unsaved: there was nothing.
  Aside leaveTyped();
  /// Offers what was left for this start.
  void offer(WelcomePage& welcome, MessageBar& notices, const Pages& pages, QSettings* settings, const LeftOffers::Recover& recover);
  /// What was left is the user's session again: that has a backup of its own now.
  void goesOn(const QString& left);
  /// The window closes; of a script nothing stays. Sentences of what is not saved and would be lost: then it does not yet.
  QStringList close(bool scripted);
  /// Left behind, and only this window has it. Nothing where the user's session, or what is written in a lesson's place, is to be saved
  /// first.
  std::optional<LeftSession> held() const;
  /// From now on nothing is kept.
  void stop();

 Q_SIGNALS:
  void failed(const QString& why);  // once: a sentence

 private:
  void keep(Aside& aside, const QString& journal);
  void writeHeld();

  QString m_folder;
  std::function<SavedSession()> m_shown;
  std::function<QString()> m_own_file;
  UnsavedWork m_work;
  SessionJournal m_journal;
  LessonWork m_typed;
  std::unique_ptr<LeftOffers> m_left;
  QTimer m_again;  // for what could not be written
};

}  // namespace kvscope
