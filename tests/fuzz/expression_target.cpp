// SPDX-License-Identifier: Apache-2.0
#include "fuzz/expression_target.h"

#include <span>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "policy/text/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kNames[] = {"sum", "age", "knorm"};
  constexpr std::size_t kSlots = 70;  // more than one block of the evaluation
  static const std::vector<double> column(kSlots, 0.5);
  try {
    const kvscope::Expression expression({reinterpret_cast<const char*>(data), size}, kNames);
    KVSCOPE_ASSERT(size <= kvscope::Expression::kLongest);
    const std::span<const double> used(column), unused;
    const std::span<const double> columns[] = {expression.uses(0) ? used : unused, expression.uses(1) ? used : unused,
                                               expression.uses(2) ? used : unused};
    KVSCOPE_ASSERT(expression.evaluate(columns, kSlots).size() == kSlots);
  } catch (const kvscope::UsageError&) {
  }
  return 0;
}
