// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <QObject>
#include <QString>

#include "app/window/session/session_journal.h"

namespace kvscope {

class SessionController;

/// What somebody writes in place of a lesson's text. The session that waits meanwhile has its journal; this has one of its own, so that
/// neither a crash nor the next scene takes it away. Budgets and runs that are tried in a lesson are the lesson's.
class LessonWork : public QObject {
  Q_OBJECT

 public:
  /// source: what is on screen, for a file.
  LessonWork(SessionController& controller, const QString& folder, SessionJournal::Source source, QObject* parent = nullptr);

  /// From now on another text than this is somebody's own.
  void begin(const std::string& text);
  /// The lesson is over.
  void end();
  bool any() const { return m_any; }
  /// What is written stays for later, and is nobody's any more. Its journal; empty where there is none or it cannot be written.
  QString leave();
  /// False: what is written cannot be kept.
  bool writeNow() { return !m_any || m_journal.writeNow(); }
  /// The window closes.
  void close() { m_journal.close(m_any); }
  /// From now on nothing is kept.
  void stop();

 Q_SIGNALS:
  void changed(bool any);
  void failed(const QString& why);  // as of a journal

 private:
  void follow();

  SessionController& m_controller;
  SessionJournal m_journal;
  std::optional<std::string> m_text;  // of the lesson
  bool m_any = false, m_told = false;
};

}  // namespace kvscope
