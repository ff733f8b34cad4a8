// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeyEvent>

namespace kvscope {

/// A text field takes these keys for itself, unless it leaves them to the window, which knows what was done last.
inline bool isUndoKey(const QKeyEvent& key) { return key.matches(QKeySequence::Undo) || key.matches(QKeySequence::Redo); }

}  // namespace kvscope
