// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "viz/headless.h"

namespace kvscope::viz::testing {

/// find_mark() of one that must be there.
inline const Mark& the_mark(const View& view, std::string_view kind, std::string_view label) {
  const Mark* found = find_mark(view, kind, label);
  EXPECT_NE(found, nullptr) << kind << " " << label;
  static const Mark none{};
  return found == nullptr ? none : *found;
}

}  // namespace kvscope::viz::testing
