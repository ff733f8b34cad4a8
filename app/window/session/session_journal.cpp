// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/session_journal.h"

#include <algorithm>
#include <utility>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>

namespace kvscope {

namespace {

constexpr int kKept = 20;  // abandoned files that are kept; older ones are deleted

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
  for (const QFileInfo& file : QDir(folder).entryInfoList({"*.kvscope"}, QDir::Files, QDir::Time)) {
    QLockFile lock(file.absoluteFilePath() + ".lock");
    lock.setStaleLockTime(0);  // an owner that lives is never taken for dead, however long it is idle
    if (!lock.tryLock(0)) continue;
    lock.unlock();
    if (out.size() < kKept)
      out << file.absoluteFilePath();
    else
      QFile::remove(file.absoluteFilePath());
  }
  return out;
}

void SessionJournal::touch() {
  if (!m_folder.isEmpty() && !m_pause.isActive()) m_pause.start();
}

void SessionJournal::writeNow() {
  m_pause.stop();
  if (m_folder.isEmpty()) return;
  if (m_path.isEmpty()) {
    QDir().mkpath(m_folder);
    QFile::setPermissions(m_folder, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);  // prompts are private
    const QString name = QString("%1-%2").arg(QDateTime::currentMSecsSinceEpoch()).arg(QCoreApplication::applicationPid());
    m_path = m_folder + '/' + name + ".kvscope";
    m_lock = std::make_unique<QLockFile>(m_path + ".lock");
    m_lock->setStaleLockTime(0);
    m_lock->tryLock(0);
  }
  QSaveFile file(m_path);  // a crash while writing leaves the file before
  const QByteArray bytes = m_source();
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return;
  if (!std::exchange(m_failed, true))
    Q_EMIT failed(QString("kvscope cannot back up your work (%1: %2). Save with Ctrl+S.").arg(m_path, file.errorString()));
}

void SessionJournal::discard() {
  m_pause.stop();
  if (m_path.isEmpty()) return;
  QFile::remove(m_path);
  m_lock.reset();
  m_path.clear();
}

void SessionJournal::leave() {
  writeNow();
  m_lock.reset();
  m_path.clear();
}

}  // namespace kvscope
