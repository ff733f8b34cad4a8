// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/reference.h"

namespace kvscope::test {

/// Like variants(), with activations and caches in half the bytes.
std::vector<Variant> narrow_variants();

}  // namespace kvscope::test
