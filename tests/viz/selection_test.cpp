// SPDX-License-Identifier: Apache-2.0
#include "viz/selection.h"

#include <gmock/gmock.h>

namespace kvscope::viz {
namespace {

using ::testing::ElementsAre;
using R = TokenRange;

TEST(SelectedTokens, RangesJoinAndStayApart) {
  Selection s;
  toggle_tokens(s, {5, 7});
  toggle_tokens(s, {20, 20});
  EXPECT_EQ(s.tokens, (R{20, 20})) << "the last one is looked at";
  EXPECT_THAT(all_tokens(s), ElementsAre(R{5, 7}, R{20, 20}));
  EXPECT_EQ(n_tokens(s), 4);
  toggle_tokens(s, {7, 9});
  EXPECT_THAT(all_tokens(s), ElementsAre(R{5, 9}, R{20, 20})) << "an overlap is one range";
  EXPECT_TRUE(has_token(s, 20));
  EXPECT_FALSE(has_token(s, 10));
}

TEST(SelectedTokens, WhatIsSelectedLeavesWhenItIsToggledAgain) {
  Selection s;
  s.select({1, 9});
  toggle_tokens(s, {4, 5});
  EXPECT_THAT(all_tokens(s), ElementsAre(R{1, 3}, R{6, 9}));
  toggle_tokens(s, {1, 3});
  toggle_tokens(s, {6, 9});
  EXPECT_FALSE(s.tokens);
  EXPECT_TRUE(s.more_tokens.empty());
}

TEST(SelectedTokens, APlainSelectionTakesThePlaceOfAll) {
  Selection s;
  toggle_tokens(s, {1, 1});
  toggle_tokens(s, {3, 3});
  s.select({8, 8});
  EXPECT_THAT(all_tokens(s), ElementsAre(R{8, 8}));
}

}  // namespace
}  // namespace kvscope::viz
