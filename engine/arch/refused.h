// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Why models of a family that is none of the `known` ones do not open, with the reason where models are meant that people have. `what` the
/// name is, for the sentence: a family (of config.json) or an architecture (of a GGUF).
std::string refusal_of(std::string_view what, std::string_view name, const std::vector<std::string>& known);

}  // namespace kvscope
