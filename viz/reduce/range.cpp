// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/range.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

const HeadRecord* head_at(const LaneSnapshot& lane, int step, int head) {
  if (step < 0 || step >= static_cast<int>(lane.steps.size())) return nullptr;
  const StepRecord* record = lane.steps[static_cast<std::size_t>(step)].get();
  if (record == nullptr || head < 0 || head >= static_cast<int>(record->heads.size())) return nullptr;
  return &record->heads[static_cast<std::size_t>(head)];
}

}  // namespace

std::optional<StepRange> steps_within(const LaneSnapshot& lane, const std::optional<StepRange>& range) {
  const int last = static_cast<int>(lane.steps.size()) - 1;
  const StepRange steps{range ? std::max(range->first, 0) : 0, range ? std::min(range->last, last) : last};
  if (steps.first > steps.last) return std::nullopt;
  return steps;
}

std::string range_text(const StepRange& range) {
  if (range.first == range.last) return "step " + format_count(range.first);
  return fmt::format("steps {}–{}", format_count(range.first), format_count(range.last));
}

Statistics head_statistics(const LaneSnapshot& lane, const StepRange& steps, int head, const HeadValue& value) {
  Statistics out;
  const std::optional<StepRange> within = steps_within(lane, steps);
  for (int s = within ? within->first : 0; within && s <= within->last; ++s) {
    if (const HeadRecord* record = head_at(lane, s, head)) out.add(value(*record, lane.steps[static_cast<std::size_t>(s)]->position + 1));
  }
  return out;
}

double votes_lost_within(const LaneSnapshot& lane, const StepRange& steps, int head) {
  const std::optional<StepRange> within = steps_within(lane, steps);
  const HeadRecord* last = within ? head_at(lane, within->last, head) : nullptr;
  if (last == nullptr) return kNotAvailable;
  const HeadRecord* before = head_at(lane, within->first - 1, head);
  return last->evicted_votes - (before != nullptr ? before->evicted_votes : 0);
}

}  // namespace kvscope::viz
