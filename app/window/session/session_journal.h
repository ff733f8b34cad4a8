// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <QByteArray>
#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QStringList>
#include <QTimer>

namespace kvscope {

/// Writes what is not saved to a file of its own, at most kJournalPauseMs after a change, so that a crash loses no more than that. Each
/// running program holds a lock on its file; a file without a living owner is what an earlier one left. The files are called
/// unsaved-TIME-PROCESS.kvscope; others in the folder are never touched. UI thread only.
class SessionJournal : public QObject {
  Q_OBJECT

 public:
  using Source = std::function<QByteArray()>;
  static constexpr int kJournalPauseMs = 2000;

  /// `folder` empty: nothing is ever written. `source` gives what to write.
  SessionJournal(QString folder, Source source, QObject* parent = nullptr);
  ~SessionJournal() override;

  const QString& path() const { return m_path; }
  /// Files that earlier programs left, newest first.
  static QStringList left(const QString& folder);
  static QString defaultFolder();
  /// Found out before there is any work: what failed() would say, which is not said again. Empty: the folder can be written.
  QString findFailure();
  /// What fails has been said.
  void saySoNoMore() { m_failed = true; }

 public Q_SLOTS:
  void touch();     // something changed
  bool writeNow();  // false: it should have been written, and cannot be
  void discard();   // saved or not worth keeping: no file stays
  /// Writes a last time and leaves the file for the next start; the next change begins another one. Its path, empty where there is no
  /// journal; nothing: it cannot.
  std::optional<QString> leave();
  /// As touch() where there is unsaved work, as discard() where there is none.
  void follow(bool unsaved) { unsaved ? touch() : discard(); }
  /// The window closes: as leave() where there is unsaved work, and nothing is written any more, since what a window does while it closes
  /// is nobody's work; as discard() where there is none. False: what is unsaved cannot be written.
  bool close(bool unsaved);
  /// From now on nothing is written.
  void stop();

 Q_SIGNALS:
  /// Once, when the first write fails: one sentence.
  void failed(const QString& why);

 private:
  void makeFolder() const;  // throws Error

  QString m_folder, m_path;
  Source m_source;
  std::unique_ptr<QLockFile> m_lock;
  QTimer m_pause;
  bool m_failed = false;
};

}  // namespace kvscope
