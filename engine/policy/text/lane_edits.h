// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace kvscope {

/// Which heads an edit is about. An empty list: all.
struct HeadChoice {
  std::vector<int> layers, kv_heads;  // ascending
  bool has(int layer, int kv_head) const;
  bool operator==(const HeadChoice&) const = default;
};

/// One change by hand, in all chosen heads. In heads where a position has no slot of its own (evict, merge), has one (restore) or where the
/// target has none (merge), it changes nothing.
struct WhatIf {
  enum class Kind : std::uint8_t {
    pin,      // the policy never selects these tokens for removal in the compressions after `step`
    evict,    // their slots go, their votes are lost
    merge,    // their slots go into the slot of `into`
    restore,  // key and value come back from the uncompressed history as a slot of their own with one vote
  };
  Kind kind = Kind::pin;
  int step = -1;  // of the trace: happens after that step's own compression. -1 (pin only): before the first one
  HeadChoice heads;
  std::vector<int> positions;  // original positions, ascending
  int into = -1;               // merge: original position of the target's slot
  bool on = true;              // false: remembered, but not done
  bool operator==(const WhatIf&) const = default;
};

/// Budget of single heads, on top of what the policy's allocation gives them. Exactly one of slots and factor.
struct BudgetOverride {
  HeadChoice heads;
  std::optional<int> slots;
  std::optional<double> factor;  // of the allocated budget; heads without a limit keep having none
  bool on = true;
  /// Slots instead of `allocated` (nullopt: unlimited).
  std::optional<int> of(std::optional<int> allocated) const;
  bool operator==(const BudgetOverride&) const = default;
};

/// What is done by hand to a lane, beside its policy. In a lane's specification the edits follow the policy, each after an '@':
/// `h2o:slots=24@evict=17,20-23,step=12,layers=2,heads=1@slots=40,layers=0-1`.
struct LaneEdits {
  std::vector<WhatIf> what_ifs;         // in order of the text, which is also the order of application within a step
  std::vector<BudgetOverride> budgets;  // of several for one head the last one holds
  bool empty() const { return what_ifs.empty() && budgets.empty(); }
  bool operator==(const LaneEdits&) const = default;
};

/// Where the edits begin in a lane's specification: its size if there are none.
std::size_t edits_begin(std::string_view spec);
/// The part of a specification that names the policy.
std::string policy_part(std::string_view spec);
/// The edits of a specification. Throws UsageError (what, where, expected, got).
LaneEdits edits_of(std::string_view spec);
/// The what-ifs that are on, ordered by step.
std::vector<WhatIf> active_what_ifs(const LaneEdits& edits);
/// Steps [0, result) of two runs of one policy are the same, as far as their edits say; 0 where budgets differ.
int common_steps(const LaneEdits& a, const LaneEdits& b);
/// The text of the same policy with other edits.
std::string with_edits(std::string_view spec, const LaneEdits& edits);

/// One edit without its '@' ("evict=17,step=12"), keys in any order; what it is follows from its keys. Appends to `edits`. where: for
/// messages. Throws UsageError.
void parse_edit(std::string_view text, LaneEdits& edits, const std::string& where);
std::string text_of(const WhatIf& edit);
std::string text_of(const BudgetOverride& edit);
std::string text_of(const LaneEdits& edits);  // with the '@' of each
const char* name_of(WhatIf::Kind kind);       // "pin"

/// Throws UsageError where an edit names a layer or KV head that the model does not have.
void check_edits(const LaneEdits& edits, const ModelConfig& model, const std::string& where);

}  // namespace kvscope
