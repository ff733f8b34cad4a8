// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/session/seen_file.h"
#include "app/window/session/session_file.h"

class QSettings;

namespace kvscope {

class MessageBar;
class Pages;
class WelcomePage;

/// What an earlier program left unsaved.
struct LeftSession {
  SavedSession session;
  QString path;            // of its journal, or what else it is found by
  QString words;           // so that its owner knows it again
  SeenFile file;           // whose it is; path empty: it had none
  bool dismissed = false;  // its offer was answered by its cross, now or at an earlier start
  bool left_here = false;  // by this window, which has said so
  bool unwritten = false;  // nothing else has it
  QString held_as = {};    // what it was found by while that was so, and still is
  /// What the file holds that was not read of it, and so is not in the journal.
  QStringList notRead() const;
};

/// Those in the folder that can be read, newest first; unread: a sentence of the newest that cannot.
std::vector<LeftSession> leftSessions(const QString& folder, QString* unread);

/// Offers them one after the other, by the welcome page and by the notices: the next once one was recovered or dismissed.
class LeftOffers : public QObject {
  Q_OBJECT

 public:
  using Recover = std::function<void(const LeftSession&)>;
  /// settings nullptr: what is dismissed is not remembered.
  LeftOffers(const QString& folder, WelcomePage& welcome, MessageBar& notices, const Pages& pages, QSettings* settings, Recover recover);

  /// One that this window has just left behind: the welcome has it, nothing is said. Nothing for an empty path.
  void add(const QString& path);
  /// One that could not be written. What it is found by.
  QString hold(SavedSession session, const SeenFile& file);
  /// What would go with this window.
  std::vector<LeftSession> held() const;
  bool unwritten(const QString& path) const;
  /// One that was held has a journal now.
  void written(const QString& held_as, const QString& path);
  /// Why nothing can be backed up: the welcome says it where there is nothing to recover.
  void sayWhyNot(const QString& why);
  /// It lives on elsewhere: no file stays.
  void remove(const QString& path);

 private:
  void offer();
  void recover(const QString& path);
  void dismiss(const QString& path);

  WelcomePage& m_welcome;
  MessageBar& m_notices;
  const Pages& m_pages;
  QSettings* m_settings;
  Recover m_recover;
  std::vector<LeftSession> m_left;
  int m_n_held = 0;
  QString m_why_not;
  QString m_said;  // in the notices
};

}  // namespace kvscope
