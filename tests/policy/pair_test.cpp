// SPDX-License-Identifier: Apache-2.0
// Two policies in one run: which go together, and how they are shown.
#include "policy/policy_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/policy.h"
#include "policy/run_title.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const ModelConfig kPairModel = test::tiny_model(2, 2, 2);

std::unique_ptr<Policy> pair_of(const std::string& spec, PromptMode mode = PromptMode::prefill) {
  return Policy::make({.spec = parse_lane_spec(spec), .model = &kPairModel, .n_prompt = 100, .mode = mode});
}
std::string pair_refusal(const std::string& spec, PromptMode mode = PromptMode::prefill) {
  try {
    pair_of(spec, mode);
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

TEST(PolicyPair, EachHalfHasItsOwnKeysAndBudget) {
  const std::unique_ptr<Policy> first = pair_of(R"(prefill_decode:prefill="snapkv:slots=40,window=8",decode="h2o:slots=20,recent=4")");
  ASSERT_NE(first->next(), nullptr);
  const Policy& second = *first->next();
  EXPECT_EQ(second.next(), nullptr);
  EXPECT_EQ(first->budget(0, 0), 40);
  EXPECT_EQ(second.budget(0, 0), 20);
  EXPECT_EQ(second.recent(0, 0), 4);
  EXPECT_FALSE(first->every_step());
  EXPECT_TRUE(second.every_step());
  EXPECT_TRUE(first->info().sees_question_in_prefill && second.info().sees_question_in_prefill);
  EXPECT_FALSE(pair_of(R"(prefill_decode:prefill=full,decode="h2o:slots=20")")->info().sees_question_in_prefill);
  EXPECT_THAT(first->info().ranking, HasSubstr("prefill: "));
  EXPECT_THAT(second.info().ranking, HasSubstr("decode: "));
}

TEST(PolicyPair, IsOneRunByNameAndParameters) {
  const std::unique_ptr<Policy> first = pair_of(R"(prefill_decode:prefill="snapkv:slots=40",decode=h2o:ratio=0.2)");
  for (const Policy* half : {static_cast<const Policy*>(first.get()), first->next()}) {
    EXPECT_EQ(half->name(), "prefill_decode");
    const std::vector<ResolvedParam> params = half->params();
    ASSERT_EQ(params.size(), 3u) << "with group, and nothing that the pair does not take";
    EXPECT_EQ(params[0].key + '=' + params[0].text, "prefill=snapkv:slots=40");
    EXPECT_EQ(params[1].key + '=' + params[1].text, "decode=h2o:ratio=0.2");
  }
  EXPECT_EQ(title_of(parse_lane_spec("prefill_decode")), "SnapKV, then H2O");
  EXPECT_EQ(title_of(parse_lane_spec("prefill_decode:prefill=knorm:ratio=0.5")), "Key norm, then H2O");
}

TEST(PolicyPair, IsRefusedWhereTheTwoDoNotGoTogether) {
  EXPECT_EQ(pair_refusal("prefill_decode"), "");
  EXPECT_EQ(pair_refusal(R"(prefill_decode:prefill=full,decode="custom:stat=knorm,cadence=every,every=4,after_prompt=0,slots=9")"), "");
  EXPECT_THAT(pair_refusal("prefill_decode:prefill=keepkv:slots=9"),
              AllOf(HasSubstr("prefill: expected a policy that only evicts"), HasSubstr("keepkv")));
  EXPECT_THAT(pair_refusal("prefill_decode:prefill=kivi"), HasSubstr("stores or reads keys and values otherwise"));
  EXPECT_THAT(pair_refusal("prefill_decode:decode=quest"), HasSubstr("stores or reads"));
  EXPECT_THAT(pair_refusal("prefill_decode:decode=snapkv:slots=9"), HasSubstr("compresses only after the prompt"));
  EXPECT_EQ(pair_refusal(R"(prefill_decode:decode="snapkv:slots=9,refresh=2")"), "");
  EXPECT_THAT(pair_refusal("prefill_decode:decode=full"), HasSubstr("full, which never compresses"));
  EXPECT_THAT(pair_refusal("prefill_decode:decode=expected:slots=9"), HasSubstr("looks at the whole prompt"));
  EXPECT_THAT(pair_refusal("prefill_decode:decode=tri:slots=9"), HasSubstr("looks at the whole prompt"));
  EXPECT_THAT(pair_refusal("prefill_decode:decode=best:slots=9"), HasSubstr("looks ahead"));
  EXPECT_THAT(pair_refusal("prefill_decode:prefill=streaming:slots=9"), HasSubstr("agree where keys stand"));
  EXPECT_EQ(pair_refusal("prefill_decode:prefill=streaming:slots=9,decode=streaming:slots=7"), "");
  EXPECT_THAT(pair_refusal("prefill_decode:prefill=knorm:slots=20,decode=tova:slots=9"), HasSubstr("decides for a layer as a whole"));
  EXPECT_EQ(pair_refusal("prefill_decode:prefill=tova:slots=20,decode=tova:slots=9"), "");
  EXPECT_EQ(pair_refusal("prefill_decode:prefill=full,decode=tova:slots=9"), "");
  EXPECT_THAT(pair_refusal("prefill_decode", PromptMode::stream), HasSubstr("expected prompt mode prefill"));
  EXPECT_THAT(pair_refusal("prefill_decode:prefill=nobody:slots=9"), AllOf(HasSubstr("prefill: "), HasSubstr("unknown policy")));
  EXPECT_THAT(pair_refusal(R"(prefill_decode:decode="h2o:slots=9@pin=3")"), HasSubstr("no edits by hand inside"));
  EXPECT_EQ(pair_refusal("prefill_decode:decode=h2o:slots=9@pin=3"), "") << "behind the pair it is the run's";
  EXPECT_THAT(pair_refusal("prefill_decode:prefill=prefill_decode"), HasSubstr("expected one policy"));
  EXPECT_THAT(pair_refusal("prefill_decode:slots=9"), HasSubstr("unknown key"));
}

}  // namespace
}  // namespace kvscope
