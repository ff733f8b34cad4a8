// SPDX-License-Identifier: Apache-2.0
// What is said of a run holds for every policy of the catalog, whether it has a budget, shares one out, merges, stores otherwise or reads
// fewer: the captions of one's own text, and the reasons of what went.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "app/lessons/lesson.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "paths.h"
#include "policy/catalog.h"
#include "runtime/session/session.h"
#include "viz/reduce/head.h"
#include "viz/reduce/lecture.h"
#include "viz/reduce/slot.h"
#include "viz/reduce/text.h"

namespace kvscope {
namespace {

std::vector<std::string> runs_of_the_catalog() {
  std::vector<std::string> out = {"quest:pages=1,whole=0",
                                  "dms:recent=8",
                                  "dms:recent=8,ratio=0.3",
                                  "h2o:slots=3,sinks=4",
                                  "custom:stat=sum,storage=grouped,ratio=0.3",
                                  "keepkv:ratio=0.15,threshold=-1"};
  for (const PolicyInfo& policy : policies())
    if (policy.name != reference_policy()) out.push_back(policy.name + (policy.takes_budget ? ":ratio=0.15" : ""));
  return out;
}

struct Told {
  const Snapshot& s;
  const LaneSnapshot& run;
  viz::HeadPick pick;
  std::string scene, words;

  bool says(std::string_view part) const { return words.find(part) != std::string::npos; }
  bool whole(const HeadRecord& head) const { return head.n_slots == pick.record->position + 1; }
  bool all_whole() const {
    return std::ranges::all_of(pick.record->heads, [this](const HeadRecord& head) { return whole(head); });
  }
  bool layer_differs() const {
    const std::vector<HeadRecord>& heads = pick.record->heads;
    return std::ranges::adjacent_find(
               heads, [](const HeadRecord& a, const HeadRecord& b) { return a.layer == b.layer && a.pos != b.pos; }) != heads.end();
  }
  std::string where() const {
    return run.spec + ", step " + std::to_string(pick.step) + ", head " + std::to_string(pick.head) + ", " + scene + ": " + words;
  }
};

void expect_true(const Told& t) {
  const HeadRecord& head = *t.pick.values;
  const std::vector<HeadRecord>& heads = t.pick.record->heads;
  const bool first_has_slot = std::ranges::find(head.pos, 0) != head.pos.end(), budgeted = t.run.slots_asked >= 0;
  const bool budgets_alike = std::ranges::all_of(heads, [&](const HeadRecord& other) { return other.budget == head.budget; });
  const auto only_where = [&t](bool holds, std::initializer_list<std::string_view> words) {
    for (const std::string_view part : words) EXPECT_TRUE(holds || !t.says(part)) << t.where();
  };
  only_where(false, {"{", "n/a"});
  only_where(t.all_whole(), {"So does", "keeps every token in every head", "may keep every token", "Nothing has to go"});
  only_where(t.whole(head), {"keeps all of its tokens", "nothing goes here"});
  only_where(budgeted, {"A budget of", "Move the budget", "With a smaller budget", "its budget is that large"});
  only_where(!t.run.statistic.empty(), {"ranks the tokens"});
  only_where(viz::budget_set(t.run, head) >= 0, {"Move the budget", "With a smaller budget"});
  only_where(viz::budget_set(t.run, head) < 0, {"sets it no limit"});
  only_where(t.run.sinks > 0, {"the first and the newest tokens"});
  only_where(head.pooled_tokens == 0, {"gone for good"});
  only_where(t.layer_differs(), {"in each head by itself"});
  only_where(!budgeted, {"No budget", "has no budget"});
  only_where(t.run.sinks == 0, {"its slot is gone", "it must earn its slot"});
  only_where(!first_has_slot, {"its slot is gone"});
  only_where(first_has_slot, {"it must earn its slot", "never removes them"});
  only_where(std::ranges::all_of(heads, [&](const HeadRecord& other) { return other.pos == head.pos; }), {"the same tokens in every head"});
  only_where(budgets_alike, {"For so many tokens a head has room"});
  only_where(!budgets_alike, {"but not for every head"});
}

class EveryPolicy : public testing::TestWithParam<PromptMode> {
 protected:
  EveryPolicy()
      : lesson_(read_lesson(built_in_lessons().front())), session_(open_model(in_checkout("assets/models/kvmini")), {.n_threads = 2}) {
    RunRequest request;
    request.prompt = read_text(in_checkout("assets/prompts/needle.txt"), 1 << 20);
    if (GetParam() == PromptMode::stream) request.prompt.resize(160);  // a step a token
    request.n_generate = 4;
    request.detail = Detail::why;
    request.mode = GetParam();
    request.lanes = parse_lane_specs({"full"});
    for (const std::string& spec : runs_of_the_catalog()) {
      RunRequest one = request;
      one.n_generate = 0;
      one.prompt = "Once upon a time";
      one.lanes.push_back(parse_lane_spec(spec));
      try {
        session_.run(one, CancelToken());
        request.lanes.push_back(one.lanes.back());
      } catch (const Error& error) {
        left_out_.push_back(spec + ": " + error.what());
      }
    }
    s_ = session_.run(request, CancelToken());
  }
  viz::Selection at(std::size_t lane, std::size_t step, std::size_t head) const {
    viz::Selection out;
    out.lane = static_cast<int>(lane), out.step = static_cast<int>(step);
    out.layer = static_cast<int>(head) / s_.model.n_kv_heads, out.kv_head = static_cast<int>(head) % s_.model.n_kv_heads;
    return out;
  }

