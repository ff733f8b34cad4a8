// SPDX-License-Identifier: Apache-2.0
// What of the snapshot a frame shows.
#include <algorithm>

#include "viz/draw/draw.h"

namespace kvscope::viz {

const LaneSnapshot* lane_of(const Frame& frame) {
  if (frame.snapshot == nullptr) return nullptr;
  const int lane = frame.selection.lane;
  if (lane < 0 || lane >= static_cast<int>(frame.snapshot->lanes.size())) return nullptr;
  return &frame.snapshot->lanes[static_cast<std::size_t>(lane)];
}

int step_of(const LaneSnapshot& lane, const Selection& selection) {
  const int last = static_cast<int>(lane.steps.size()) - 1;
  return selection.step ? std::clamp(*selection.step, std::min(0, last), last) : last;
}

const StepRecord* record_of(const Frame& frame) {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr) return nullptr;
  const int step = step_of(*lane, frame.selection);
  return step < 0 ? nullptr : lane->steps[static_cast<std::size_t>(step)].get();
}

int head_index(const Snapshot& s, int layer, int kv_head) { return layer * s.model.n_kv_heads + kv_head; }
int n_heads_total(const Snapshot& s) { return s.model.n_layers * s.model.n_kv_heads; }

std::vector<Category> categories_of(const Snapshot& s, const LaneSnapshot& lane, int step, int head) {
  if (lane.fates == nullptr || step < 0 || step >= static_cast<int>(lane.steps.size())) return {};
  if (head < 0 || head >= static_cast<int>(lane.fates->heads.size())) return {};
  return categories(*lane.fates, *lane.steps[static_cast<std::size_t>(step)], head, lane.sinks, is_prefill_step(s, step));
}

std::vector<int> pins_done(const HeadRecord& head, int first, int last) {
  std::vector<int> out;
  for (auto it = std::lower_bound(head.pinned.begin(), head.pinned.end(), first); it != head.pinned.end() && *it <= last; ++it)
    if (std::binary_search(head.pos.begin(), head.pos.end(), *it)) out.push_back(*it);
  return out;
}

int selected_head(const Frame& frame) {
  if (frame.snapshot == nullptr || !frame.selection.layer || !frame.selection.kv_head) return -1;
  const ModelConfig& m = frame.snapshot->model;
  const int layer = *frame.selection.layer, head = *frame.selection.kv_head;
  if (layer < 0 || layer >= m.n_layers || head < 0 || head >= m.n_kv_heads) return -1;
  return head_index(*frame.snapshot, layer, head);
}

}  // namespace kvscope::viz
