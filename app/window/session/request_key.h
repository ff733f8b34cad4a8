// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope {

struct RunRequest;
class SessionController;

/// Equal for two requests whose steps read the same tokens and choose the next in the same way, whatever runs are asked for. More tokens
/// and more measures change no step that there is, and do not count.
std::string textKey(const RunRequest& request);

/// The same of what is asked of a model: equal only for the same one, wherever it computes.
std::string textKey(const SessionController& controller);

/// Equal for two requests in which nobody chose anything else: views ask for measures by themselves.
std::string workKey(const RunRequest& request);

}  // namespace kvscope
