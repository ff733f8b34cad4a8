// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "policy/head_view.h"
#include "policy/plan.h"

namespace kvscope {

/// What the parts pass on to each other about one head in one compression: ranking -> selection -> merger -> plan.
struct HeadDecision {
  HeadView view;
  std::optional<int> budget;       // slots; nullopt: unlimited
  int safe = 0;                    // the best slots, the protected ones first, that stay whatever else a selection looks at
  bool due = false;                // a compression happens here in this step
  std::vector<char> is_protected;  // [n]
  std::vector<double> score;       // [n] as ranked; empty: not ranked in this step
  std::vector<double> tie_break;   // [n] or empty
  std::vector<int> keep;           // slots that stay, ascending
  std::vector<int> gone;           // slots that go, in the order in which the trace tells it
  std::vector<double> prepared;    // by the merger, from its expect() to its merge(); empty: nothing
  Plan plan;

  const SlotState& slots() const { return *view.slots; }
  int n_kept() const { return slots().size() - static_cast<int>(gone.size()); }
  /// Scores that are no number, but of protected slots and of those of observed queries, which have none.
  int n_not_numbers() const {
    int n = 0;
    for (std::size_t i = 0; i < score.size() - static_cast<std::size_t>(plan.n_observed); ++i)
      n += !is_protected[i] && std::isnan(score[i]);
    return n;
  }
  /// Nothing decided yet about this head. What was there before leaves its memory.
  void begin(const HeadView& head) {
    view = head;
    budget.reset();
    safe = 0;
    due = false;
    score.clear();
    tie_break.clear();
    keep.clear();
    gone.clear();
    prepared.clear();
    std::vector<double> memory = std::move(plan.score);
    memory.clear();
    plan = {};
    plan.score = std::move(memory);
  }
};

/// All KV heads of one layer.
struct LayerDecision {
  std::vector<HeadDecision> heads;
};

}  // namespace kvscope
