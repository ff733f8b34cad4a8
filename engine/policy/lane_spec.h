// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/text/lane_edits.h"

namespace kvscope {

/// What a run is asked to be, `name[:key=value[,key=value]...][@edit]...`, as a value: parsed once where it comes in (an argument, a file,
/// a form; parse_lane_spec() in catalog.h) and passed on as it is. A value with commas stands in double quotes: `key="a, b"`.
struct LaneSpec {
  std::string text;                                             // as it was written: results name the run by it
  std::string name;                                             // of the policy; empty: one that this build does not know
  std::vector<std::pair<std::string, std::string>> given = {};  // keys and values in the order of the text, without quotes
  LaneEdits edits = {};                                         // what is done by hand
  bool operator==(const LaneSpec&) const = default;
};

/// What a key was given; empty: nothing.
inline std::string given_value(const LaneSpec& spec, std::string_view key) {
  const auto found = std::ranges::find(spec.given, key, &std::pair<std::string, std::string>::first);
  return found == spec.given.end() ? std::string() : found->second;
}
/// The same policy with the same values.
inline bool same_policy(const LaneSpec& a, const LaneSpec& b) { return a.name == b.name && a.given == b.given; }
/// Steps [0, result) of both are the same, as far as their specifications say; 0 where policies or budgets differ.
inline int common_steps(const LaneSpec& a, const LaneSpec& b) { return same_policy(a, b) ? common_steps(a.edits, b.edits) : 0; }
/// The same policy with other edits.
LaneSpec with_edits(const LaneSpec& spec, const LaneEdits& edits);

}  // namespace kvscope
