// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viz/reduce/range.h"
#include "viz/reduce/timeline.h"
#include "viz/views/timeline/step_range.h"

namespace kvscope::viz {

/// The steps of a run in numbers, kept from frame to frame: they change only with the snapshot.
class StepSummaries {
 public:
  const std::vector<StepSummary>& of(const Frame& frame, const LaneSnapshot& lane);
  /// Of the steps of a range.
  const RunFigures& figures(const Frame& frame, const LaneSnapshot& lane, const StepRange& range);

 private:
  std::vector<StepSummary> steps_;
  const LaneFates* fates_ = nullptr;  // what they are of, as is all below
  std::uint64_t sequence_ = 0;
  int lane_ = -1;
  std::size_t n_steps_ = 0;
  std::optional<StepRange> range_;
  RunFigures figures_;
};

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
  void react(Painter& p, const TimelineLayout& l, const LaneSnapshot& lane, const std::vector<StepSummary>& steps,
             std::vector<Intent>& intents);

  std::vector<Mark> marks_;
  mutable StepSummaries summaries_;
  StepBrush brush_;
  bool scrubbing_ = false;
  int hovered_ = -1;
  std::pair<std::uint64_t, int> hovered_of_;  // the snapshot and its run
};

}  // namespace kvscope::viz
