// SPDX-License-Identifier: Apache-2.0
// A policy whose evicted tokens live on in sums: which maps it takes, and what its base decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const ModelConfig kMapsModel{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 4, .dim = 16};

std::string maps_refusal(const std::string& text, const GivenFiles& files) {
  try {
    Policy::make({.spec = parse_lane_spec(text), .model = &kMapsModel, .n_prompt = 40, .files = files});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

GivenFiles files_for(const ModelConfig& model) {
  GivenFiles files;
  files.maps = test::maps_for(model);
  return files;
}

TEST(FeatureMapsOfAPolicy, AreThoseOfItsBase) {
  FeatureMapsFile file = *test::maps_for(kMapsModel);
  file.sets.at("streaming").width = 1;
  GivenFiles files;
  files.maps = std::make_shared<const FeatureMapsFile>(file);
  for (const std::string base : {"h2o", "streaming"}) {
    const LaneSpec spec = parse_lane_spec("less:slots=8,base=" + base);
    const auto policy = Policy::make({.spec = spec, .model = &kMapsModel, .n_prompt = 40, .files = files});
    ASSERT_NE(policy->maps(), nullptr);
    EXPECT_EQ(policy->maps()->width, base == "h2o" ? 2 : 1);
    EXPECT_EQ(policy->positions(), Positions::original) << base;
    EXPECT_FALSE(policy->evict_only()) << "something speaks for what is gone";
    EXPECT_EQ(policy->sinks(), base == "h2o" ? 0 : 4);
  }
  EXPECT_EQ(test::make_policy("h2o:slots=8", kMapsModel, 40)->maps(), nullptr);
  EXPECT_THROW(parse_lane_spec("less:slots=8,base=streaming,positions=cache"), UsageError) << "the sums hold keys as they were rotated";
}

TEST(FeatureMapsOfAPolicy, MustFitTheModelAndTheBase) {
  EXPECT_THAT(maps_refusal("less:slots=8", {}), HasSubstr("maps: expected a safetensors file"));
  ModelConfig wider = kMapsModel;
  wider.head_dim = 8;
  EXPECT_THAT(maps_refusal("less:slots=8", files_for(wider)), AllOf(HasSubstr("expected feature maps [2 layers, 2 KV heads, 4]"),
                                                                    HasSubstr("got [2, 2, 8]: they are trained for one model")));
  FeatureMapsFile file = *test::maps_for(kMapsModel);
  file.sets.erase("streaming");
  GivenFiles files;
  files.maps = std::make_shared<const FeatureMapsFile>(file);
  EXPECT_EQ(maps_refusal("less:slots=8", files), "");
  EXPECT_THAT(maps_refusal("less:slots=8,base=streaming", files),
              HasSubstr("expected feature maps for base=streaming, got those for 'h2o'"));
}

}  // namespace
}  // namespace kvscope
