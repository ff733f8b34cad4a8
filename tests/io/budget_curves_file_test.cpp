// SPDX-License-Identifier: Apache-2.0
// Budgets of heads for every share: what is read, and what is refused in which words.
#include "io/trained/budget_curves_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "io/safetensors_builder.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class BudgetCurvesFile : public testing::Test {
 protected:
  /// F16 numbers, all of the two bytes.
  std::string write(const std::string& name, const std::string& shape, std::size_t n, const std::string& number) {
    std::string data;
    for (std::size_t i = 0; i < n; ++i) data += number;
    return folder.write("c.safetensors", test::safetensors(R"({")" + name + R"(":{"dtype":"F16","shape":)" + shape +
                                                               R"(,"data_offsets":[0,)" + std::to_string(2 * n) + "]}}",
                                                           0) +
                                             data);
  }
  std::string refusal(const std::string& path) {
    try {
      read_budget_curves(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  const std::string half{"\x00\x38", 2};
  const test::TempFolder folder;
};

TEST_F(BudgetCurvesFile, HoldsAShareOfEveryHeadForEveryShareOfAll) {
  const BudgetCurves curves = read_budget_curves(write("budget_curves", "[99,3,2]", 594, half));
  EXPECT_EQ(curves.n_layers, 3);
  EXPECT_EQ(curves.n_kv_heads, 2);
  EXPECT_THAT(curves.numbers, Each(0.5));
  EXPECT_EQ(curves.removed(99, 2).data() + 2, curves.numbers.data() + curves.numbers.size());
  EXPECT_EQ(curves.removed(1, 1).data(), curves.numbers.data() + 2);
}

TEST_F(BudgetCurvesFile, WhatIsWrongSaysWhat) {
  EXPECT_THAT(refusal(write("curves", "[99,1,1]", 99, half)),
              AllOf(HasSubstr("c.safetensors"), HasSubstr("expected a tensor budget_curves of F64, F32, F16 or BF16, got no such tensor")));
  EXPECT_THAT(refusal(write("budget_curves", "[98,1,1]", 98, half)), HasSubstr("expected [99, layers, KV heads], got [98, 1, 1]"));
  EXPECT_THAT(refusal(write("budget_curves", "[99,2]", 198, half)), HasSubstr("got [99, 2]"));
  EXPECT_THAT(refusal(write("budget_curves", "[99,0,2]", 0, half)), HasSubstr("got [99, 0, 2]"));
  EXPECT_THAT(refusal(write("budget_curves", "[99,1,1]", 99, {"\x00\x40", 2})), HasSubstr("expected shares from 0 to 1, got 2 at place 0"));
  EXPECT_THAT(refusal(write("budget_curves", "[99,1,1]", 99, {"\x00\xb8", 2})), HasSubstr("got -0.5 at place 0"));
  EXPECT_THAT(refusal(write("budget_curves", "[99,1,1]", 99, {"\x00\x7e", 2})), HasSubstr("expected finite numbers, got nan"));
  EXPECT_THROW(read_budget_curves(folder.path() + "/nowhere"), Error);
}

}  // namespace
}  // namespace kvscope
