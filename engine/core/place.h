// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace kvscope {

/// A whole number that counts slots, heads or tokens, as the place of an element.
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace kvscope