  void look_at_scenes(const viz::Selection& selection) const {
    const viz::Facts facts = viz::lecture_facts(s_, selection);
    for (const Scene& scene : lesson_.scenes) {
      const Caption caption = caption_of(scene, facts);
      expect_true({s_, s_.lanes[static_cast<std::size_t>(selection.lane)], viz::pick_head(s_, selection), scene.id,
                   caption.message + " " + caption.text});
    }
  }
  /// Of how many tokens there are reasons.
  int look_at_reasons(const viz::Selection& selection) const {
    const viz::HeadPick pick = viz::pick_head(s_, selection);
    int n = 0;
    for (int token = 0; token < s_.n_prompt; token += 7) {
      const viz::Why why = viz::why_of(pick, token);
      if (why.step < 0) continue;
      ++n;
      for (const viz::WhyStep& reason : viz::why_steps(s_, pick, why))
        EXPECT_TRUE(pick.run->slots_asked >= 0 || reason.title.find("allowed") == std::string::npos)
            << pick.run->spec << ": " << reason.title;
    }
    return n;
  }

  Lesson lesson_;
  Session session_;
  Snapshot s_;
  std::vector<std::string> left_out_;
};

TEST_P(EveryPolicy, IsToldTrulyInTheScenesOfOnesOwnTextAndInReasons) {
  EXPECT_LE(left_out_.size(), 12u) << testing::PrintToString(left_out_) << ": of a file, or of a prefill";
  ASSERT_GT(s_.lanes.size(), 40u);
  int n_reasons = 0;
  for (std::size_t lane = 1; lane < s_.lanes.size(); ++lane) {
    const std::size_t n_steps = s_.lanes[lane].steps.size();
    for (std::size_t head = 0; head < s_.lanes[lane].steps.back()->heads.size(); ++head) {
      for (std::size_t step = 0; step < n_steps; step += GetParam() == PromptMode::prefill ? 2 : 11) look_at_scenes(at(lane, step, head));
      if (head % 5 == 0) n_reasons += look_at_reasons(at(lane, n_steps - 1, head));
    }
  }
  EXPECT_GT(n_reasons, 300);
}

INSTANTIATE_TEST_SUITE_P(Of, EveryPolicy, testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "Prefill" : "Stream"; });

}  // namespace
}  // namespace kvscope
