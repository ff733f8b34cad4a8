// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/budget_bisection.h"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace kvscope {
namespace {

using State = BudgetBisection::State;
using Answers = std::function<bool(int)>;

/// All that was asked for, in order. raised: no run has fewer slots.
std::vector<int> search(BudgetBisection& bisection, const Answers& answers, int raised = 1) {
  std::vector<int> asked;
  while (const std::optional<int> slots = bisection.next()) {
    asked.push_back(*slots);
    const int held = std::max(raised, *slots);
    bisection.take(held, answers(held));
    if (asked.size() > 64) break;  // it must end by itself
  }
  return asked;
}

TEST(BudgetBisection, FindsEveryBorderToASlot) {
  for (int border = 4; border <= 204; ++border) {
    BudgetBisection bisection(3, 204, 1);
    const auto asked = search(bisection, [border](int slots) { return slots >= border; });
    EXPECT_EQ(bisection.state(), State::found);
    EXPECT_EQ(bisection.slots(), border);
    EXPECT_LE(asked.size(), 10u) << border;
    EXPECT_EQ(asked.size(), bisection.tried().size()) << "none twice";
  }
}

TEST(BudgetBisection, TriesTheMostThenTheLeastThenMiddles) {
  BudgetBisection bisection(2, 10, 1);
  EXPECT_EQ(search(bisection, [](int slots) { return slots >= 5; }), (std::vector<int>{10, 2, 6, 4, 5}));
  EXPECT_EQ(bisection.tried(), (std::map<int, bool>{{2, false}, {4, false}, {5, true}, {6, true}, {10, true}}));
}

TEST(BudgetBisection, EndsAtItsPrecision) {
  BudgetBisection bisection(100, 10000, 50);
  const auto asked = search(bisection, [](int slots) { return slots >= 4321; });
  EXPECT_EQ(bisection.state(), State::found);
  EXPECT_GE(bisection.slots(), 4321);
  EXPECT_LE(bisection.slots(), 4321 + 50);
  EXPECT_LE(asked.size(), 10u);
}

TEST(BudgetBisection, ARunThatDiffersAtTheMostIsAskedNothingElse) {
  BudgetBisection bisection(3, 204, 1);
  EXPECT_EQ(search(bisection, [](int) { return false; }), std::vector<int>{204});
  EXPECT_EQ(bisection.state(), State::never);
  EXPECT_EQ(bisection.slots(), 204);
}

TEST(BudgetBisection, ARunThatAnswersAtTheLeastIsTriedInBetweenToo) {
  BudgetBisection bisection(3, 204, 1);
  EXPECT_EQ(search(bisection, [](int) { return true; }), (std::vector<int>{204, 3, 71, 25, 9}));
  EXPECT_EQ(bisection.state(), State::always);
  EXPECT_EQ(bisection.slots(), 3);
}

/// Few slots may answer by chance: that is no budget from which on it answers.
TEST(BudgetBisection, NoBudgetBelowOneThatIsKnownToDifferIsTheBorder) {
  const Answers lucky = [](int slots) { return slots < 7 || slots >= 63; };
  BudgetBisection bisection(2, 123, 1);
  search(bisection, lucky, 5);
  EXPECT_EQ(bisection.state(), State::found);
  EXPECT_EQ(bisection.slots(), 63);
  BudgetBisection seen(2, 123, 1);
  seen.saw(12, false);
  seen.saw(90, true);
  EXPECT_EQ(search(seen, lucky, 5).size(), 7u) << "neither the least nor what is known";
  EXPECT_EQ(seen.slots(), 63);
  BudgetBisection narrow(2, 123, 1);
  narrow.saw(62, false);
  narrow.saw(63, true);
  EXPECT_EQ(search(narrow, lucky), std::vector<int>{123});
  EXPECT_EQ(narrow.slots(), 63);
}

TEST(BudgetBisection, WithoutMonotonyItIsABorderBetweenTwoThatWereTried) {
  // Answers in islands: whatever it finds answers, and the next lower budget that was tried does not.
  const Answers islands[] = {[](int s) { return s == 204 || (s >= 50 && s < 60) || (s >= 90 && s < 130); },
                             [](int s) { return s >= 100 || (s > 10 && s < 20); }, [](int s) { return s % 2 == 0 && s > 3; }};
  for (const Answers& answers : islands) {
    BudgetBisection bisection(3, 204, 1);
    search(bisection, answers);
    ASSERT_EQ(bisection.state(), State::found);
    const int border = bisection.slots();
    EXPECT_TRUE(answers(border));
    EXPECT_FALSE(answers(border - 1));
    for (const auto& [slots, answer] : bisection.tried())
      EXPECT_EQ(answer, slots >= border) << slots << ": what it says of those below holds";
  }
}

TEST(BudgetBisection, CountsTheSlotsThatARunReallyHad) {
  BudgetBisection always(2, 60, 1);  // the policy needs nine
  search(
      always, [](int) { return true; }, 9);
  EXPECT_EQ(always.state(), State::always);
  EXPECT_EQ(always.slots(), 9) << "not the two that were asked for";
  BudgetBisection found(2, 60, 1);
  const auto asked = search(
      found, [](int slots) { return slots >= 12; }, 9);
  EXPECT_EQ(found.slots(), 12);
  EXPECT_TRUE(found.tried().contains(9));
  for (std::size_t i = 2; i < asked.size(); ++i) EXPECT_GT(asked[i], 9) << "nothing below is tried again";
}

TEST(BudgetBisection, EndsWhereEveryBudgetIsRaisedToTheSame) {
  for (const bool answer : {false, true}) {
    BudgetBisection bisection(1, 5, 1);
    search(
        bisection, [answer](int) { return answer; }, 9);
    EXPECT_EQ(bisection.state(), answer ? State::always : State::never);
    EXPECT_EQ(bisection.slots(), 9);
  }
  // Raised in between, to what is known: it still ends.
  BudgetBisection odd(1, 100, 1);
  for (int n = 0; odd.next(); ++n) {
    ASSERT_LT(n, 10);
    const int asked = *odd.next();
    odd.take(asked > 1 ? 100 : 1, asked > 1);
  }
  EXPECT_EQ(odd.state(), State::found);
  EXPECT_EQ(odd.slots(), 100);
}

TEST(BudgetBisection, ASinglePossibleBudgetIsTriedOnce) {
  BudgetBisection bisection(7, 7, 1);
  EXPECT_EQ(search(bisection, [](int) { return true; }), std::vector<int>{7});
  EXPECT_EQ(bisection.state(), State::always);
  EXPECT_EQ(bisection.slots(), 7);
}

}  // namespace
}  // namespace kvscope
