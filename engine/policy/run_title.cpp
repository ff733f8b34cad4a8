// SPDX-License-Identifier: Apache-2.0
#include "policy/run_title.h"

#include <algorithm>

#include "core/whole_characters.h"
#include "policy/catalog.h"
#include "policy/policy_pair.h"

namespace kvscope {

namespace {

constexpr const char* kOwnName = "name";

}  // namespace

std::string title_of(const LaneSpec& spec) {
  constexpr std::size_t kLongest = 40;
  if (const std::optional<PolicyPair> pair = pair_of(spec)) return title_of(pair->prefill) + ", then " + title_of(pair->decode);
  const PolicyInfo& info = find_policy(spec.name);
  const std::string key = info.name == given_policy().name ? "run" : info.keys_follow_choices ? kOwnName : "";
  const auto named = std::ranges::find(spec.given, key, &std::pair<std::string, std::string>::first);
  if (key.empty() || named == spec.given.end()) return info.title;
  return shortened(named->second, kLongest);
}

LaneSpec unnamed(const LaneSpec& spec) {
  const bool has_one = std::ranges::find(spec.given, kOwnName, &std::pair<std::string, std::string>::first) != spec.given.end();
  return has_one && find_policy(spec.name).keys_follow_choices ? with_param(spec, kOwnName, "") : spec;
}

}  // namespace kvscope
