// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "policy/lane_spec.h"

namespace kvscope {

/// One policy for the prompt and another one for what is generated (POLICIES.md section 4.7).
struct PolicyPair {
  LaneSpec prefill, decode;
};

/// nullopt: the policy of the specification is no pair. Throws UsageError: one of the two is not a policy.
std::optional<PolicyPair> pair_of(const LaneSpec& spec);

}  // namespace kvscope
