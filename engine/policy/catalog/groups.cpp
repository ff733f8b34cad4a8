// SPDX-License-Identifier: Apache-2.0
// Who looks for a policy looks among its kind: the tables of the README and the lists of the window.
#include "policy/policy_groups.h"

#include <sstream>

namespace kvscope {
namespace {

struct Group {
  const char* title;
  const char* names;
};

constexpr Group kGroups[] = {
    {"Baselines and position", "full local random streaming lm_infinite duo best"},
    {"Eviction by keys or attention",
     "knorm keydiff h2o scissorhands roco tova snapkv lagkv leverage noncausal compactor cur expected qfilter kvzap dropkv tri rkv finch chunkkv "
     "pages kvzip fastkvzip dms criticalkv"},
    {"Budgets that differ by layer or head", "pyramidinfer pyramidkv adakv headkv lukv"},
    {"Merging", "cam d2o kvmerger weightedkv zeromerge keepkv refit less"},
    {"Every token stays", "kivi turboquant think quest"},
    {"Put together from others", "prefill_decode custom"},
};

std::vector<PolicyGroup> make_groups() {
  std::vector<PolicyGroup> groups;
  for (const Group& kind : kGroups) {
    groups.push_back({kind.title, {}});
    std::istringstream names(kind.names);
    for (std::string name; names >> name;) groups.back().members.push_back(&find_policy(name));
  }
  return groups;
}

}  // namespace

std::span<const PolicyGroup> policy_groups() {
  static const std::vector<PolicyGroup> groups = make_groups();
  return groups;
}

}  // namespace kvscope
