// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/group_reduce.h"
#include "policy/rankings/hit_history.h"
#include "policy/rankings/log_mean_rows.h"
#include "policy/rankings/row_ring.h"

namespace kvscope {

/// Which statistics a policy reads. What nobody asked for is not kept.
struct StatNeeds {
  GroupReduce group = GroupReduce::mean;
  bool sum = false;          // accumulated abar and times scored
  bool sum_sq = false;       // accumulated abar^2
  bool decayed = false;      // S <- lambda S + abar
  double lambda = 0.98;
  bool residual = false;     // which slots collect others
  int hits = 0;              // last rows of which it is counted per slot how many gave it abar >= 1 / n, n the slots of that row; 0: none
  bool key_norm = false;     // norm of the key before rotation
  struct Outside {
    int sinks = 0, recent = 0;
    bool operator==(const Outside&) const = default;
  };
  std::optional<Outside> outside;  // how much attention of the prompt falls outside these
  int rows = 0;              // last rows of abar (and times scored)
  RowSums row_sums = RowSums::none;
  int z_rows = 0;            // rows of z + extra of the prompt that load_prompt reads; 0: z is never read
  bool keep_z_rows = false;  // the last z_rows rows of z + extra are kept, per query head
  bool ema = false;          // log-domain EMA of exp(z + extra); after a prefill built from the last z_rows rows
  double ema_alpha = 0.9;
  bool z_now = false;        // this step's z + extra
  int coming_queries = 0;    // queries of the full cache at so many coming positions, beside the lane's own full history

  bool reads_a() const { return sum || sum_sq || decayed || hits > 0 || rows > 0; }  // observe_step needs a
  bool reads_z() const { return z_rows > 0; }                 // observe_step needs z
};

/// The host side of the cache of one (lane, layer, KV head): one entry per slot, in order of pos. Keys and values live in the backend.
/// Statistics that are not needed have size 0. Kept up to date by the functions of statistics.h.
struct SlotState {
  std::vector<int> pos;                   // original position of the surviving key
  std::vector<int> votes;                 // p_i: original tokens the slot stands for in attention
  std::vector<double> extra;              // added to ln p_i in the bias (KeepKV form=bias)
  std::vector<int> times;                 // rows that scored the slot
  std::vector<double> sum;                // accumulated abar
  std::vector<double> sum_sq;             // accumulated abar^2
  std::vector<double> decayed;            // sum of abar, every row lambda times lighter than the next
  std::vector<char> residual;             // 1: the slot collects others
  HitHistory hits;                        // rows with abar >= 1 / n
  std::vector<double> key_norm;           // norm of the key before rotation
  double outside = std::numeric_limits<double>::quiet_NaN();  // mean share of the prompt's attention outside sinks and recent
  RowRing rows;                           // last rows of abar, [n]; 0 where a row was before the slot
  // per query head of the group, slot outermost: entry of (slot i, query head g) is [i * group + g]
  LogMeanRows z_rows;                     // last rows of z + extra, [n, group]; -inf where not scored
  std::vector<double> ema;                // lS_{g,i}, POLICIES.md section 5; -inf: never scored
  std::vector<int> ema_n;                 // n_i: times the EMA scored the slot
  std::vector<double> z_now;              // z + extra of this step

  int evicted_votes = 0;                  // votes lost to eviction so far
  std::vector<int> evicted;               // original positions no slot stands for, in order of loss

  // what members() gives, where a slot stands for more than its own token; else empty. No entries at all until slots are merged.
  std::vector<std::vector<int>> united;

  int size() const { return static_cast<int>(pos.size()); }
  /// All original positions that a slot stands for, ascending, own pos included. Valid until slots change.
  std::span<const int> members(int slot) const {
    const auto i = static_cast<std::size_t>(slot);
    return united.empty() || united[i].empty() ? std::span(&pos[i], 1) : std::span<const int>(united[i]);
  }
};

}  // namespace kvscope
