// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope {

/// A file or folder of this checkout by its path from the root. Only paths.cpp knows where the checkout stands, so that a compiler cache
/// serves every one.
std::string in_checkout(const std::string& path);

}  // namespace kvscope
