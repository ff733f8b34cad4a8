// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

inline constexpr double kFewestTokens = 8;  // that a zoomed window shows

/// Which tokens and rows the atlas shows, and what the wheel, drags and keys do to that.
class AtlasZoom {
 public:
  explicit AtlasZoom(std::shared_ptr<TokenWindow> window) : window_(std::move(window)) {}

  /// Fills in the axis, the rows and the bins of a frame, and keeps the window inside of the text.
  void place(const Painter& p, AtlasScene& s);
  /// True: the frame is to be placed anew.
  bool react(const Painter& p, const AtlasScene& s);
  /// "0", "+", "=", "-": around the token of the cursor. False: another key.
  bool key(std::string_view key, int token, int n_tokens);
  /// Towards the numbers of one cell: first the tokens of the bin under it, then the heads of its layer. False: nothing is folded there.
  bool into(const AtlasCell& cell, int n_layers);
  /// This layer alone, or all of them again.
  void toggle_layer(int layer) { rows_ = {rows_.only_layer < 0 ? layer : -1, 1, 0}; }
  /// Scrolls to a cell.
  void follow(const AtlasCell& cell, int n_tokens);

  TokenWindow& window() { return *window_; }
  float px() const { return px_; }
  int page() const { return std::max(1, static_cast<int>(page_) - 1); }  // tokens

 private:
  void zoom_tokens(const AtlasScene& s, const Painter& p, float x, double factor);

  std::shared_ptr<TokenWindow> window_;
  AtlasRowView rows_;
  bool panning_ = false;
  // Of the last frame: pixels per token, tokens per texel, what a row is, tokens shown.
  float px_ = 0;
  int bin_ = 1;
  bool by_layer_ = false;
  float page_ = 20;
};

}  // namespace kvscope::viz
