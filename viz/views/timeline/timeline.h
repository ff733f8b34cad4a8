// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/range.h"
#include "viz/reduce/timeline.h"

namespace kvscope::viz {

/// A bar of categories from the bottom of its column up, as stack_pixels() divides it; `least` in pixels.
void draw_stack(Painter& p, const Rect& column, std::span<const Category> kinds, std::span<const double> parts, double whole, float least);

/// V5: what happened in every step of one lane. Few steps: one wide column a step with its numbers. Many: bands over the step axis.
class Timeline : public View {
 public:
  const char* id() const override { return "timeline"; }
  const char* title() const override { return "Timeline"; }
  std::string facts(const Frame& frame) const override;
  void draw(const Frame& frame, std::vector<Intent>& intents) override;
  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override;
  std::string cursor_text(const Frame& frame) const override;
  Table table(const Frame& frame) const override;
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override { return 174 * frame.scale; }

 private:
  // Vertical layout, in logical pixels of the canvas.
  struct Layout {
    Rect top;          // fates, or slots
    Rect counts;       // evicted and merged, or removed
    Rect kl;           // bars; y1 is the base line
    float kl_y = 0;    // middle of the row of KL numbers; columns only
    float step_y = 0;  // middle of the step labels
    Rect legend;
    float x0 = 0, x1 = 0;
    float pitch = 0;  // pixels per step
  };

  void update(const Frame& frame, const LaneSnapshot& lane) const;
  Layout make_layout(const Painter& p, bool wide) const;
  void draw_columns(Painter& p, const Layout& l, int step);
  std::vector<std::string> kl_numbers(const Painter& p, float room) const;
  void draw_bands(Painter& p, const Layout& l, int step);
  void draw_slots(Painter& p, const Layout& l, const std::vector<StepBin>& bins);
  void draw_removed(Painter& p, const Layout& l, const std::vector<StepBin>& bins);
  void draw_kl(Painter& p, const Layout& l, const std::vector<StepBin>& bins);
  void draw_legend(Painter& p, const Layout& l, bool wide);
  void draw_range(Painter& p, const Layout& l);
  void draw_marks(Painter& p, const Layout& l);
  bool brush(const Painter& p, const Layout& l, int at, std::vector<Intent>& intents);
  void react(Painter& p, const Layout& l, std::vector<Intent>& intents);
  std::vector<std::string> tooltip(const Frame& frame, int step) const;

  std::vector<Mark> marks_;
  // Summaries of the lane last shown; they only change with the snapshot.
  mutable std::vector<StepSummary> steps_;
  mutable const LaneFates* of_fates_ = nullptr;
  mutable std::uint64_t of_sequence_ = 0;
  mutable int of_lane_ = -1;
  mutable std::size_t of_n_steps_ = 0;
  mutable std::optional<StepRange> of_range_;
  mutable RunFigures range_;
  bool scrubbing_ = false;
  int brush_from_ = -1;  // step where a range began to be dragged; -1: none is
  int brush_to_ = -1;
  int hovered_ = -1;
};

}  // namespace kvscope::viz
