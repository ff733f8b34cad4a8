// SPDX-License-Identifier: Apache-2.0
#pragma once

class QKeyEvent;

namespace kvscope {

class MainWindow;

/// What bare keys do where the widget with the focus has no use for them. False: nothing.
bool takeKey(MainWindow& window, const QKeyEvent& event);

}  // namespace kvscope
