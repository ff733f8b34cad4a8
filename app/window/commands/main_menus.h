// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

class MainWindow;

/// All menus of the window. Every part brings its own commands; here they find their places.
void fillMenus(MainWindow& window);

}  // namespace kvscope
