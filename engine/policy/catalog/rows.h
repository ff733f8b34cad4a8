// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/policy_row.h"

namespace kvscope {

// The table of named policies, by family; catalog.cpp puts the families one after the other. Unlisted rows are bases of other rows.

std::vector<PolicyRow> position_rows();     // full cache, and what looks at positions only
std::vector<PolicyRow> hindsight_rows();    // references that look at what comes next
std::vector<PolicyRow> score_rows();        // one score per token, in every step
std::vector<PolicyRow> geometry_rows();     // keys, values and the prompt's queries, or whole stretches of text
std::vector<PolicyRow> learned_rows();      // trained or measured for one model, from a file
std::vector<PolicyRow> probing_rows();      // a second look at the full cache, and outcomes instead of budgets
std::vector<PolicyRow> observation_rows();  // scores of the last queries, once after the prompt
std::vector<PolicyRow> merging_rows();      // what is removed goes into other slots
std::vector<PolicyRow> keepkv_rows();       // merging with votes, on several selections
std::vector<PolicyRow> refit_rows();        // what stays gets other weights and values
std::vector<PolicyRow> storing_rows();      // fewer bits instead of fewer slots
std::vector<PolicyRow> pair_rows();         // one policy for the prompt, another for what follows
std::vector<PolicyRow> given_rows();        // decisions of other programs, from a file
std::vector<PolicyRow> custom_rows();       // whose keys choose the parts

}  // namespace kvscope
