// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/lane_spec.h"

namespace kvscope {

/// What is in a file that a key of a run names: a number of every head, of every KV head a vector or feature maps, what scores hidden
/// states, budgets of heads for every share, or kept tokens.
enum class FileHolds : std::uint8_t { numbers, vectors, maps, scorer, curves, kept };

/// One key of a policy, as the parser checks it, the help prints it and the window's form draws it.
struct ParamInfo {
  enum class Kind { count_or_fraction, count, number, choice, text };
  std::string key;
  Kind kind = Kind::count_or_fraction;
  std::string default_text;          // "" where it must be given or depends on the run
  double min = 0, max = 0;           // numbers and counts; for fractions 0..1 (or more) applies to the count
  bool odd = false;                  // count: only odd numbers
  bool of_question = false;          // count: tokens of the question at the end of the prompt
  std::vector<std::string> choices;  // choice; text: words that stand beside a number from min to max, empty: any text
  std::string help;                  // one line, with unit
  std::string why = {};              // said with a refused value: why there are no more
  std::vector<std::pair<std::string, std::string>> described = {};  // choices, or words a text may hold, with one line each
  std::string file_of_model = {};             // text: names a file about the heads (text/named_files.h); the one that a model may bring
  FileHolds file_holds = FileHolds::numbers;  // that file; kept: names one (core/kept_file.h) that no model brings
  std::string file_source = {};               // where one comes from: said where the model has none
  std::string without_file = {};  // the value that needs none, and what holds where the model brings none; empty: there is no such value
  std::string only_with = {};     // "stat=mean, merge=none": the choices that bring this key; empty: always there
  bool operator==(const ParamInfo&) const = default;
};

/// One named policy: identity for people and the parameters it takes. What it does is in catalog/*.cpp, as a composition of parts.
struct PolicyInfo {
  std::string name;     // "keepkv"
  std::string title;    // "KeepKV"
  std::string paper;    // "KeepKV, arXiv:2504.09936"
  std::string idea;     // one line
  std::string ranking;  // words for the policy card: "mean attention of the last 32 queries"
  std::string merging;  // words for the policy card: "cosine >= threshold, else evicted"; "none: removed tokens are evicted"
  std::string
      statistic;  // name of the policy's own statistic as shown in the inspector: "EMA share", "accumulated attention", ...; "" none
  bool sees_question_in_prefill = false;  // selection looks at the last prompt queries
  std::vector<ParamInfo> params;          // without those of the budget; with the keys of every base and every choice it can have
  bool takes_budget = true;               // one of slots, ratio and bytes
  bool takes_bytes = true;                // also without a budget: of what lets nothing go, but stores it in less
  std::string computed;                   // where and how, if that is to be known; empty: as the backend does it
  bool keys_follow_choices = false;       // only params_of() says which of them a specification takes
};

/// All named policies of this build that can be chosen, in the order of the README's table.
std::span<const PolicyInfo> policies();
/// The one that comes with a file instead (core/kept_file.h), and its run of this name in a file.
const PolicyInfo& given_policy();
std::string given_spec(const std::string& file, const std::string& run);
/// A run that ranks by a formula of the user's own, until one is written by its default, with room for so many slots a head.
std::string own_score_spec(int slots);
/// Throws UsageError listing the known names.
const PolicyInfo& find_policy(std::string_view name);

/// Specification of the uncompressed cache, against which every lane is measured ("full").
const std::string& reference_policy();

/// A run written in the words of kvpress 0.5.5, in our own (POLICIES.md section 9): the names of its presses, as its classes and as its
/// evaluation call them, their arguments as keys, and `compression_ratio`, the share removed, which every policy takes. Edits stay as they
/// are. Nothing where there is no such word in it. Throws UsageError: an argument that the press does not have or that has no counterpart.
std::optional<std::string> in_own_words(std::string_view spec);

/// In our own words or in kvpress's; the result has our own. Keys checked against the catalog, values against their ranges. Throws
/// UsageError (what, where, expected, got).
LaneSpec parse_lane_spec(std::string_view text);
/// "a:x=1,y=2,b" -> "a:x=1,y=2", "b": a list of policies, whose own commas may stand between its parts, in quotes or in brackets.
std::vector<std::string> split_policies(std::string_view text);
std::vector<LaneSpec> parse_lane_specs(const std::vector<std::string>& texts);
/// The same check of a value that with_param() made. Throws UsageError.
void check_lane_spec(const LaneSpec& spec);
/// What such a message says of a key, without the run and the key before it, for where these are seen; whole where it is of something else.
std::string reason_for(std::string_view key, std::string_view message);
/// Of a stored result, which another build may have made: where this one cannot read it, its text without a name.
LaneSpec lane_spec_of_result(std::string_view text);
/// The keys that a lane takes, those of its budget excluded: where a policy selects like a base, those of the base it was given.
std::vector<ParamInfo> params_of(const LaneSpec& spec);
/// Words and keys of the policy of a specification; where its keys choose the parts, those of this choice.
PolicyInfo info_of(const LaneSpec& spec);
/// The same of a stored result's policy and specification, as far as this build knows them.
std::optional<PolicyInfo> info_of_result(std::string_view policy, std::string_view spec);
/// The same run, where the last n_tokens of the prompt are its question. Nothing where its policy does not ask how long that is.
std::optional<LaneSpec> with_question(const LaneSpec& spec, int n_tokens);
/// True of slots, ratio and bytes: the keys that say how large a run's cache may be.
bool is_budget_key(std::string_view key);
/// A specification with one key set (or removed when value is empty); the keys of the budget replace each other. Where keys choose parts,
/// the keys of a part that is not chosen any more go. Only this key is checked. Throws UsageError.
LaneSpec with_param(const LaneSpec& spec, std::string_view key, std::string_view value);
/// The same of a text, of which only the name need be there.
std::string with_param(std::string_view spec, std::string_view key, std::string_view value);

}  // namespace kvscope
