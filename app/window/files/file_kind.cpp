// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/file_kind.h"

#include <QByteArray>
#include <QFile>
#include <QFileInfo>

#include "io/gguf_file.h"
#include "trace/sweep_reader.h"

namespace kvscope {

QString modelAt(const QString& path) {
  return path.endsWith(".safetensors", Qt::CaseInsensitive) && QFileInfo(path).isFile() ? QFileInfo(path).absolutePath() : path;
}

FileKind kindOfFile(const QString& path) {
  constexpr qint64 kHead = 4096;                            // our files say at their beginning what they are
  if (path.contains(QChar::Null)) return FileKind::prompt;  // whose reader refuses it: the system would take the name before it
  const QFileInfo info(path);
  if (info.isDir()) return SweepReader::is_store(path.toStdString()) ? FileKind::store : FileKind::model;
  const auto ends = [&path](const char* suffix) { return path.endsWith(suffix, Qt::CaseInsensitive); };
  if (ends(".gguf") || ends(".safetensors")) return FileKind::model;
  QByteArray head;
  if (QFile file(path); info.isFile() && file.open(QIODevice::ReadOnly)) head = file.read(kHead);  // no pipe, which would be waited for
  if (GgufFile::is_one(path.toStdString())) return FileKind::model;  // whatever its name: Ollama names them by their hash
  if (head.startsWith("\xef\xbb\xbf")) head.remove(0, 3);            // as some editors begin a text
  head.replace(" ", "");
  if (head.trimmed().startsWith('{')) {
    if (head.contains("\"kvscope\":\"session\"")) return FileKind::session;  // whose results are a trace
    if (head.contains("\"kvscope.trace/")) return FileKind::trace;
    if (head.contains("\"kvscope.kept/")) return FileKind::kept;
    if (head.contains("\"kvscope\":\"scenes\"")) return FileKind::lesson;
  }
  return ends(".kvscope") || ends(".json") ? FileKind::session : FileKind::prompt;
}

}  // namespace kvscope
