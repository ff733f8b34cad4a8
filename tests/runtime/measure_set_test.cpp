// SPDX-License-Identifier: Apache-2.0
// Measures that are only made when somebody asks for them: theta, hidden_rel_l2, the errors of the predictions.
#include <algorithm>
#include <iostream>
#include <numeric>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

const std::vector<std::string> kMeasuredLanes = {"h2o:slots=12",        "streaming:slots=12", "streaming:slots=12,positions=original",
                                                 "weightedkv:slots=12", "keepkv:slots=12",    "knorm:slots=12"};
constexpr std::size_t kH2o = 1, kCachePositions = 2, kOriginalPositions = 3, kMerging = 4, kPredicting = 5, kKnorm = 6;

RunRequest measured_request(PromptMode mode, const MeasureSet& measures) {
  RunRequest request;
  request.prompt_ids = random_ids(80, 64, 3);
  request.lanes = parse_lane_specs(kMeasuredLanes);
  request.mode = mode;
  request.n_generate = 6;
  request.measures = measures;
  return request;
}

class Measures : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, Measures, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(Measures, ThetaBoundsTheErrorAfterWoWhereTokensAreOnlyEvicted) {
  Session session = open_session(tiny_model());
  const Snapshot s = run(session, measured_request(GetParam(), MeasureSet::all()));
  double nearest = 0;
  int bounds = 0;
  for (const std::size_t lane : {std::size_t{0}, kH2o, kOriginalPositions, kKnorm}) {
    for (const StepPtr& step : s.lanes[lane].steps) {
      for (const HeadRecord& head : step->heads) {
        ASSERT_TRUE(std::isfinite(head.theta)) << s.lanes[lane].spec << " step " << step->step;
        EXPECT_LE(head.local_l1_wo, head.theta * (1 + 1e-9) + 1e-12) << s.lanes[lane].spec << " step " << step->step;
        if (head.attention_loss == 0) continue;
        nearest = std::max(nearest, head.local_l1_wo / head.theta);
        ++bounds;
      }
    }
  }
  EXPECT_GT(bounds, 50);
  std::cout << bounds << " bounds, local_l1_wo at most " << nearest << " of theta\n";
  RecordProperty("largest_local_l1_wo_over_theta", std::to_string(nearest));
  // merged slots and moved positions have no such bound
  for (const std::size_t lane : {kCachePositions, kMerging, kPredicting})
    for (const StepPtr& step : s.lanes[lane].steps)
      for (const HeadRecord& head : step->heads) EXPECT_TRUE(std::isnan(head.theta)) << s.lanes[lane].spec;
}

TEST_P(Measures, HiddenStreamsPartFromTheFirstLayerThatMisses) {
  Session session = open_session(tiny_model());
  const Snapshot s = run(session, measured_request(GetParam(), MeasureSet::all()));
  const auto n_layers = static_cast<std::size_t>(s.model.n_layers);
  for (std::size_t lane = 0; lane < s.lanes.size(); ++lane) {
    bool removed = false;
    for (const StepPtr& step : s.lanes[lane].steps) {
      ASSERT_EQ(step->hidden_rel_l2.size(), n_layers);
      for (const double x : step->hidden_rel_l2) {
        if (removed)
          EXPECT_GT(x, 0) << s.lanes[lane].spec << " step " << step->step;
        else
          EXPECT_EQ(x, 0) << s.lanes[lane].spec << " step " << step->step;
      }
      for (const HeadRecord& head : step->heads) removed = removed || (head.layer == 0 && !head.events.empty());
    }
  }
}

