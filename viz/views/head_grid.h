// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/draw.h"

namespace kvscope::viz {

/// What a cell of the head grid shows. Names are those of the records.
enum class HeadMetric : std::uint8_t { local_l1_wo, local_rel_l2, retained, votes_lost, attention_loss, slots, theta };
inline constexpr int kHeadMetrics = 7;

/// Value of a metric for a head, NaN: not available. retained is slots over tokens seen.
double head_metric(const HeadRecord& head, HeadMetric metric, int tokens_seen);
/// As printed in a cell: "729", "25.1 %".
std::string format_metric(HeadMetric metric, double value);
/// "local error after Wₒ"
const char* metric_name(HeadMetric metric);

/// V3: layers x KV heads, one metric by colour and number.
class HeadGrid : public View {
 public:
  const char* id() const override { return "head_grid"; }
  const char* title() const override { return "Head grid"; }
  std::string facts(const Frame& frame) const override;
  void draw(const Frame& frame, std::vector<Intent>& intents) override;
  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override;
  std::string cursor_text(const Frame& frame) const override;
  Table table(const Frame& frame) const override;
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override;
  std::vector<Option> options() const override;
  void choose(std::size_t option, int choice) override;

 private:
  struct Grid {
    Rect area;
    float cell_w = 0, cell_h = 0, gap = 0;
    int n_layers = 0, n_heads = 0;
    Rect cell(int layer, int head) const;
  };
  struct Scale {
    double highest = 0;
    bool root = false;  // square root: the values span more than two decades
    double at(double v) const;
  };

  Grid layout(const Painter& p, Rect area) const;
  /// The metric of every head: of the shown step, or its mean over the range of steps.
  const std::vector<double>& values_of(const Frame& frame) const;
  double value_of(const Frame& frame, int head, HeadMetric metric) const;
  std::string unit_text(const Frame& frame) const;
  Scale scale_of(const std::vector<double>& values) const;
  void draw_cells(Painter& p, const Grid& g, const Scale& scale, const std::vector<double>& values);
  void draw_legend(Painter& p, const Rect& strip, const Scale& scale) const;
  void react(Painter& p, const Grid& g, std::vector<Intent>& intents);
  std::vector<std::string> tooltip(const Frame& frame, int layer, int head) const;

  HeadMetric metric_ = HeadMetric::local_l1_wo;
  std::vector<Mark> marks_;
  Hover hovered_;
  // A mean over thousands of steps is computed once, not in every frame.
  struct Key {
    std::uint64_t sequence = 0;
    int lane = -1, step = -1;
    std::optional<StepRange> steps;
    HeadMetric metric = HeadMetric::local_l1_wo;
    bool operator==(const Key&) const = default;
  };
  mutable std::optional<Key> of_;
  mutable std::vector<double> values_;
};

}  // namespace kvscope::viz
