// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace kvscope {

/// Text of a file that is to be the prompt. Throws Error if it cannot be read, is larger than kMostPromptBytes or is no text in UTF-8.
QString readPromptFile(const QString& path);

}  // namespace kvscope
