// SPDX-License-Identifier: Apache-2.0
// What a policy may look at, as people are told it: from what its parts need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/catalog.h"
#include "policy/policy.h"
#include "policy/policy_words.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::HasSubstr;

TEST(LooksAt, SaysWhatThePartsNeed) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 8};
  constexpr std::pair<const char*, const char*> cases[] = {
      {"best:slots=9", "coming tokens"},
      {"kvzip:slots=9", "a probe that repeats the prompt"},
      {"snapkv:slots=9", "the end of the prompt, and so a question there"},
      {"finch:slots=9", "a question there"},
      {"noncausal:slots=9", "the queries of the whole prompt"},
      {"tri:slots=9", "the queries of the whole prompt"},
      {"h2o:slots=9", "the attention so far"},
      {"rkv:slots=9", "the end of the prompt"},
      {"knorm:slots=9", "keys and values alone"},
      {"lagkv:slots=9", "keys and values alone"},
      {"streaming:slots=9", "positions alone"},
      {"random:slots=9", "drawn at random"},
      {"kivi", "no token goes"},
      {"quest", "bounds of each page's keys"},
      {"duo:slots=9,fly=1", "prompt"},
  };
  for (const auto& [spec, words] : cases)
    EXPECT_THAT(looks_at(*Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 40})), HasSubstr(words)) << spec;
  constexpr std::pair<const char*, const char*> from_files[] = {
      {"qfilter:slots=9", "a file made for this model (file)"},
      {"kvzap:slots=9", "a file made for this model (file, which scores hidden states)"},
      {"fastkvzip:slots=9", "a file made for this model (file, which scores hidden states)"},
      {"lukv:slots=9", "the queries of the whole prompt; a file made for this model (file)"},
  };
  for (const auto& [spec, words] : from_files) EXPECT_EQ(looks_at(*test::make_policy(spec, model, 40)), words) << spec;
}

}  // namespace
}  // namespace kvscope
