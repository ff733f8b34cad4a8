// SPDX-License-Identifier: Apache-2.0
#include "policy/text/head_keys.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/policy.h"

namespace kvscope {
namespace {

std::string keys_refusal(const std::string& spec) {
  static const ModelConfig model = [] {
    ModelConfig m;
    m.n_layers = 2, m.n_heads = 4, m.n_kv_heads = 2, m.head_dim = 4;
    return m;
  }();
  try {
    (void)Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 40});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HeadKeys, AKeyNamesItsHeadOrItsLayer) {
  EXPECT_EQ(split_head_key("threshold[L2H13]", "test"), (HeadKey{.key = "threshold", .layer = 2, .kv_head = 13}));
  EXPECT_EQ(split_head_key("threshold[L0]", "test"), (HeadKey{.key = "threshold", .layer = 0, .kv_head = -1}));
  EXPECT_EQ(split_head_key("threshold", "test"), std::nullopt);
  EXPECT_EQ(head_key("threshold", 2, 13), "threshold[L2H13]");
  EXPECT_EQ(head_key("threshold", 2, -1), "threshold[L2]");
}

TEST(HeadKeys, TheyAreKeysOfTheSpecificationLikeOthers) {
  const std::string spec = "keepkv:slots=8,threshold=0.8,threshold[L0]=0.7,threshold[L0H1]=0.6@evict=3,step=2";
  const std::vector<HeadKey> given = given_head_keys(parse_lane_spec(spec));
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0], (HeadKey{.key = "threshold", .value = "0.7", .layer = 0, .kv_head = -1}));
  EXPECT_EQ(given[1].value, "0.6");
  EXPECT_EQ(with_param(spec, "threshold[L0H1]", "0.5"),
            "keepkv:slots=8,threshold=0.8,threshold[L0]=0.7,threshold[L0H1]=0.5@evict=3,step=2");
  EXPECT_EQ(with_param(spec, "threshold[L0]", ""), "keepkv:slots=8,threshold=0.8,threshold[L0H1]=0.6@evict=3,step=2");
  EXPECT_EQ(with_param(spec, "slots", "9"), "keepkv:slots=9,threshold=0.8,threshold[L0]=0.7,threshold[L0H1]=0.6@evict=3,step=2");
  EXPECT_EQ(head_keys_of(parse_lane_spec(spec)), (std::vector<std::string>{"threshold"}));
  EXPECT_EQ(keys_refusal(spec), "accepted");
}

TEST(HeadKeys, WhatIsWrongIsSaid) {
  const auto says = [](const std::string& spec, const std::string& words) {
    EXPECT_NE(keys_refusal(spec).find(words), std::string::npos) << spec << ": " << keys_refusal(spec);
  };
  says("keepkv:slots=8,threshold[L2]=0.6", "expected layers 0 to 1 and KV heads 0 to 1, got threshold[L2]");
  says("keepkv:slots=8,threshold[L0H2]=0.6", "got threshold[L0H2]");
  says("keepkv:slots=8,threshold[H1]=0.6", "expected KEY[L2H1]");
  says("keepkv:slots=8,threshold[L]=0.6", "expected KEY[L2H1]");
  says("keepkv:slots=8,threshold[L99999999999]=0.6", "expected KEY[L2H1]");
  says("keepkv:slots=8,threshold[L-1]=0.6", "expected KEY[L2H1]");
  says("keepkv:slots=8,threshold[L0H1=0.6", "expected KEY[L2H1]");
  says("keepkv:slots=8,threshold[L0H1]=7", "threshold");
  says("keepkv:slots=8,threshold[L0H1]=x", "got 'x'");
  says("keepkv:slots=8,alpha[L0H1]=0.6", "takes for single heads (threshold)");
  says("keepkv:slots[L0H1]=8", "slots");
  says("h2o:slots=8,recent[L0H1]=2", "it takes none");
  says("keepkv:slots=8,treshold[L0H1]=0.6", "unknown key");
  says("keepkv:slots=8,threshold[L0]=0.6,threshold[L0]=0.7", "threshold[L0]");
}

TEST(HeadKeys, DecisionsAreAlikeOnlyWithTheSameValuesInTheSameHeads) {
  ModelConfig model;
  model.n_layers = 2, model.n_heads = 4, model.n_kv_heads = 2, model.head_dim = 4;
  const auto make = [&](const std::string& spec) { return Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 40}); };
  const auto own = make("keepkv:slots=8,threshold[L1H0]=0.6");
  EXPECT_TRUE(own->decides_like(*own->clone()));
  EXPECT_TRUE(own->decides_like(*make("keepkv:slots=8,threshold[L1H0]=0.6")));
  EXPECT_FALSE(own->decides_like(*make("keepkv:slots=8")));
  EXPECT_FALSE(own->decides_like(*make("keepkv:slots=8,threshold[L1H1]=0.6")));
}

}  // namespace
}  // namespace kvscope
