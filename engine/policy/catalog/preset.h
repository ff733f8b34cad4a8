// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "policy/policy_row.h"

namespace kvscope {

/// A named policy as a preset over parts. words: name, title, paper and idea; what else is empty there the parts say.
/// parts: keys and values of a composition ("stat=pooled,alloc=pyramid"), which is checked like a user's own.
/// keys: those that the policy takes, in the order in which they are shown: one of its parts ("window"), with another default ("sinks=0"),
/// under another name ("beta<pyramid_beta"), or one of `own`.
PolicyRow preset(PolicyInfo words, std::string_view parts, std::string_view keys, std::vector<ParamInfo> own = {});

/// The value of a key, which is there once afterwards.
void set_key(LaneSpec& spec, std::string_view key, std::string_view value);

/// A run of a preset as the composition that it is: its parts, its own defaults, its keys by the names of the parts. Nothing where a policy
/// is none, selects like another one or lets nothing go; a composition as it is. Throws UsageError: an unknown policy.
std::optional<LaneSpec> in_parts(const LaneSpec& spec);

}  // namespace kvscope
