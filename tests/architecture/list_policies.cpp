// SPDX-License-Identifier: Apache-2.0
// Prints the catalog as JSON, for the tests that compare other files with it.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "policy/catalog.h"
#include "policy/policy_groups.h"

namespace {

/// None: it comes with a file, and lists do not have it.
nlohmann::json group_of(const kvscope::PolicyInfo& policy) {
  if (policy.name == kvscope::given_policy().name) return {};
  for (const kvscope::PolicyGroup& group : kvscope::policy_groups())
    if (std::ranges::find(group.members, policy.name, &kvscope::PolicyInfo::name) != group.members.end()) return group.title;
  return "no group";
}

}  // namespace

int main() {
  nlohmann::json list = nlohmann::json::array();
  std::vector<kvscope::PolicyInfo> all(kvscope::policies().begin(), kvscope::policies().end());
  all.push_back(kvscope::given_policy());
  for (const kvscope::PolicyInfo& policy : all) {
    nlohmann::json keys = nlohmann::json::array();
    for (const kvscope::ParamInfo& param : policy.params) keys.push_back(param.key);
    list.push_back({{"name", policy.name},
                    {"title", policy.title},
                    {"paper", policy.paper},
                    {"idea", policy.idea},
                    {"sees_question", policy.keys_follow_choices ? nlohmann::json() : nlohmann::json(policy.sees_question_in_prefill)},
                    {"group", group_of(policy)},
                    {"keys", keys}});
  }
  std::cout << list.dump(1) << '\n';
}
