// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/window/shell/options.h"

namespace kvscope {

class MainWindow;

/// --picture and --bench-draw: waits for the result, draws, writes or prints, and returns the exit status.
int runScript(MainWindow& window, const Options& options);
/// Turns the event loop until the newest request is answered and every canvas has settled; false after `timeout_ms`.
bool waitUntilSettled(MainWindow& window, int timeout_ms);

}  // namespace kvscope
