// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config.h"
#include "core/head_characters.h"

namespace kvscope {

/// Reads a file of schema kvscope.head_characters/1 for a model of these layers and query heads. Throws Error naming the file and what is
/// wrong: not JSON, another schema, a member missing or of another shape, a number that is not finite, a share outside [0, 1].
HeadCharacters read_head_characters(const std::string& path, const ModelConfig& config);

}  // namespace kvscope