TEST_P(Measures, AgreementIsCountedOverTheFullHistoryInsideTheHeadsBudget) {
  Session session = open_session(tiny_model());
  MeasureSet measures = MeasureSet::none();
  measures.agreement = true;
  RunRequest request = measured_request(GetParam(), measures);
  request.lanes.push_back(parse_lane_spec("adakv:slots=12"));  // budgets of its own in every head
  request.detail = Detail::why;
  const Snapshot s = run(session, request);
  const int group = s.model.group();
  ASSERT_GT(group, 1);
  int n_split = 0;
  for (std::size_t lane = 1; lane < s.lanes.size(); ++lane) {
    for (const StepPtr& step : s.lanes[lane].steps) {
      const std::size_t seen = static_cast<std::size_t>(step->position) + 1;
      for (const HeadRecord& head : step->heads) {
        ASSERT_EQ(head.agreement.size(), seen) << s.lanes[lane].spec << " step " << step->step;
        const auto [least, most] = std::ranges::minmax(head.agreement);
        EXPECT_LE(most, group);
        // each query head ranks as many tokens inside the budget as it has slots
        EXPECT_EQ(std::accumulate(head.agreement.begin(), head.agreement.end(), 0),
                  group * static_cast<int>(std::min<std::size_t>(seen, head.budget)));
        n_split += std::ranges::count_if(head.agreement, [&](int n) { return n > 0 && n < group; }) > 0 ? 1 : 0;
        // what the query heads like best together is inside for at least one of them
        const auto best = std::ranges::max_element(head.reference_attention) - head.reference_attention.begin();
        EXPECT_GE(head.agreement[static_cast<std::size_t>(best)], 1);
      }
    }
  }
  EXPECT_GT(n_split, 20) << "query heads that disagree";
  for (const StepPtr& step : s.lanes[0].steps)
    for (const HeadRecord& head : step->heads) EXPECT_TRUE(head.agreement.empty()) << "no limit to be inside of";
}

TEST_P(Measures, OnlyPredictingPoliciesHaveAPredictorError) {
  Session session = open_session(tiny_model());
  const Snapshot s = run(session, measured_request(GetParam(), MeasureSet::all()));
  for (std::size_t lane = 0; lane < s.lanes.size(); ++lane) {
    for (const StepPtr& step : s.lanes[lane].steps) {
      for (const HeadRecord& head : step->heads) {
        if (lane != kPredicting || step->step == 0)
          EXPECT_TRUE(std::isnan(head.predictor_error) && std::isnan(head.predictor_rel_error));
        else
          EXPECT_TRUE(head.predictor_error > 0 && head.predictor_rel_error > 0) << step->step;
      }
    }
  }
}

TEST_P(Measures, WhatNobodyAskedForIsNotAvailableAndComesWhenAskedFor) {
  Session session = open_session(tiny_model()), fresh = open_session(tiny_model());
  for (const MeasureSet& set : {MeasureSet::none(), MeasureSet{}}) {
    const Snapshot s = run(session, measured_request(GetParam(), set));
    for (const LaneSnapshot& lane : s.lanes) {
      for (const StepPtr& step : lane.steps) {
        EXPECT_TRUE(step->hidden_rel_l2.empty());
        for (const HeadRecord& head : step->heads) {
          EXPECT_TRUE(std::isnan(head.theta) && std::isnan(head.predictor_error));
          EXPECT_EQ(std::isnan(head.local_l1_wo), !set.local);
        }
      }
    }
  }
  const Snapshot all = run(session, measured_request(GetParam(), MeasureSet::all()));
  expect_same_run(all, run(fresh, measured_request(GetParam(), MeasureSet::all())));
  // asking for less computes nothing anew
  const Snapshot less = run(session, measured_request(GetParam(), MeasureSet{}));
  for (std::size_t lane = 0; lane < all.lanes.size(); ++lane) EXPECT_EQ(less.lanes[lane].steps, all.lanes[lane].steps);
}

TEST_P(Measures, AfterTextsPartThereIsNoHiddenError) {
  Session session = open_session(tiny_model());
  RunRequest request = measured_request(GetParam(), MeasureSet::all());
  request.follow = Follow::self;
  request.n_generate = 12;
  const Snapshot s = run(session, request);
  int parted = 0;
  for (const LaneSnapshot& lane : s.lanes) {
    bool same = true;
    for (std::size_t i = 0; i < lane.steps.size(); ++i) {
      for (const double x : lane.steps[i]->hidden_rel_l2) EXPECT_EQ(std::isnan(x), !same) << lane.spec << " step " << i;
      parted += !same;
      same = same && lane.steps[i]->next_token == s.lanes[0].steps[i]->next_token;
    }
  }
  EXPECT_GT(parted, 0);
}

}  // namespace
}  // namespace kvscope
