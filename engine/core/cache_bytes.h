// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/dtype.h"

namespace kvscope {

/// Keys and values of the full cache after so many tokens, in bytes. A layer with a window holds no more tokens than that.
double full_cache_bytes(const ModelConfig& config, DType precision, int n_tokens);

/// Lengths of text at which people know these models, in units of 1,024 tokens.
inline constexpr std::array kKnownThousands = {8, 32, 128};

/// What the keys and values of one conversation take in a model that people know, in 16 bits.
struct KnownModel {
  std::string key, name;  // in the facts of captions; for people
  std::array<double, kKnownThousands.size()> bytes{};
};
const std::vector<KnownModel>& known_models();

}  // namespace kvscope
