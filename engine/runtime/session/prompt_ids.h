// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "arch/model_files.h"
#include "runtime/session/run_request.h"

namespace kvscope {

/// Ids of a request's prompt, the start token included. Throws UsageError: nothing to read, ids that the model does not know; PromptTooLong
/// with the beginning that fits.
std::vector<int> prompt_ids(const RunRequest& request, const ModelFiles& model);

}  // namespace kvscope
