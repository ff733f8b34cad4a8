// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <QDateTime>
#include <QFileInfo>
#include <QString>

namespace kvscope {

/// A file as it was when it was last read or written here: what another program made of it since shows.
struct SeenFile {
  QString path;  // absolute: it goes into the journal, whose next reader may stand in another folder; empty: none
  qint64 bytes = -1;
  QDateTime modified;
  QDateTime touched;  // contents or attributes; unlike `modified` no program can set it back

  static SeenFile now(const QString& path) {
    if (path.isEmpty()) return {};
    const QFileInfo info(path);
    return info.exists() ? SeenFile{info.absoluteFilePath(), info.size(), info.lastModified(), info.metadataChangeTime()}
                         : SeenFile{info.absoluteFilePath()};
  }
  /// As it is now if it was not written after `moment`; else as nobody has seen it.
  static SeenFile notAfter(const QString& path, const QDateTime& moment) {
    const SeenFile file = now(path);
    return file.modified > moment ? SeenFile{file.path} : file;
  }
  /// It is there, and another one. Where it is gone there is nothing to lose.
  bool changedSince() const {
    const SeenFile file = now(path);
    return file.bytes >= 0 && file != *this;
  }
  bool operator==(const SeenFile&) const = default;
};

/// A file that runs name, as it was when what they make of it was computed.
struct SeenTable {
  std::string name;  // as they have it
  SeenFile file;
};

}  // namespace kvscope
