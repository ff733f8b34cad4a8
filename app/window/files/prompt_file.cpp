// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/prompt_file.h"

#include "app/lessons/prompt_text.h"
#include "core/error.h"

namespace kvscope {

QString readPromptFile(const QString& path) {
  if (path.contains(QChar::Null))
    throw Error(QString(path).replace(QChar::Null, "%00").toStdString() + " was not opened: a file's name has no zero byte");
  return QString::fromStdString(read_prompt_text(path.toStdString()));
}

}  // namespace kvscope
