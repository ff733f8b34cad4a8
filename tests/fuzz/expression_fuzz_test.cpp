// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: seeds, all their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "fuzz/fuzz_loop.h"
#include "policy/text/expression.h"

namespace {

using kvscope::testing::feed;
using kvscope::testing::feed_changes;
using kvscope::testing::Tally;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = {"sum * knorm / age", "max(sum, 0.5, age) ^ 2 - log(age + 1e-3)",
                                               "-(sum >= 1) * sqrt(abs(age - 3)) + exp(-knorm)", "((((sum))))^-age^2",
                                               "min(1,min(2,min(3,sum)))"};
  return all;
}

TEST(FuzzExpression, SurvivesEveryPieceOfTheSeeds) {
  for (const std::string& seed : seeds())
    for (std::size_t from = 0; from < seed.size(); ++from)
      for (std::size_t length = 0; from + length <= seed.size(); ++length) feed(seed.substr(from, length));
}

std::string changed(std::string text, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  constexpr std::string_view kSigns = "+-*/^()<>=!,. 0123456789esumagknor";
  for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = kSigns[below(kSigns.size())];
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(20)));
        break;
      default:
        text.erase(at, 1 + below(5));
    }
  }
  return text;
}

TEST(FuzzExpression, SurvivesRandomChangesOfTheSeeds) {
  const auto read = [](const std::string& text) {
    constexpr std::string_view kNames[] = {"sum", "age", "knorm"};
    const kvscope::Expression taken(text, kNames);
  };
  const Tally tally = feed_changes(seeds(), 30000, changed, read);
  EXPECT_GT(tally.accepted, 300);
  EXPECT_GT(tally.refused, 10000);
}

}  // namespace
