// SPDX-License-Identifier: Apache-2.0
#include "paths.h"

namespace kvscope {

std::string in_checkout(const std::string& path) { return KVSCOPE_SOURCE_DIR "/" + path; }

}  // namespace kvscope
