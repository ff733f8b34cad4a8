// SPDX-License-Identifier: Apache-2.0
// The key block=N of runs that free slots one by one: what pages would cost them (POLICIES.md section 4.5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/policy.h"
#include "policy/refusal.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string param(const Policy& policy, const std::string& key) {
  for (const ResolvedParam& p : policy.params())
    if (p.key == key) return p.is_text ? p.text : std::to_string(p.number);
  return "";
}

TEST(ByPages, ARunIsItsPartsWithPagesAsSelection) {
  EXPECT_EQ(parse_lane_spec("snapkv:ratio=0.2,window=8,block=16").text,
            "custom:stat=pooled,sinks=0,ratio=0.2,window=8,block=16,select=pages,unit=layer");
  EXPECT_EQ(parse_lane_spec("knorm:block=4,ratio=0.2@pin=3,step=0").text,
            parse_lane_spec("knorm:block=4,ratio=0.2").text + "@pin=3,step=0");
  EXPECT_EQ(parse_lane_spec("custom:stat=knorm,ratio=0.2,block=8").text, "custom:stat=knorm,ratio=0.2,block=8,select=pages,unit=layer");
  EXPECT_THAT(parse_lane_spec("rkv:slots=30,lambda=0.2,block=8").text, HasSubstr("mix=0.2"));
  EXPECT_EQ(parse_lane_spec("pages:slots=30,block=8").text, "pages:slots=30,block=8") << "it has pages of its own";
  EXPECT_EQ(parse_lane_spec("SnapKVPress:compression_ratio=0.5,block=8").name, "custom");
}

TEST(ByPages, WhatAPolicyAlreadyIsAndWhatHasNoSuchFormIsSaid) {
  EXPECT_THAT(refusal("keepkv:slots=30,block=8"), AllOf(HasSubstr("block"), HasSubstr("keepkv"), HasSubstr("selects as others do")));
  EXPECT_THAT(refusal("kivi:block=8"), HasSubstr("lets no token go"));
  EXPECT_THAT(refusal("adakv:slots=30,block=8"), HasSubstr("alloc"));
  EXPECT_THAT(refusal("dms:block=8"), HasSubstr("select=threshold"));
  EXPECT_THAT(refusal("snapkv:slots=30,block=0"), HasSubstr("block"));
  EXPECT_THAT(refusal("no_such:slots=30,block=8"), HasSubstr("unknown policy"));
}

/// Every policy has the form or a sentence; the form decides for a layer, with the policy's own defaults.
TEST(ByPages, EveryPolicyHasTheFormOrAReason) {
  const ModelConfig model{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8};
  int n = 0, refused = 0;
  for (const PolicyInfo& info : policies()) {
    SCOPED_TRACE(info.name);
    const std::string spec = info.name + (info.takes_budget ? ":ratio=0.4,block=4" : ":block=4");
    if (const std::string reason = refusal(spec); !reason.empty()) {
      EXPECT_THAT(reason, HasSubstr("run")) << reason;
      ++refused;
      continue;
    }
    const LaneSpec parsed = parse_lane_spec(spec);
    if (parsed.name == info.name && !info.keys_follow_choices) continue;
    std::unique_ptr<Policy> paged, plain;
    try {
      plain = Policy::make({.spec = parse_lane_spec(info.name + ":ratio=0.4"), .model = &model, .n_prompt = 60});
      paged = Policy::make({.spec = parsed, .model = &model, .n_prompt = 60});
    } catch (const UsageError&) {
      continue;  // wants a file
    }
    ++n;
    EXPECT_EQ(param(*paged, "sinks"), param(*plain, "sinks"));
    EXPECT_EQ(paged->budget(1, 0), plain->budget(1, 0));
    EXPECT_EQ(param(*paged, "unit"), "layer");
  }
  EXPECT_GE(n, 10);
  EXPECT_GE(refused, 5);
}

}  // namespace
}  // namespace kvscope
