// SPDX-License-Identifier: Apache-2.0
// What scores are made of, as records keep it: the numbers of every slot give its score by the run's equation (POLICIES.md section 4).
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

using Parts = std::map<std::string, double>;

struct Case {
  const char* spec;
  std::function<double(const Parts&)> score;  // none: only the parts are looked at
  bool of_a_stretch = false;                  // what lies outside has none
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"rkv:slots=20,window=4,lambda=0.3", [](const Parts& p) { return 0.3 * p.at("importance") - 0.7 * p.at("redundancy"); }},
      {"expected:slots=20,eps=0.1", [](const Parts& p) { return (p.at("share") + 0.1) * p.at("‖v‖"); }},
      {"expected:slots=20,cov=0,vnorm=0", [](const Parts& p) { return p.at("share"); }},
      {"custom:stat=expected,alloc=ada,slots=20", [](const Parts& p) { return p.at("share") * p.at("‖v‖"); }},
      {"compactor:slots=20,sinks=2,recent=2,sketch=0", [](const Parts& p) { return p.at("blend") * p.at("leverage") + p.at("attention"); }},
      {"criticalkv:slots=20,window=4,eps=0.01", [](const Parts& p) { return (p.at("A") + 0.01) * p.at("ν"); }},
      {"tri:slots=20,zscore=0", [](const Parts& p) { return p.at("turned") + p.at("spread"); }},
      {"custom:score=\"sum / age ^ 0.5 + vnorm\",slots=20",
       [](const Parts& p) { return p.at("sum") / std::sqrt(p.at("age")) + p.at("vnorm"); }},
      {"roco:slots=20", [](const Parts& p) { return p.at("Σ attention") / p.at("queries"); }},
      {"snapkv:slots=20,window=4,kernel=1", [](const Parts& p) { return p.at("its own"); }},
      {"snapkv:slots=20,window=4,kernel=5", nullptr},
      {"lagkv:slots=20,lag=8", nullptr},
      {"lagkv:slots=20,lag=8,cross=1", [](const Parts& p) { return (p.at("keys") + p.at("values")) / 2; }, /*of_a_stretch=*/true},
      {"cur:slots=20", [](const Parts& p) { return p.at("‖k‖² share") * p.at("‖v‖² share") / p.at("sum of all"); }},
      {"leverage:slots=20", nullptr},
      {"noncausal:slots=20", [](const Parts& p) { return (p.at("mean of three") - p.at("layer's mean")) / p.at("deviation"); }},
      {"dropkv:slots=20,window=4", nullptr},
      {"fastkvzip:slots=20,local=0,recent=1", [](const Parts& p) { return p.at("gate"); }},
  };
  return all;
}

/// The parts of the slot of `pos`; empty where it has none.
Parts parts_of(const HeadRecord& head, int pos) {
  Parts out;
  const auto place = std::ranges::find(head.parts.pos, pos) - head.parts.pos.begin();
  for (const ScoreParts::Part& part : head.parts.parts)
    if (const float value = part.values.at(static_cast<std::size_t>(place)); std::isfinite(value)) out[part.name] = value;
  return out;
}

TEST(ScoreParts, TokensWhoseQueriesAreObservedHaveNoneWhereNotAllHaveRoom) {
  for (const char* spec :
       {"dropkv:slots=10,window=16", "snapkv:slots=10,window=16,whole_window=1", "adakv:slots=10,window=16,whole_window=1"}) {
    SCOPED_TRACE(spec);
    Session session = open_session(tiny_model());
    RunRequest request;
    request.prompt_ids = random_ids(60, 64, 3);
    request.lanes = {parse_lane_spec(spec)};
    const LaneSnapshot lane = run(session, request).lanes.back();
    for (const LaneWarning& warning : lane.warnings) EXPECT_NE(warning.kind, LaneWarning::Kind::nan_scores) << warning.count;
    for (const HeadRecord& head : lane.steps.front()->heads) {
      ASSERT_EQ(head.parts.pos.size(), 44u) << "the 16 newest rank these";
      EXPECT_EQ(head.parts.pos.back(), 43);
      EXPECT_EQ(head.pos.front(), 50) << "and of them the newest have room";
      for (const Event& event : head.events) EXPECT_EQ(std::isnan(event.score), event.pos >= 44) << event.pos;
    }
  }
}

