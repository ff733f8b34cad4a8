// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config.h"
#include "policy/allocations/allocation.h"
#include "policy/catalog.h"
#include "policy/mergers/merger.h"
#include "policy/rankings/ranking.h"
#include "policy/reading/page_reading.h"
#include "policy/selections/selection.h"
#include "policy/storage/storage.h"
#include "policy/text/head_keys.h"
#include "policy/text/named_files.h"
#include "policy/text/params.h"

namespace kvscope {

/// What a part may read when it is made for one lane.
struct PartSetup {
  const Params& params;
  int slots = 0;          // C
  int observed = 0;       // w of the selections that look at the last w queries, 0 elsewhere
  int group = 1;          // query heads per KV head
  bool observes = false;  // as of the row
  std::uint64_t seed = 0;
  const GivenFiles& files;  // that keys name
  const ModelConfig& model;
};

/// When a policy compresses: in every step that is over the budget, only after the prefill (again with refresh=R), or whenever so many
/// tokens have come (every=N; after_prompt=0: not right after the prefill).
enum class Cadence : std::uint8_t { every_step, once, every };

/// One row of the catalog: a named policy as a composition of parts, and the words that people see.
/// A row with bases ranks, selects and allocates like the row that its key `base` names, and brings only the rest (its own selection, if it
/// has one).
struct PolicyRow {
  PolicyInfo info;
  std::string parts, keys;  // of a preset: as given to it
  std::unique_ptr<Ranking> (*ranking)(const PartSetup&) = nullptr;
  std::unique_ptr<Selection> (*selection)(const PartSetup&) = nullptr;
  std::unique_ptr<Allocation> (*allocation)(const PartSetup&) = nullptr;
  std::unique_ptr<Merger> (*merger)(const PartSetup&) = nullptr;
  std::unique_ptr<Storage> (*storage)(const PartSetup&) = nullptr;         // none: keys and values stand as they are
  std::unique_ptr<PageReading> (*reading)(const PartSetup&) = nullptr;     // none: a query reads all slots
  std::shared_ptr<const FeatureMaps> (*maps)(const PartSetup&) = nullptr;  // none: what is evicted is lost
  Bias bias = Bias::none;
  std::string_view vote_factor_key;           // key whose value is the bias's factor; empty: as bias says
  Positions positions = Positions::original;  // unless the key `positions` says otherwise
  Cadence cadence = Cadence::every_step;
  bool observes = false;       // the last w = min(window, floor(C/2)) queries are observed and their slots protected
  bool observes_more = false;  // the observed queries may be more: as long as one other slot has room in the budget
  int (*least_free)(const Params&, int slots) = nullptr;  // slots besides sinks and recent that the budget must have room for; none: 1
  bool has_budget = true;                                 // takes slots, ratio or bytes
  std::string_view key_of_bytes = {};            // without a budget: the key of the storage that bytes stands for; empty: takes no bytes
  std::string_view default_ratio = {};           // budget where neither is given; empty: one of them must be
  bool budget_may_lack = false;                  // neither need be given: what stays is an outcome
  bool takes_group = true;                       // has the key group, with all its choices
  bool reads_attention = true;                   // false: the key group is taken, but nothing changes with it, so nobody is asked for it
  bool whole_layer = false;                      // one decision for all heads of a layer, by the mean of their scores
  bool from_file = false;                        // decides nothing itself: it comes with a file, and is offered nowhere
  bool listed = true;                            // false: exists as a base of other rows only
  std::vector<std::string_view> bases;           // what `base` may name, the default first
  std::vector<std::string_view> own_keys;        // keys that are not taken over from a base
  std::vector<std::string_view> head_keys = {};  // keys that only the merger reads, where it merges one head: they may differ between heads
  std::vector<std::pair<std::string_view, std::string_view>> renamed_keys = {};  // a base's key and its name here
  /// Rows whose keys choose the parts: the row of these keys, without bases. Throws UsageError where the parts do not go together.
  PolicyRow (*compose)(const LaneSpec& given, const std::string& where) = nullptr;
};

/// All rows, in the order of policies(); unlisted ones last.
std::span<const PolicyRow> policy_rows();
/// Throws UsageError listing the known names. With bases: unlisted rows too.
const PolicyRow& find_row(std::string_view name, bool with_bases = false);

/// What a key that wants a file says by default: the file that `kvscope-cli heads` writes for a model, in the model's own folder.
inline constexpr std::string_view kOfModel = "model";

/// What a run's key block=N makes of a policy that frees slots one by one: the composition of its parts that frees whole pages of N
/// tokens, the heads of a layer alike. Nothing where the key is not there, or is the policy's own. Throws UsageError: no such composition.
std::optional<LaneSpec> by_pages(const LaneSpec& spec);

/// The key group, which rows that decide per KV head take.
ParamInfo group_param();

/// A row with its keys for one choice of base.
struct ResolvedRow {
  std::shared_ptr<const PolicyRow> composed;  // where the keys chose the parts
  const PolicyRow* row = nullptr;
  const PolicyRow* selecting = nullptr;  // the base, or the row itself: whose ranking, selection, allocation and protection hold
  std::vector<ParamInfo> params;         // what it takes, the keys of the budget excluded
};
ResolvedRow resolve_row(const PolicyRow& row, std::string_view base);

/// A checked lane specification with all its values.
struct ResolvedLane {
  ResolvedRow parts;
  Params params;                   // the budget included
  std::vector<HeadKey> head_keys;  // in the order of the text
};
/// Throws UsageError.
ResolvedLane resolve_lane(const LaneSpec& spec);

}  // namespace kvscope
