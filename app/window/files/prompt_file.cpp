// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/prompt_file.h"

#include "app/lessons/prompt_text.h"

namespace kvscope {

QString readPromptFile(const QString& path) { return QString::fromStdString(read_prompt_text(path.toStdString())); }

}  // namespace kvscope
