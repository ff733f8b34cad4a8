// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace kvscope {

/// What opens from a path: a drop, a list, a word of the command line.
enum class FileKind { model, session, trace, lesson, kept, store, prompt };

/// What opens of a model: its folder, also where somebody has taken the weights in it.
QString modelAt(const QString& path);

/// By what is in it; a name decides only where the content says nothing (*.kvscope and *.json are no texts).
FileKind kindOfFile(const QString& path);

}  // namespace kvscope
