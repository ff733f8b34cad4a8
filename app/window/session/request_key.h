// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope {

struct RunRequest;

/// Equal for two requests whose steps read the same tokens and choose the next in the same way, whatever runs are asked for. More tokens
/// and more measures change no step that there is, and do not count.
std::string textKey(const RunRequest& request);

/// Equal for two requests in which nobody chose anything else: views ask for measures by themselves.
std::string workKey(const RunRequest& request);

}  // namespace kvscope
