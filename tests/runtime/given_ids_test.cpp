// SPDX-License-Identifier: Apache-2.0
// given_ids: all lanes are fed the same tokens first, and then follow what the request says.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "policy/catalog.h"
#include "runs.h"
#include "snapshot/figures.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest given_request(Follow follow, std::vector<int> given, int n_generate, PromptMode mode = PromptMode::prefill) {
  RunRequest request;
  request.prompt_ids = random_ids(40, 64, 3);
  request.lanes = parse_lane_specs({"local:slots=6"});
  request.mode = mode;
  request.follow = follow;
  request.given_ids = std::move(given);
  request.n_generate = n_generate;
  return request;
}

std::vector<int> after_prompt(const Snapshot& snapshot, std::size_t lane) {
  std::vector<int> ids = lane_tokens(snapshot, snapshot.lanes[lane]);
  ids.erase(ids.begin(), ids.begin() + snapshot.n_prompt);
  return ids;
}

class GivenIds : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, GivenIds, ::testing::Values(PromptMode::prefill, PromptMode::stream));

TEST_P(GivenIds, AreReadByAllAndThenEachGoesOnByItself) {
  const std::vector<int> given = random_ids(7, 64, 4);
  Session session = open_session(tiny_model());
  const Snapshot got = run(session, given_request(Follow::self, given, 12, GetParam()));
  for (std::size_t l = 0; l < 2; ++l) {
    const std::vector<int> ids = after_prompt(got, l);
    ASSERT_GE(ids.size(), 11u);
    EXPECT_TRUE(std::equal(given.begin(), given.end(), ids.begin())) << l;
    const std::size_t n_prompt_steps = GetParam() == PromptMode::prefill ? 1 : static_cast<std::size_t>(got.n_prompt);
    for (std::size_t i = given.size(); i < ids.size(); ++i)
      EXPECT_EQ(ids[i], got.lanes[l].steps[n_prompt_steps - 1 + i]->top1) << l << " " << i;
  }
  // the same words as a given text: the same numbers
  for (std::size_t l = 0; l < 2; ++l) {
    RunRequest as_file = given_request(Follow::file, {}, -1, GetParam());
    as_file.follow_ids = after_prompt(got, l);
    Session fresh = open_session(tiny_model());
    const Snapshot want = run(fresh, as_file);
    const auto& a = got.lanes[l].steps;
    const auto& b = want.lanes[l].steps;
    for (std::size_t s = 0; s < std::min(a.size(), b.size()); ++s) EXPECT_EQ(a[s]->top1, b[s]->top1) << l << " " << s;
  }
}

TEST(GivenIds, OtherOnesMakeAnotherContinuationOfTheSamePrompt) {
  Session session = open_session(tiny_model());
  run(session, given_request(Follow::reference, random_ids(5, 64, 1), 8));
  const Snapshot again = run(session, given_request(Follow::reference, random_ids(5, 64, 2), 8));
  Session fresh = open_session(tiny_model());
  const Snapshot want = run(fresh, given_request(Follow::reference, random_ids(5, 64, 2), 8));
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_EQ(after_prompt(again, l), after_prompt(want, l));
    EXPECT_EQ(again.lanes[l].steps.back()->kl, want.lanes[l].steps.back()->kl);
  }
}

TEST(GivenIds, OfNoTokenAreRefused) {
  Session session = open_session(tiny_model());
  EXPECT_THROW(run(session, given_request(Follow::self, {64}, 4)), UsageError);
}

}  // namespace
}  // namespace kvscope
