// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kvscope {

/// The whole prompt at once and then one compression, or token by token under the budget.
enum class PromptMode : std::uint8_t { prefill, stream };

}  // namespace kvscope
