// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "viz/canvas.h"
#include "viz/draw/draw.h"

namespace kvscope::viz {

// One factory per canvas. Views that share the token axis share a TokenWindow, so that a bar of the strip stands below its column of the
// atlas.
std::unique_ptr<View> make_atlas(std::shared_ptr<TokenWindow> window);
std::unique_ptr<View> make_head_grid();
std::unique_ptr<View> make_head_strip(std::shared_ptr<TokenWindow> window);
std::unique_ptr<View> make_inspector();
std::unique_ptr<View> make_timeline();
std::unique_ptr<View> make_compare(std::shared_ptr<TokenWindow> window = std::make_shared<TokenWindow>());

}  // namespace kvscope::viz
