// SPDX-License-Identifier: Apache-2.0
#pragma once

class QMenu;

namespace kvscope {

class Commands;
struct WindowModel;

/// Commands that move through the steps, and those that say which of them count.
void fillTimeMenu(Commands& commands, QMenu* menu, WindowModel& model);

}  // namespace kvscope
