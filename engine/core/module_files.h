// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Where a module that the program opens while it runs may lie: beside the program, where an installation puts it (../lib/kvscope), where
/// it was built. built: its path there.
std::vector<std::string> module_files(std::string_view built);

}  // namespace kvscope
