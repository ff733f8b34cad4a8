// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/left_session.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QSettings>

#include "app/window/session/session_journal.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"

namespace kvscope {

namespace {

constexpr const char* kDismissed = "recovery/dismissed";  // path of a journal

QString wordsOf(const SavedSession& s, const QFileInfo& journal) {
  constexpr qsizetype kLastWords = 40;  // characters
  const QString prompt = QString::fromStdString(s.request.prompt).simplified();
  return QString("The session %1of %2 was not saved: %3, %4, and a text that ends “%5%6”.")
      .arg(s.file.isEmpty() ? QString() : QFileInfo(s.file).completeBaseName() + " ", journal.lastModified().toString("d MMMM, hh:mm"),
           counted(s.request.lanes.size(), "run", "runs"), counted(s.bookmarks.size(), "bookmark", "bookmarks"),
           prompt.size() > kLastWords ? "…" : "", prompt.right(kLastWords));
}

}  // namespace

bool LeftSession::dismissed(const QSettings* settings) const { return settings && settings->value(kDismissed) == path; }

void LeftSession::dismiss(QSettings& settings) const { settings.setValue(kDismissed, path); }

std::optional<LeftSession> newestLeft(const QString& folder, QString* unread) {
  for (const QString& path : SessionJournal::left(folder)) {
    try {
      const SavedSession s = readSession(path).session;
      const QFileInfo journal(path);
      // A journal of before had the name as it was given, and nobody knows of which folder it is.
      return LeftSession{s, path, wordsOf(s, journal),
                         QDir::isAbsolutePath(s.file) ? SeenFile::notAfter(s.file, journal.lastModified()) : SeenFile()};
    } catch (const Error& error) {  // damaged, or of a newer program: the next one
      if (unread->isEmpty()) *unread = QString("A backup of unsaved work cannot be read: %1.").arg(QString::fromUtf8(error.what()));
    }
  }
  return std::nullopt;
}

}  // namespace kvscope
