// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope {

/// A file or folder of assets/ by its path in there, "models/kvmini": of the installed program (../share/kvscope beside it), else of the
/// checkout that it was built from. No promise that it exists.
std::string asset(const std::string& path);

}  // namespace kvscope
