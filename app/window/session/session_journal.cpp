// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/session_journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include <unistd.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>

#include "core/error.h"
#include "core/failure.h"
#include "io/files.h"
#include "io/terminal_text.h"

namespace kvscope {

namespace {

constexpr int kSecondsOfALock = 60;  // that an empty one may be about to be written
constexpr int kKept = 20;            // abandoned files that are kept; older ones are deleted

/// What a journal calls its files. Others in the folder are somebody's work.
bool isOurs(const QString& name) {
  static const QRegularExpression form(R"(^unsaved-\d{13,16}-\d{1,10}\.kvscope$)");
  return form.match(name).hasMatch();
}

/// Of journals whose program was killed before their first file was whole.
void removeUnbegun(const QString& folder) {
  for (const QString& file : QDir(folder).entryList({"unsaved-*.part", "unsaved-*.lock"}, QDir::Files)) {
    const QString name = file.section(".kvscope", 0, 0) + ".kvscope", path = folder + '/' + name;
    if (!isOurs(name) || QFileInfo::exists(path)) continue;
    QLockFile lock(path + ".lock");
    lock.setStaleLockTime(0);
    if (lock.tryLock(0)) remove_unfinished(path.toStdString());
    // One that was killed before it wrote its number into the lock: nobody can tell whose it is, but a living one writes at once.
    const QFileInfo of_nobody(path + ".lock");
    if (of_nobody.exists() && of_nobody.size() == 0 && of_nobody.lastModified().secsTo(QDateTime::currentDateTime()) > kSecondsOfALock)
      QFile::remove(of_nobody.filePath());
  }
}

/// To be said in the window; said on the terminal here.
QString notBackedUp(const std::exception& error) {
  QString why = QString("Your work cannot be backed up (%1). Save with Ctrl+S.").arg(QString::fromUtf8(words_of(error)));
  std::cerr << "kvscope: " << for_terminal(why.toStdString()) << "\n";
  return why;
}

}  // namespace

SessionJournal::SessionJournal(QString folder, Source source, QObject* parent)
    : QObject(parent), m_folder(std::move(folder)), m_source(std::move(source)) {
  m_pause.setSingleShot(true);
  m_pause.setInterval(kJournalPauseMs);
  connect(&m_pause, &QTimer::timeout, this, &SessionJournal::writeNow);
}

SessionJournal::~SessionJournal() = default;

QString SessionJournal::defaultFolder() {
  const QString data = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation);
  return data.isEmpty() ? QString() : data + "/journal";
}

QStringList SessionJournal::left(const QString& folder) {
  QStringList out;
  if (folder.isEmpty()) return out;
  removeUnbegun(folder);
  for (const QFileInfo& file : QDir(folder).entryInfoList({"*.kvscope"}, QDir::Files, QDir::Time)) {
    if (!isOurs(file.fileName())) continue;
    QLockFile lock(file.absoluteFilePath() + ".lock");
    lock.setStaleLockTime(0);  // an owner that lives is never taken for dead, however long it is idle
    if (!lock.tryLock(0) && lock.error() == QLockFile::LockFailedError)
      continue;  // by another error there is no owner: a disk that is full
    remove_unfinished(file.absoluteFilePath().toStdString());
    if (out.size() < kKept)
      out << file.absoluteFilePath();
    else
      QFile::remove(file.absoluteFilePath());  // while nobody else can take it up
  }
  return out;
}

/// Prompts are private. A folder that was there has the modes that its owner gave it.
void SessionJournal::makeFolder() const {
  const std::string folder = m_folder.toStdString();
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) throw Error(folder + ": cannot be made: " + error.message());
}

QString SessionJournal::findFailure() {
  if (m_folder.isEmpty()) return {};
  try {
    makeFolder();
    const std::string folder = m_folder.toStdString();
    if (!QFileInfo(m_folder).isDir()) throw Error(folder + ": expected a folder, got a file");
    if (::access(folder.c_str(), W_OK | X_OK) != 0) throw Error(folder + ": cannot be written: " + std::strerror(errno));
    return {};
  } catch (const Error& error) {
    m_failed = true;
    return notBackedUp(error);
  }
}

void SessionJournal::touch() {
  if (!m_folder.isEmpty() && !m_pause.isActive()) m_pause.start();
}

bool SessionJournal::writeNow() {
  m_pause.stop();
  if (m_folder.isEmpty()) return true;
  try {  // a crash while writing leaves the file before
    if (m_path.isEmpty()) {
      makeFolder();
      qint64 now = QDateTime::currentMSecsSinceEpoch();
      do m_path = QString("%1/unsaved-%2-%3.kvscope").arg(m_folder).arg(now++).arg(QCoreApplication::applicationPid());
      while (QFileInfo::exists(m_path));  // another one of this window
      m_lock = std::make_unique<QLockFile>(m_path + ".lock");
      m_lock->setStaleLockTime(0);
      m_lock->tryLock(0);
    }
    const QByteArray bytes = m_source();
    write_atomically(m_path.toStdString(), std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())),
                     Readable::by_user_only);
    return true;
  } catch (const std::exception& error) {  // memory, too
    if (!std::exchange(m_failed, true)) Q_EMIT failed(notBackedUp(error));
    return false;
  }
}

void SessionJournal::discard() {
  m_pause.stop();
  if (m_path.isEmpty()) return;
  QFile::remove(m_path);
  m_lock.reset();
  m_path.clear();
}

bool SessionJournal::close(bool unsaved) {
  if (!unsaved) {
    discard();
    return true;
  }
  if (!leave()) return false;
  stop();
  return true;
}

void SessionJournal::stop() {
  m_pause.stop();
  m_folder.clear();
  m_lock.reset();
}

std::optional<QString> SessionJournal::leave() {
  const bool written = writeNow();
  m_lock.reset();
  const QString path = std::exchange(m_path, {});
  return written ? std::optional(path) : std::nullopt;
}

}  // namespace kvscope
