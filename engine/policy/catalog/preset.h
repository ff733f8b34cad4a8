// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "policy/policy_row.h"

namespace kvscope {

/// A named policy as a preset over parts. words: name, title, paper and idea; what else is empty there the parts say.
/// parts: keys and values of a composition ("stat=pooled,alloc=pyramid"), which is checked like a user's own.
/// keys: those that the policy takes, in the order in which they are shown: one of its parts ("window"), with another default ("sinks=0"),
/// under another name ("beta<pyramid_beta"), or one of `own`.
PolicyRow preset(PolicyInfo words, std::string_view parts, std::string_view keys, std::vector<ParamInfo> own = {});

}  // namespace kvscope
