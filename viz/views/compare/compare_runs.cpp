// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_runs.h"

#include <algorithm>
#include <utility>

#include "snapshot/figures.h"

namespace kvscope::viz {
namespace {

constexpr int kLookedAt = 64;  // tokens of an answer

}  // namespace

const std::vector<LaneMetrics>& RunMetrics::of(const Frame& frame) {
  const Snapshot& s = *frame.snapshot;
  std::vector<StepPtr> now;
  for (const LaneSnapshot& lane : s.lanes) {
    const int step = step_of(lane, frame.selection);
    now.push_back(lane.steps.empty() ? nullptr : lane.steps.back());
    now.push_back(step < 0 ? nullptr : lane.steps[static_cast<std::size_t>(step)]);
  }
  if (sequence_ == s.sequence && range_ == frame.selection.steps && plain_ == frame.plain && of_ == now) return metrics_;
  sequence_ = s.sequence;
  range_ = frame.selection.steps;
  plain_ = frame.plain;
  of_ = std::move(now);
  metrics_.clear();
  for (const LaneSnapshot& lane : s.lanes) {
    metrics_.push_back(lane_metrics(s, lane, step_of(lane, frame.selection), kLookedAt, frame.selection.steps));
    metrics_.back().split = first_text_difference(s, static_cast<int>(metrics_.size()) - 1);
  }
  if (plain_) cut_to_word(metrics_, s);
  plain_ ? fit_answers(metrics_, s, kAnswerOfOneWord) : begin_answers(metrics_, s);
  return metrics_;
}

bool RunPair::follow(const Frame& frame) {
  const int lane = frame.selection.lane;
  const std::vector<LaneSnapshot>& runs = frame.snapshot->lanes;
  const bool same = specs_.size() == runs.size();
  if (!std::ranges::equal(specs_, runs, {}, {}, &LaneSnapshot::spec)) {
    const std::vector<std::string> now = specs_of(*frame.snapshot);
    for (int* run : {&pinned_, &previous_, &selected_}) *run = place_now(specs_, now, *run);
    specs_ = now;
  }
  if (selected_ != lane) previous_ = selected_ > 0 ? selected_ : previous_;
  selected_ = lane;
  if (restored_ >= 0) previous_ = std::exchange(restored_, -1);
  return same;
}

int RunPair::selected(const Selection& selection) const { return std::clamp(selection.lane, 0, static_cast<int>(specs_.size()) - 1); }

int RunPair::against(int lane) const {
  const int n = static_cast<int>(specs_.size());
  for (const int chosen : {pinned_, previous_}) {
    if (chosen >= 0 && chosen < n && chosen != lane) return chosen;
  }
  return lane > 1 ? lane - 1 : lane == 1 ? (n > 2 ? 2 : 0) : std::min(1, n - 1);
}

std::pair<int, int> RunPair::lanes(const Selection& selection) const {
  const int lane = selected(selection), other = against(lane);
  return swapped_ ? std::pair(lane, other) : std::pair(other, lane);
}

void RunPair::set(const Selection& selection, bool first, int lane, std::vector<Intent>& intents) {
  const auto [a, b] = lanes(selection);
  const int now = first ? a : b, other = first ? b : a;
  if (lane == now || lane < 0 || lane >= static_cast<int>(specs_.size())) return;
  if (lane == other) return swap();
  // One of the two is the selected run, the other the pinned one.
  if (now == selected(selection)) {
    pinned_ = other;
    Selection chosen = selection;
    chosen.lane = lane;
    intents.push_back(Select{chosen});
  } else {
    pinned_ = lane;
  }
}

void RunTokens::reset(std::size_t n_lanes) {
  shown_.assign(n_lanes, {});
  counts_ = {};
}

const Represented& RunTokens::of(const Snapshot& snapshot, int lane, int step) {
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  Represented& state = shown_[static_cast<std::size_t>(lane)];
  if (step < 0 || run.fates == nullptr)
    state = {};
  else
    state.show(run, step);
  counts_.follow(state);
  return state;
}

DifferenceScene RunTokens::difference(const Snapshot& snapshot, std::pair<int, int> lanes, const std::vector<LaneMetrics>& metrics,
                                      int token) {
  DifferenceScene scene;
  scene.a = lanes.first;
  scene.b = lanes.second;
  scene.step_a = metrics[static_cast<std::size_t>(scene.a)].step;
  scene.step_b = metrics[static_cast<std::size_t>(scene.b)].step;
  const Represented &a = of(snapshot, scene.a, scene.step_a), &b = of(snapshot, scene.b, scene.step_b);
  const auto run = [&](int lane) -> const LaneSnapshot& { return snapshot.lanes[static_cast<std::size_t>(lane)]; };
  cells_ = LaneDifference(a, b, n_alike_tokens(snapshot, run(scene.a), run(scene.b)));
  scene.cells = &cells_;
  scene.counts = counts_.of(cells_);
  scene.token = token;
  for (std::size_t lane = 0; token >= 0 && lane < metrics.size(); ++lane)
    scene.token_counts.push_back(count(snapshot, static_cast<int>(lane), metrics[lane].step, token));
  return scene;
}

}  // namespace kvscope::viz
