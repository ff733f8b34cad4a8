// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

/// Screen readers meet every canvas as a picture with its words, and the buttons that it draws as buttons.
void nameCanvases();

}  // namespace kvscope
