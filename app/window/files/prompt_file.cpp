// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/prompt_file.h"

#include <QStringDecoder>

#include "core/error.h"
#include "io/files.h"

namespace kvscope {

namespace {
constexpr std::size_t kMostBytes = 8u << 20;  // larger ones are surely no prompt
}

QString readPromptFile(const QString& path) {
  const std::string bytes = read_text(path.toStdString(), kMostBytes);
  QStringDecoder decode(QStringDecoder::Utf8);
  const QString text = decode(QByteArrayView(bytes.data(), static_cast<qsizetype>(bytes.size())));
  if (decode.hasError() || bytes.find('\0') != std::string::npos)
    throw Error(
        path.toStdString() +
        ": expected text in UTF-8, got other bytes: the prompt stays as it was; save the file as UTF-8 text, or choose another one");
  return text;
}

}  // namespace kvscope
