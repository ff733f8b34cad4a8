// SPDX-License-Identifier: Apache-2.0
// Layers with windows of their own, beside layers that policies compress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/catalog.h"
#include "runtime/model/devices.h"
#include "tests/runtime/runs.h"

namespace kvscope {
namespace {

using ::testing::HasSubstr;

constexpr int kWindow = 6;  // of the checkpoints; layer 0 of gemma2 has it, layer 1 has none

std::string folder_of(const std::string& family) { return in_checkout("tests/golden/families/" + family); }

class Windows : public ::testing::TestWithParam<PromptMode> {
 protected:
  static RunRequest request(const std::vector<std::string>& lanes, int n_prompt = 30) {
    return {.prompt_ids = testing::random_ids(n_prompt, 32, 7),
            .lanes = parse_lane_specs(lanes),
            .mode = GetParam(),
            .n_generate = 12,
            .measures = MeasureSet()};
  }
};

const HeadRecord& head(const Snapshot& s, const StepRecord& step, int layer, int h) {
  return step.heads[static_cast<std::size_t>(layer * s.model.n_kv_heads + h)];
}

TEST_P(Windows, AHeadHoldsWhatTheNextTokenSeesWithEveryPolicy) {
  Session session = testing::open_session(folder_of("gemma2"));
  const Snapshot s = testing::run(session, request({"full", "streaming:slots=12", "h2o:slots=10", "keepkv:slots=10", "snapkv:slots=10"}));
  for (const LaneSnapshot& lane : s.lanes) {
    for (const StepPtr& step : lane.steps) {
      for (int h = 0; h < s.model.n_kv_heads; ++h) {
        const HeadRecord& with_window = head(s, *step, 0, h);
        std::vector<int> expected;
        for (int pos = std::max(0, step->position + 2 - kWindow); pos <= step->position; ++pos) expected.push_back(pos);
        EXPECT_EQ(with_window.pos, expected) << lane.spec << " at " << step->position;
        for (const Event& event : with_window.events) EXPECT_EQ(event.kind, Event::Kind::evict) << lane.spec;
        const HeadRecord& global = head(s, *step, 1, h);
        if (lane.policy == "full") {
          EXPECT_EQ(global.n_slots, step->position + 1);
        }
      }
    }
    const StepRecord& last = *lane.steps.back();
    if (lane.policy == "streaming") {
      EXPECT_EQ(head(s, last, 1, 0).n_slots, 12);
    }
  }
}

TEST_P(Windows, WhatLeavesAWindowDoesNoHarm) {
  Session session = testing::open_session(folder_of("gemma2"));
  const Snapshot s = testing::run(session, request({"full", "h2o:slots=10", "h2o:slots=500"}));
  double worst = 0;
  for (const StepPtr& step : s.lanes[1].steps) {
    for (int h = 0; h < s.model.n_kv_heads; ++h) {
      EXPECT_EQ(head(s, *step, 0, h).local_rel_l2, 0) << "at " << step->position;
      EXPECT_EQ(head(s, *step, 0, h).attention_loss, 0);
      worst = std::max(worst, head(s, *step, 1, h).local_rel_l2);
    }
  }
  EXPECT_GT(worst, 1e-3) << "the other layer is compressed";
  for (const StepPtr& step : s.lanes[2].steps) {
    EXPECT_EQ(step->kl, 0) << "a budget that is never reached leaves the full cache's distribution";
    ASSERT_EQ(head(s, *step, 0, 0).reference_attention.size(), static_cast<std::size_t>(step->position + 1));
    double inside = 0, all = 0;
    for (int pos = 0; pos <= step->position; ++pos) {
      const double a = static_cast<double>(head(s, *step, 0, 0).reference_attention[static_cast<std::size_t>(pos)]);
      all += a;
      if (pos > step->position - kWindow) inside += a;
    }
    EXPECT_NEAR(all, 1, 1e-6);
    EXPECT_EQ(inside, all) << "nothing outside the window is attended";
  }
}

TEST_P(Windows, AnEditGivesWhatAFreshRunGives) {
  for (const char* family : {"gemma2", "gemma3_text", "mistral"}) {
    Session session = testing::open_session(folder_of(family));
    RunRequest wanted = request({"full", "h2o:slots=10", "streaming:slots=9"}, 90);
    testing::run(session, wanted);
    wanted.prompt_ids[80] = (wanted.prompt_ids[80] + 1) % 32;
    const Snapshot edited = testing::run(session, wanted);
    Session fresh = testing::open_session(folder_of(family));
    testing::expect_same_run(edited, testing::run(fresh, wanted));
  }
}

TEST_P(Windows, APromptThatBecomesLongIsRotatedAnew) {
  Session session = testing::open_session(folder_of("phi3"));
  for (const int n : {28, 60, 30}) {  // its short table is for 32 tokens
    const RunRequest wanted = request({"full", "streaming:slots=9"}, n);
    Session fresh = testing::open_session(folder_of("phi3"));
    testing::expect_same_run(testing::run(session, wanted), testing::run(fresh, wanted));
  }
}

TEST_P(Windows, ProbesOfAPromptThatIsThereAreRotatedAsIt) {
  Session session = testing::open_session(folder_of("phi3")), fresh = testing::open_session(folder_of("phi3"));
  RunRequest first = request({"full"}, 20), other = request({"full"}, 60), wanted = request({"full", "kvzip:slots=8"}, 20);
  first.mode = wanted.mode = PromptMode::prefill;  // it looks at the whole prompt
  other.mode = PromptMode::stream;                 // which leaves the prompt that was read at once as it is
  testing::run(session, first);
  testing::run(session, other);
  testing::expect_same_run(testing::run(session, wanted), testing::run(fresh, wanted));
}

TEST_P(Windows, EditsByHandStayInsideTheWindow) {
  Session session = testing::open_session(folder_of("gemma2"));
  const int step = GetParam() == PromptMode::prefill ? 4 : 33;
  const std::string at = std::to_string(step);
  const Snapshot s = testing::run(session, request({"full", "h2o:slots=10@restore=3,step=" + at}));
  const StepRecord& record = *s.lanes[1].steps[static_cast<std::size_t>(step)];
  EXPECT_EQ(head(s, record, 0, 0).pos.front(), record.position + 2 - kWindow) << "the model cannot see it";
  EXPECT_TRUE(std::ranges::find(head(s, record, 1, 0).pos, 3) != head(s, record, 1, 0).pos.end());
}

TEST_P(Windows, ABudgetByHandForALayerWithAWindowIsSaidToDoNothing) {
  const auto said = [&](const std::string& lane) {
    Session session = testing::open_session(folder_of("gemma2"));
    const Snapshot s = testing::run(session, request({"full", lane}));
    const std::vector<LaneWarning>& warnings = s.lanes[1].warnings;
    const auto found = std::ranges::find(warnings, LaneWarning::Kind::window_decides, &LaneWarning::kind);
    return found == warnings.end() ? std::pair(0.0, 0.0) : std::pair(found->count, found->asked);
  };
  EXPECT_EQ(said("h2o:slots=12@slots=8,layers=0"), std::pair(1.0, 1.0));
  EXPECT_EQ(said("h2o:slots=12@slots=8,layers=0-1"), std::pair(1.0, 2.0));
  EXPECT_EQ(said("keepkv:slots=12,threshold[L0]=0.6"), std::pair(1.0, 1.0));
  EXPECT_EQ(said("h2o:slots=12@pin=3,layers=0"), std::pair(1.0, 1.0));
  EXPECT_EQ(said("h2o:slots=12@slots=8,layers=1"), std::pair(0.0, 0.0));
  EXPECT_EQ(said("h2o:slots=12@slots=8"), std::pair(0.0, 0.0)) << "of no layer in particular";
}

INSTANTIATE_TEST_SUITE_P(Modes, Windows, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& p) { return p.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST(Devices, SayWhatCudaLacksWhenAModelIsOpened) {
  const auto lacks = [](const char* family) { return beyond_cuda(open_model(folder_of(family))); };
  EXPECT_EQ(lacks("llama3"), "");
  EXPECT_EQ(lacks("qwen3"), "");
  EXPECT_EQ(lacks("mistral"), "layers with windows");
  EXPECT_THAT(lacks("gemma2"), HasSubstr("capped attention logits"));
  EXPECT_THAT(lacks("gemma3_text"), HasSubstr("several tables of rotations"));
  EXPECT_THAT(lacks("granite"), HasSubstr("a scale of the embedding"));
  try {
    choose_backend({.device = "cuda"}, open_model(folder_of("mistral")));
    ADD_FAILURE() << "opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("mistral needs what the CUDA backend does not have (layers with windows); use --device cpu"));
  }
}

}  // namespace
}  // namespace kvscope