TEST(ScoreParts, GiveTheScoreOfWhatStayedAndOfWhatWentByTheEquation) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.spec);
    Session session = open_session(tiny_model());
    RunRequest request;
    request.prompt_ids = random_ids(60, 64, 3);
    request.lanes = {parse_lane_spec(c.spec)};
    const Snapshot out = run(session, request);
    const LaneSnapshot& lane = out.lanes.back();
    EXPECT_FALSE(lane.score_equation.empty());
    int n_kept = 0, n_gone = 0;
    for (const HeadRecord& head : lane.steps.front()->heads) {
      ASSERT_EQ(head.parts.pos.size(), 60u);
      for (const ScoreParts::Part& part : head.parts.parts) {
        ASSERT_EQ(part.values.size(), 60u) << part.name;
        EXPECT_NE(lane.score_equation.find(part.name.substr(0, part.name.find(" share"))), std::string::npos)
            << part.name << " is not in: " << lane.score_equation;
      }
      const auto same = [&](int pos, double score) {
        const Parts parts = parts_of(head, pos);
        if ((!c.score || c.of_a_stretch) && parts.empty()) return;  // of a stretch that is not ranked
        ASSERT_FALSE(parts.empty()) << pos;
        if (c.score) {
          EXPECT_NEAR(c.score(parts), score, 2e-6 * std::max(1.0, std::abs(score))) << pos;
        }
      };
      for (std::size_t i = 0; i < head.pos.size(); ++i)
        if (!std::isnan(head.score[i])) same(head.pos[i], head.score[i]), ++n_kept;
      for (const Event& event : head.events) same(event.pos, event.score), ++n_gone;
    }
    EXPECT_GT(n_kept, 10);  // of four heads; the newest of each may be kept unasked
    EXPECT_GT(n_gone, 80);
  }
}

TEST(ScoreParts, OfAHeadThatWasMeasuredAreItsOwnForAllItsSlots) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(60, 64, 3);
  request.lanes = {parse_lane_spec("duo:fly=1,slots=20,sinks=2,recent=8")};
  const Snapshot out = run(session, request);
  const LaneSnapshot& lane = out.lanes.back();
  EXPECT_NE(lane.score_equation.find("head's score"), std::string::npos) << lane.score_equation;
  std::vector<float> streaming;
  for (const HeadRecord& head : lane.steps.front()->heads) {
    if (head.events.empty()) continue;
    ASSERT_EQ(head.parts.parts.size(), 1u);
    EXPECT_EQ(head.parts.parts.front().name, "head's score");
    ASSERT_EQ(head.parts.parts.front().values.size(), 60u);
    EXPECT_EQ(std::ranges::count(head.parts.parts.front().values, head.parts.parts.front().values.front()), 60);
    streaming.push_back(head.parts.parts.front().values.front());
  }
  ASSERT_FALSE(streaming.empty());
  for (const float score : streaming) EXPECT_TRUE(score > 0 && score < 1) << score;
}

TEST(ScoreParts, EveryPolicyThatRemovesSaysWhatItsScoreIs) {
  Session session = open_session(tiny_model());
  for (const PolicyInfo& info : policies()) {
    if (!info.takes_budget || std::ranges::any_of(info.params, [](const ParamInfo& p) { return !p.file_of_model.empty(); })) continue;
    RunRequest request;
    request.prompt_ids = random_ids(40, 64, 3);
    request.lanes = {parse_lane_spec(info.name + ":ratio=0.5")};
    const Snapshot out = run(session, request);
    const LaneSnapshot& lane = out.lanes.back();
    const bool scored = std::ranges::any_of(lane.steps.front()->heads, [](const HeadRecord& head) {
      return std::ranges::any_of(head.events, [](const Event& event) { return std::isfinite(event.score); });
    });
    EXPECT_TRUE(!scored || !lane.score_equation.empty()) << info.name;
    if (info.name == "local" || info.name == "streaming") {
      EXPECT_EQ(lane.score_equation, "") << "by position alone";
    }
  }
}

/// A formula in which nothing of a token stands has a score, too, and it may be no number: that is another thing than having none.
TEST(ScoreParts, OfAFormulaWithoutQuantitiesIsItsValue) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(40, 64, 3);
  request.lanes = {parse_lane_spec("custom:slots=20,score=log(0-1)")};
  for (const HeadRecord& head : run(session, request).lanes.back().steps.front()->heads) {
    ASSERT_EQ(head.parts.parts.size(), 1u);
    EXPECT_EQ(head.parts.parts.front().name, "score");
    EXPECT_TRUE(std::ranges::all_of(head.parts.parts.front().values, [](float x) { return std::isnan(x); }));
  }
}

TEST(ScoreParts, AreNotMadeWhereNobodyAsks) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(60, 64, 3);
  request.lanes = {parse_lane_spec("rkv:slots=20,window=4")};
  request.detail = Detail::slots;
  for (const HeadRecord& head : run(session, request).lanes.back().steps.front()->heads) EXPECT_TRUE(head.parts.parts.empty());
}

}  // namespace
}  // namespace kvscope
