// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/group_reduce.h"
#include "core/hidden_scorer.h"
#include "core/not_available.h"
#include "slots/hit_history.h"
#include "slots/log_mean_rows.h"
#include "slots/row_ring.h"
#include "slots/statistics/list.h"

namespace kvscope {

/// A statistic that steps change, and one that begins with the last queries of a prompt (statistics/statistic.h).
template <class S>
concept FoldsSteps = requires(typename S::Cell& cell, const StatParams& params) {
  S::fold(cell, 0.0, params);
};
template <class S>
concept FoldsPromptRows = requires {
  S::kPromptRows;
};

/// Which statistics are kept. What nobody asked for is not.
struct StatNeeds {
  GroupReduce group = GroupReduce::mean;
#define KVSCOPE_FLAG(name, Type) bool name = false;
  KVSCOPE_STATISTICS(KVSCOPE_FLAG)
#undef KVSCOPE_FLAG
  double lambda = 0.98;  // of decayed sums
  int hits = 0;          // last rows of which it is counted per slot how many gave it abar >= 1 / n, n the slots of that row; 0: none
  struct Outside {
    int sinks = 0, recent = 0;
    bool operator==(const Outside&) const = default;
  };
  std::optional<Outside> outside;  // how much attention of the prompt falls outside these
  int rows = 0;                    // last rows of abar (and times scored)
  RowSums row_sums = RowSums::none;
  int z_rows = 0;            // rows of z + extra of the prompt that load_prompt reads; 0: z is never read
  bool keep_z_rows = false;  // the last z_rows rows of z + extra are kept, per query head
  bool ema = false;          // log-domain EMA of exp(z + extra); after a prefill built from the last z_rows rows (statistics/log_ema.h)
  double ema_alpha = 0.9;
  bool z_now = false;           // this step's z + extra
  int coming_queries = 0;       // queries of the full cache at so many coming positions, beside the lane's own full history
  bool prompt_queries = false;  // all queries of the prompt, when its one compression is decided
  /// Tokens that run over the full cache of a prompt only to be observed: the prompt once more, in stretches (runtime/prompt/probe_run.h).
  struct Probe {
    int stretch = 2048;      // tokens of the prompt that one pass repeats
    int sinks = 4;           // first tokens that share the attention of the later stretches
    bool by_output = false;  // attention times ||v W_O||_2, over the norm of what the probe's token brings into the layer
    auto operator<=>(const Probe&) const = default;
  };
  std::optional<Probe> probe;                  // of which `probed` tells
  std::shared_ptr<const HiddenScorer> scorer;  // of which `learned` tells

  StatParams params() const { return {.lambda = lambda}; }
  bool reads_a() const {  // observe_step needs a
    bool any = hits > 0 || rows > 0;
#define KVSCOPE_READS(name, Type) any = any || (name && FoldsSteps<statistics::Type>);
    KVSCOPE_STATISTICS(KVSCOPE_READS)
#undef KVSCOPE_READS
    return any;
  }
  bool reads_z() const { return z_rows > 0; }  // observe_step needs z
  /// Last rows of abar of the prompt that load_prompt reads.
  int prompt_rows() const;
};

/// The host side of the cache of one (lane, layer, KV head): named columns with one entry per slot, in order of pos. Keys and values live
/// in the backend. Columns that are not needed have size 0. Kept up to date by the functions of slot_updates.h.
struct SlotState {
  std::vector<int> pos;       // original position of the surviving key
  std::vector<int> votes;     // p_i: original tokens the slot stands for in attention
  std::vector<double> extra;  // added to ln p_i in the bias
  std::vector<int> times;     // rows that scored the slot
#define KVSCOPE_COLUMN(name, Type) std::vector<statistics::Type::Cell> name;
  KVSCOPE_STATISTICS(KVSCOPE_COLUMN)
#undef KVSCOPE_COLUMN
  HitHistory hits;                 // rows with abar >= 1 / n
  double outside = kNotAvailable;  // mean share of the prompt's attention outside sinks and recent
  RowRing rows;                    // last rows of abar, [n]; 0 where a row was before the slot
  // per query head of the group, slot outermost: entry of (slot i, query head g) is [i * group + g]
  LogMeanRows z_rows;         // last rows of z + extra, [n, group]; -inf where not scored
  std::vector<double> ema;    // lS_{g,i} of statistics/log_ema.h; -inf: never scored
  std::vector<int> ema_n;     // n_i: times the EMA scored the slot
  std::vector<double> z_now;  // z + extra of this step

  int evicted_votes = 0;     // votes lost to eviction so far
  std::vector<int> evicted;  // original positions no slot stands for, in order of loss

  // what members() gives, where a slot stands for more than its own token; else empty. No entries at all until slots are merged.
  std::vector<std::vector<int>> united;

  int size() const { return static_cast<int>(pos.size()); }
  /// All original positions that a slot stands for, ascending, own pos included. Valid until slots change.
  std::span<const int> members(int slot) const {
    const auto i = static_cast<std::size_t>(slot);
    return united.empty() || united[i].empty() ? std::span(&pos[i], 1) : std::span<const int>(united[i]);
  }
};

/// Flag and column of a statistic.
template <class S>
struct ColumnOf;
#define KVSCOPE_COLUMN_OF(name, Type)                                                           \
  template <>                                                                                   \
  struct ColumnOf<statistics::Type> {                                                           \
    static constexpr StatId id = StatId::name;                                                  \
    static constexpr bool StatNeeds::*needs = &StatNeeds::name;                                 \
    static constexpr std::vector<statistics::Type::Cell> SlotState::*column = &SlotState::name; \
  };
KVSCOPE_STATISTICS(KVSCOPE_COLUMN_OF)
#undef KVSCOPE_COLUMN_OF

template <class S>
bool wants(const StatNeeds& needs) {
  return needs.*ColumnOf<S>::needs;
}
template <class S, class State>
auto& column(State& state) {
  return state.*ColumnOf<S>::column;
}

/// body(S{}) for every statistic S, in the order of the list.
template <class Body>
void for_each_statistic(const Body& body) {
#define KVSCOPE_BODY(name, Type) body(statistics::Type{});
  KVSCOPE_STATISTICS(KVSCOPE_BODY)
#undef KVSCOPE_BODY
}

inline int StatNeeds::prompt_rows() const {
  int most = rows;
  for_each_statistic([&]<class S>(S) {
    if constexpr (FoldsPromptRows<S>) most = wants<S>(*this) ? std::max(most, S::kPromptRows) : most;
  });
  return most;
}

}  // namespace kvscope
