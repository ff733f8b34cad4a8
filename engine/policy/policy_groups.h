// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/catalog.h"

namespace kvscope {

/// Policies of one kind, under the title that the README's tables have.
struct PolicyGroup {
  std::string title;
  std::vector<const PolicyInfo*> members;
};

/// Every policy that can be chosen, once; the reference first.
std::span<const PolicyGroup> policy_groups();

}  // namespace kvscope
