// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "viz/views.h"
#include "viz/views/compare/compare_legend.h"
#include "viz/views/compare/compare_rows.h"

namespace kvscope::viz {

/// Several runs on one prompt: one strip each on one token axis, their numbers beside them, and the difference of two below.
class Compare final : public View {
 public:
  explicit Compare(std::shared_ptr<TokenWindow> window) : window_(std::move(window)) {}

  const char* id() const override { return "compare"; }
  const char* title() const override { return "Compare"; }
  const std::vector<Mark>& marks() const override { return marks_; }

  std::string facts(const Frame& frame) const override;
  float preferred_height(const Frame& frame) const override;
  Table table(const Frame& frame) const override;
  void draw(const Frame& frame, std::vector<Intent>& intents) override;
  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override;
  std::string cursor_text(const Frame& frame) const override;
  std::vector<Option> options() const override;
  void choose(std::size_t option, int choice) override;

 private:
  /// The difference of two runs as this frame has it.
  struct DrawnDifference {
    DifferenceHits hits;
    DifferenceScene scene;
  };

  CompareScene make_scene(const Painter& p, const Rect& area);
  TokenAxis token_axis(const Painter& p, const Rect& area, const CompareScene& s);
  void draw_cursors(Painter& p, const CompareScene& s, const Rect& difference) const;

  // compare_input.cpp
  bool pan_and_zoom(const Painter& p, const TokenAxis& axis);
  void react(const Painter& p, const CompareScene& s, const DrawnDifference& difference, std::vector<Intent>& intents);
  bool choose_run(const Frame& frame, std::string_view key, std::vector<Intent>& intents);
  bool react_pair(const Painter& p, const DifferenceHits& hits, std::vector<Intent>& intents);
  void react_header(const Painter& p, const CompareScene& s, std::vector<Intent>& intents);
  void react_run(const Painter& p, const CompareScene& s, const RunRows::Row& row, std::vector<Intent>& intents);
  void react_difference(const Painter& p, const CompareScene& s, const DrawnDifference& difference, int token,
                        std::vector<Intent>& intents);

  std::shared_ptr<TokenWindow> window_;
  CompareMode mode_ = CompareMode::fates;
  MetricSet set_ = MetricSet::all;
  MetricOrder order_;
  std::vector<Mark> marks_;
  mutable RunMetrics metrics_;
  RunPair pair_;
  mutable RunTokens tokens_;
  StripTextures textures_;
  RunRows rows_;
  WaitingRows waiting_;
  CompareLegend legend_;
  bool panning_ = false;
  HoverPublisher hover_;
};

}  // namespace kvscope::viz
