// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// The (lane, step, head) that a selection means in a snapshot. Pointers live as long as the snapshot.
struct HeadPick {
  int lane = -1;        // -1: there is no lane
  int step = -1;        // index into the lane's steps; -1: the lane has none
  int head = -1;        // layer * n_kv_heads + kv_head; -1: no head
  bool chosen = false;  // false: nothing selected, the head with the largest local_l1_wo was taken
  const LaneSnapshot* run = nullptr;
  const StepRecord* record = nullptr;
  const HeadRecord* values = nullptr;
};

/// Steps are clamped to what the lane has (nullopt: the latest). A selected head that does not exist counts as not selected.
HeadPick pick_head(const Snapshot& snapshot, const Selection& selection);

/// How a slot of one head went. step -1: it has not. Of the event only what views ask of every token: there may be 32 768 of them.
struct Removal {
  struct What {
    Event::Kind kind = Event::Kind::evict;
    int into = -1;
    double w_removed = kNotAvailable, score = kNotAvailable, cos = kNotAvailable;
    bool by_hand = false;
  };
  int step = -1;
  What event;
};

/// Removals of one head up to and including `step`, by original position. [n_tokens]
std::vector<Removal> removals_until(const LaneSnapshot& lane, int head, int step, int n_tokens);

/// One head, one entry per original token up to the step's query; NaN: no such number.
struct HeadColumns {
  std::vector<Category> category;
  std::vector<int> votes;         // of the token's own slot after the step; 0: it has none
  std::vector<double> score;      // ranking score of a slot that stands, now or when its head ranked last, or what it had when it went
  std::vector<char> score_gone;   // 1: the score is of an earlier step
  std::vector<double> statistic;  // the policy's own; empty: the policy has none
  std::vector<double> probed;     // most attention that the probe after the prompt paid to the token, kept or not; empty: no probe
  std::vector<double> attention;  // of this step's query over the slots that it saw
  std::vector<double> lost;       // what the reference pays to a token without a slot of its own; NaN where it has one
  std::vector<double> agreement;  // query heads of the group that rank the token inside the budget, by the reference; empty: not measured
  std::vector<Removal> removal;   // of the token's own slot
  std::vector<EarlierFate> past;  // of tokens that were brought back by hand, as far as the step; by token, then by step
  std::vector<int> pinned;        // by hand, ascending
  std::vector<int> collecting;    // slots that collect what selections send away, ascending

  int size() const { return static_cast<int>(category.size()); }
};

/// pick.values must not be null.
HeadColumns head_columns(const Snapshot& snapshot, const HeadPick& pick);

/// When the slots of one head went and with which score, apart from all else that a removal says: two numbers a token are read in every
/// step.
struct Departures {
  std::vector<int> step;  // -1: it has not
  std::vector<double> score;

  void assign(std::span<const Removal> removal);
  void resize(std::size_t n);
  void set(std::size_t token, const Removal& removal);
};

/// The columns asked for last: a long text has many tokens, and hovering asks for the same ones again.
class HeadColumnsCache {
 public:
  /// As head_columns(). Valid until the next call.
  const HeadColumns& of(const Snapshot& snapshot, const HeadPick& pick);
  /// Grows whenever of() computed anew.
  std::uint64_t version() const { return version_; }

 private:
  bool follow(const HeadPick& pick);

  Departures gone_;
  std::array<std::uint64_t, 5> key_{};
  int step_ = -1, head_ = -1;
  std::weak_ptr<const StepRecord> record_;
  HeadColumns columns_;
  std::uint64_t version_ = 0;
};

/// exp of the entropy of the attention of this step's query, normalised; NaN where it was not captured.
double effective_tokens(const HeadRecord& head);

/// The slot that stood for a token when the query of the step read it; -1: none. What the step's compression does comes after that: a token
/// that was given back by hand is there for one query at least.
int slot_seen(const LaneSnapshot& lane, int step, int head, int token);

/// Share of its attention, with every token in place, that this step's query would pay to tokens for which it saw another token's slot:
/// they had been merged, and are not lost as what was evicted is. NaN where the reference attention was not captured.
double stood_in_by_merges(const HeadPick& pick);

/// Index of the largest entry that is a number; -1: none.
int largest(std::span<const double> values);

/// Step at which a token came into the cache: the first whose query is at or after it; -1: none.
int birth_step(const LaneSnapshot& lane, int token);

/// What ranking by score would keep of this step's candidates.
struct Cutoff {
  std::vector<double> ranked;  // scores of all candidates of this step before removal, descending
  int unranked = 0;            // slots that stay without ranking: protected, or collecting what goes
  double value = kNotAvailable;

  /// Slots per head if the line stood at `score`: protected ones and all that score at least that. At least one.
  int slots_at(double score) const;
};

Cutoff cutoff_of(const HeadRecord& head);

/// An axis of values: square root where all are >= 0, else linear, so that small values stay visible and negative ones correct.
struct ValueScale {
  double low = 0, high = 1;
  bool root = true;
  bool percent = false;  // of fractions: its ticks are written as percent
  bool whole = false;    // of things that are counted: its ticks are

  /// 0 at low, 1 at high, not clamped; NaN stays NaN.
  double unit(double value) const;
  /// Inverse of unit().
  double value(double unit) const;
};

/// Scale from 0 (or the least value) to the largest of the numbers; {0, 1} without any.
ValueScale scale_for(std::span<const double> values);

/// Round values (1, 2 or 5 times a power of ten) inside the scale, at least `min_gap` of its length apart, ascending; the low end first.
std::vector<double> ticks_of(const ValueScale& scale, double min_gap);

}  // namespace kvscope::viz
