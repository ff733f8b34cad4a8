// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/views/head_grid/head_metric.h"
#include "viz/views/parts/capture_offer.h"

namespace kvscope::viz {

/// In which order layers and heads are shown: row and column of each, and what stands in each.
struct HeadOrder {
  std::vector<int> layers, heads;      // of a row, of a column
  std::vector<int> row_of, column_of;  // of a layer, of a head
};
/// The order of the model; sorted: layers and heads by the largest value they have anywhere, so that the largest of all comes first. What
/// is not available comes last, equals stay in the order of the model. values: [n_layers * n_heads], layer-major.
HeadOrder head_order(const std::vector<double>& values, int n_layers, int n_heads, bool sorted);

/// A head whose budget was set by hand, or in which tokens are pinned or were evicted, merged or restored by hand up to this step: it has a
/// dot.
bool changed_by_hand(const Frame& frame, std::size_t head);

/// V3: layers x KV heads, one metric by colour and number.
class HeadGrid : public View {
 public:
  const char* id() const override { return "head_grid"; }
  const char* title() const override { return "Head grid"; }
  std::string facts(const Frame& frame) const override;
  void draw(const Frame& frame, std::vector<Intent>& intents) override;
  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override;
  std::string summary(const Frame& frame) const override;
  std::string cursor_text(const Frame& frame) const override;
  Table table(const Frame& frame) const override;
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override;
  std::vector<Option> options() const override;
  void choose(std::size_t option, int choice) override;
  std::vector<Switch> switches() const override;
  void flip(std::size_t) override { set_sorted(!sorted_); }
  /// Layers and heads by the metric, the largest first; false: in the order of the model.
  bool sorted() const { return sorted_; }
  void set_sorted(bool on) { sorted_ = on; }

 private:
  struct Grid {
    Rect area;
    float cell_w = 0, cell_h = 0, gap = 0;
    int n_layers = 0, n_heads = 0;
    HeadOrder order;
    Rect cell(int layer, int head) const;
    Rect corner(float height) const { return {2, area.y0 - height + 2, area.x0 - 4, area.y0 - 2}; }
  };
  struct Scale {
    double highest = 0;
    bool root = false;   // square root: the values span more than two decades
    bool floor = false;  // no value is larger than rounding: none has a colour
    double at(double v) const;
  };

  Grid layout(const Painter& p, Rect area) const;
  HeadOrder order_of(const Frame& frame) const;
  /// The metric of every head: of the shown step, or its mean over the range of steps.
  const std::vector<double>& values_of(const Frame& frame) const;
  double value_of(const Frame& frame, int head, HeadMetric metric) const;
  std::string unit_text(const Frame& frame) const;
  std::vector<std::string> metric_lines(const Frame& frame, int layer, int head) const;
  Scale scale_of(const Frame& frame, const std::vector<double>& values) const;
  void draw_cells(Painter& p, const Grid& g, const Scale& scale, const std::vector<double>& values);
  void draw_labels(Painter& p, const Grid& g) const;
  void draw_corner(Painter& p, const Grid& g);
  void draw_legend(Painter& p, const Rect& strip, const Scale& scale);
  bool draw_missing(Painter& p, const Rect& strip);
  void react(Painter& p, const Grid& g, std::vector<Intent>& intents);
  std::vector<std::string> tooltip(const Frame& frame, int layer, int head) const;

  HeadMetric metric_ = HeadMetric::local_l1_wo;
  bool sorted_ = false, wants_causes_ = false;
  std::vector<Mark> marks_;
  CaptureOffer capture_;
  Hover hovered_;
  bool on_corner_ = false;
  // A mean over thousands of steps is computed once, not in every frame.
  struct Key {
    std::uint64_t sequence = 0;
    int lane = -1, step = -1;
    std::optional<StepRange> steps;
    HeadMetric metric = HeadMetric::local_l1_wo;
    bool operator==(const Key&) const = default;
  };
  /// Of all heads in the shown step: a sum over heads and slots, kept from frame to frame.
  const std::vector<double>& disagreement_of(const Frame& frame) const;

  mutable std::optional<Key> of_;
  std::optional<Key> hovered_of_;
  mutable std::vector<double> values_;
  mutable std::tuple<const StepRecord*, std::uint64_t, std::uint64_t> disagreement_of_{};
  mutable std::vector<double> disagreement_;
};

}  // namespace kvscope::viz
