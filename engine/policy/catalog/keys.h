// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_row.h"

namespace kvscope {

// What the rows of several families are written with: keys as the parser checks them, and makers of parts.

// ---- keys
ParamInfo share_or_count(std::string key, std::string default_text, std::string help, int min = 0, int max = 100'000'000);
/// The first choice is the default.
ParamInfo choice(std::string key, std::vector<std::string> choices, std::string help);
ParamInfo number(std::string key, std::string default_text, double min, double max, std::string help);
ParamInfo sinks(std::string default_text);
ParamInfo recent(std::string default_text);
ParamInfo window(std::string default_text, std::string help, int min);
/// Name of a file.
ParamInfo file(std::string key, std::string default_text, std::string help);
/// Seed of drawn numbers; without a default: the run's.
ParamInfo seed();
/// Key group of rows that count hits (POLICIES.md section 8).
ParamInfo group_of_hits();
/// Of policies that compress once, after the prompt.
ParamInfo refresh();

// ---- parts
/// A part that takes no parameter.
template <class Part, class Base>
std::unique_ptr<Base> plain(const PartSetup&) {
  return std::make_unique<Part>();
}
inline constexpr auto by_position = plain<PositionRanking, Ranking>;
inline constexpr auto by_sum = plain<SumRanking, Ranking>;
inline constexpr auto uniform = plain<UniformAllocation, Allocation>;
inline constexpr auto evict = plain<NoMerger, Merger>;
std::unique_ptr<Selection> top(const PartSetup&);

inline constexpr std::string_view kEvicted = "none: removed tokens are evicted";

}  // namespace kvscope
