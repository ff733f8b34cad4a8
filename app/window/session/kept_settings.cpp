// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/kept_settings.h"

#include <filesystem>
#include <system_error>

#include <QSaveFile>

#include "io/files.h"

namespace kvscope {

namespace {

/// QSettings says only that. A file beside it that never takes its place meets what was in the way.
QString whyNotWritten(const QString& path) {
  std::error_code error;
  std::filesystem::create_directories(folder_of(path.toStdString()), error);
  if (error) return QString::fromStdString(error.message());
  QSaveFile beside(path);
  if (beside.open(QIODevice::WriteOnly) && beside.write("\n") == 1 && beside.flush()) return "another program may be writing it";
  return beside.errorString();
}

}  // namespace

QString KeptSettings::whyNotKept(const QString& what) const {
  QSettings now(fileName(), format());  // all of one file share what waits to be written; a status that was wrong once stays so
  now.sync();
  if (now.status() != QSettings::AccessError) return {};
  return QString("The next start will not know %1: %2 cannot be written: %3").arg(what, fileName(), whyNotWritten(fileName()));
}

void KeptSettings::keepNow(const QString& what) {
  if (const QString why = whyNotKept(what); !why.isEmpty()) Q_EMIT notKept(why);
}

}  // namespace kvscope
