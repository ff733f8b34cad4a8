// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "viz/views/compare/compare_runs.h"
#include "viz/views/compare/compare_scene.h"

namespace kvscope::viz {

/// The runs one below the other: name, strip of tokens, numbers, and a button that removes the run.
class RunRows {
 public:
  /// Of one run in the last frame.
  struct Row {
    int lane = 0;
    Rect row, strip, remove;
  };
  /// As many as have room in `area`.
  void draw(Painter& p, const CompareScene& s, Rect area, RunTokens& tokens, StripTextures& textures);
  const std::vector<Row>& drawn() const { return rows_; }
  const Row* at(float y) const;  // nullptr: none

 private:
  void draw_run(Painter& p, const CompareScene& s, const Rect& row, int lane, RunTokens& tokens, StripTextures& textures);

  std::vector<Row> rows_;
};

/// Runs that are asked for and not there yet, in thin rows below the others.
class WaitingRows {
 public:
  static float height(const Painter& p);
  void draw(Painter& p, const CompareScene& s, Rect area);
  std::optional<int> cancel_at(ImVec2 at) const;  // the waiting run whose button is there

 private:
  std::vector<std::pair<int, Rect>> cancels_;  // of waiting runs
};

}  // namespace kvscope::viz
