// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/lecture.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "snapshot/held_bytes.h"
#include "viz/colour_math.h"
#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/ghosts.h"
#include "viz/reduce/slot.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

Snapshot streamed() {
  synthetic::Shape shape;
  shape.n_prompt = 60;
  shape.slots = 20;
  shape.prefill = false;
  return synthetic::make_snapshot(shape);
}

Selection at(int lane, int step) {
  Selection s;
  s.lane = lane;
  s.step = step;
  s.layer = 2;
  s.kv_head = 1;
  return s;
}

TEST(LectureFactsTest, CountEveryTokenOfTheHeadOnce) {
  const Snapshot s = synthetic::make_snapshot();
  for (const int lane : {0, 1, 2, 3}) {
    const Selection selection = at(lane, 2);
    const Facts f = lecture_facts(s, selection);
    double sum = 0;
    for (const char* name : {"sinks", "heavy", "recent", "merged", "evicted", "new"}) sum += f.at(name).number;
    EXPECT_EQ(sum, f.at("tokens").number) << lane;
    EXPECT_EQ(f.at("tokens").number, s.lanes[static_cast<std::size_t>(lane)].steps[2]->position + 1);
    const auto expected = categories_of(s, s.lanes[static_cast<std::size_t>(lane)], 2, head_index(s, 2, 1));
    EXPECT_EQ(f.at("evicted").number, std::count(expected.begin(), expected.end(), Category::evicted));
    EXPECT_EQ(f.at("head").text, "layer 2, head 1");
  }
}

TEST(LectureFactsTest, SayWhetherHeadsKeepDifferentTokens) {
  const Snapshot s = synthetic::make_snapshot();
  EXPECT_FALSE(holds(lecture_facts(s, at(0, 2)), "heads_differ")) << "the full cache keeps all in each";
  EXPECT_TRUE(holds(lecture_facts(s, at(3, 2)), "heads_differ"));
}

/// Past the memory's limit a step has no list of slots any more, and still so many of them.
TEST(LectureFactsTest, CountSlotsThatAreNotListed) {
  Snapshot s = synthetic::make_snapshot();
  const Facts listed = lecture_facts(s, at(3, 2));
  for (LaneSnapshot& lane : s.lanes)
    for (StepPtr& step : lane.steps) step = std::make_shared<const StepRecord>(figures_of(*step));
  const Facts figures = lecture_facts(s, at(3, 2));
  EXPECT_GT(listed.at("slots").number, 0);
  for (const char* name : {"slots", "fewest_slots", "most_slots", "evicted", "merged"})
    EXPECT_EQ(figures.at(name).text, listed.at(name).text) << name;
}

TEST(LectureFactsTest, SayThatMostAreEvictedWhereTheyAre) {
  const Snapshot s = synthetic::make_snapshot();
  int most = 0, few = 0;
  for (const int lane : {0, 1, 2, 3})
    for (int step = 0; step < static_cast<int>(s.lanes[static_cast<std::size_t>(lane)].steps.size()); ++step) {
      const Facts f = lecture_facts(s, at(lane, step));
      const bool expected = f.at("evicted").number > f.at("tokens").number / 2;
      EXPECT_EQ(holds(f, "most_evicted"), expected) << lane << " " << step;
      ++(expected ? most : few);
    }
  EXPECT_GT(most, 0);
  EXPECT_GT(few, 0);
}

TEST(LectureFactsTest, CountTheBytesOfTheStepThatIsShown) {
  Snapshot s = streamed();
  constexpr double kSlotBytes = 512;  // of a slot in all heads
  for (LaneSnapshot& lane : s.lanes) {
    lane.slots = lane_metrics(s, lane, -1, 0).slots;
    lane.kv_bytes = kSlotBytes * lane.slots;
  }
  const Facts early = lecture_facts(s, at(3, 4)), late = lecture_facts(s, at(3, 40));
  EXPECT_EQ(early.at("tokens").number, 5);
  EXPECT_EQ(early.at("full_bytes").text, format_bytes(5 * kSlotBytes));
  EXPECT_EQ(early.at("bytes").text, format_bytes(5 * kSlotBytes)) << "nothing had to go yet";
  EXPECT_EQ(late.at("full_bytes").text, format_bytes(41 * kSlotBytes));
  EXPECT_EQ(late.at("bytes").text, format_bytes(20 * kSlotBytes));
}

TEST(LectureFactsTest, HaveTheSameNamesWithAndWithoutARun) {
  const Facts with = lecture_facts(synthetic::make_snapshot(), at(3, 1)), without = lecture_facts(Snapshot{}, {});
  const auto names = [](const Facts& facts) {
    std::vector<std::string> out;
    for (const auto& [name, fact] : facts) out.push_back(name);
    return out;
  };
  EXPECT_EQ(names(with), names(without));
  EXPECT_FALSE(holds(without, "tokens"));
  EXPECT_TRUE(holds(with, "tokens"));
  EXPECT_TRUE(holds(without, "!tokens"));
  EXPECT_FALSE(holds(with, "no such fact"));
}

TEST(LectureFactsTest, RankOnlyRunsWithOneBudget) {
  Snapshot s = synthetic::make_snapshot();
  const auto hold = [&s](std::size_t lane, int slots) {
    for (StepPtr& step : s.lanes[lane].steps) {
      auto copy = std::make_shared<StepRecord>(*step);
      for (HeadRecord& head : copy->heads) head.n_slots = slots;
      step = copy;
    }
  };
  const auto facts = [&s] { return lecture_facts(s, at(1, 2)); };
  const auto kl = [&s](std::size_t lane) { return run_figures(s, s.lanes[lane]).kl.mean(); };
  for (const std::size_t lane : {1u, 2u, 3u}) hold(lane, 20);
  EXPECT_FALSE(holds(facts(), "unlike"));
  EXPECT_EQ(facts().at("alike").text, "20 slots");
  EXPECT_EQ(facts().at("best_kl").number, std::min({kl(1), kl(2), kl(3)}));
  hold(1, 40);
  EXPECT_EQ(facts().at("unlike").text, s.lanes[1].title + " holds 40 slots");
  EXPECT_EQ(facts().at("best_kl").number, std::min(kl(2), kl(3))) << "with twice the slots it is no feat";
  EXPECT_EQ(facts().at("worst_kl").number, std::max(kl(2), kl(3)));
  hold(3, 21);
  EXPECT_EQ(facts().at("alike").text, "20 to 21 slots") << "a slot more or less is no other budget";
  EXPECT_EQ(holds(facts(), "tie"), facts().at("best_kl").text == facts().at("worst_kl").text);
  hold(3, 30);
  EXPECT_FALSE(holds(facts(), "several")) << "nobody is compared with nobody";
  EXPECT_FALSE(holds(facts(), "tie"));
  EXPECT_EQ(facts().at("unlike").text,
            fmt::format("{} holds 40, {} 20, {} 30 slots", s.lanes[1].title, s.lanes[2].title, s.lanes[3].title));
  for (const std::size_t lane : {2u, 3u}) {  // stored otherwise, they take as much
    for (StepPtr& step : s.lanes[lane].steps) {
      auto copy = std::make_shared<StepRecord>(*step);
      for (HeadRecord& head : copy->heads) head.kv_bytes = 1000;
      step = copy;
    }
  }
  EXPECT_TRUE(holds(facts(), "several"));
  EXPECT_TRUE(facts().at("alike").text.starts_with("about ")) << facts().at("alike").text;
  s.lanes.resize(2);
  EXPECT_FALSE(holds(facts(), "unlike")) << "nobody else is there";
}

/// "Less than 0.001 than less than 0.001" is said of no two runs.
TEST(LectureFacts, RunsWhoseDistanceReadsTheSameAreATie) {
  Snapshot s = synthetic::make_snapshot();
  const auto stay_within = [&s](std::size_t lane, double kl) {
    for (StepPtr& step : s.lanes[lane].steps) {
      auto copy = std::make_shared<StepRecord>(*step);
      for (HeadRecord& head : copy->heads) head.n_slots = 20;
      copy->kl = kl;
      step = copy;
    }
  };
  stay_within(1, 1.96e-5);
  stay_within(2, 4.69e-5);
  stay_within(3, 3e-5);
  EXPECT_TRUE(holds(lecture_facts(s, at(1, 2)), "tie"));
  EXPECT_EQ(lecture_facts(s, at(1, 2)).at("best_kl").text, lecture_facts(s, at(1, 2)).at("worst_kl").text);
  stay_within(3, 0.5);
  EXPECT_FALSE(holds(lecture_facts(s, at(1, 2)), "tie"));
}

TEST(LectureFactsTest, AreFilledInWithTheFittingWord) {
  Facts f;
  f["n"] = {"1", 1};
  f["m"] = {"4", 4};
  f["who"] = {"nobody", kNotAvailable};
  EXPECT_EQ(fill_in("{who}: {n|token|tokens} and {m|token|tokens}, {m}", f), "nobody: 1 token and 4 tokens, 4");
  EXPECT_EQ(fill_in("{unknown} stays", f), "{unknown} stays");
  EXPECT_EQ(fill_in("an open { brace", f), "an open { brace");
}

TEST(AttentionPairsTest, AreSortedAndSayWhatIsGone) {
  const Snapshot s = synthetic::make_snapshot();
  const HeadPick pick = pick_head(s, at(3, 3));
  const auto rows = attention_pairs(s, pick, 5);
  ASSERT_FALSE(rows.empty());
  const HeadColumns columns = head_columns(s, pick);
  double before = 2;
  for (const PairRow& row : rows) {
    const double most = std::max(std::isnan(row.reference) ? 0 : row.reference, row.lane);
    EXPECT_LE(most, before);
    before = most;
    EXPECT_TRUE(row.state == PairRow::State::here || row.lane == 0) << row.label;
  }
}

TEST(AttentionPairsTest, TheFullCacheIsItsOwnReference) {
  const Snapshot s = streamed();
  const std::vector<PairRow> rows = attention_pairs(s, pick_head(s, at(0, 50)), 5);
  ASSERT_FALSE(rows.empty());
  for (const PairRow& row : rows) EXPECT_EQ(row.reference, row.lane);
}

TEST(LectureFactsTest, WhatIsPracticallyTheSameIsSaidInWords) {
  Snapshot s = streamed();
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[50]);
  for (const auto& [kl, words] : {std::pair(3.71e-5, "practically the same (KL less than 0.001)"), {0.26, "0.260 apart by KL"}}) {
    step->kl = kl;
    s.lanes[3].steps[50] = std::make_shared<StepRecord>(*step);
    EXPECT_EQ(lecture_facts(s, at(3, 50)).at("apart").text, words);
  }
  // 2 x 32 layers x 8 KV heads x 128 x 2 bytes x 131,072 tokens
  EXPECT_EQ(lecture_facts(s, at(3, 50)).at("llama_8b_128k").text, format_bytes(17179869184.0));
}

TEST(AttentionPairsTest, TheTokenThatIsMeantIsAmongThem) {
  const Snapshot s = synthetic::make_snapshot();
  const HeadPick pick = pick_head(s, at(3, 3));
  const auto three = attention_pairs(s, pick, 3);
  int n_taken = 0;
  for (int token = 0; token < 40; ++token) {
    const auto rows = attention_pairs(s, pick, 3, token);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].label, three[0].label);
    n_taken += rows[2].label != three[2].label || rows[2].reference != three[2].reference;
  }
  EXPECT_GT(n_taken, 0);
  EXPECT_LT(n_taken, 38) << "what draws nothing is not worth a row";
  EXPECT_EQ(attention_pairs(s, pick, 3, -7).size(), 3u);
  EXPECT_EQ(attention_pairs(s, pick, 3, 1 << 30).size(), 3u);
}

/// What a caption says and what stands beside the bar is one figure.
TEST(AttentionPairsTest, TheFirstRowIsWhatTheCaptionSaysOfTheCategory) {
  const Snapshot s = synthetic::make_snapshot();
  const std::pair<const char*, Category> kinds[] = {{"sinks", Category::sink},
                                                    {"heavy", Category::kept},
                                                    {"recent", Category::recent},
                                                    {"evicted", Category::evicted},
                                                    {"new", Category::fresh}};
  int n_checked = 0;
  for (const int lane : {1, 2, 3})
    for (const int step : {1, 3}) {
      const HeadPick pick = pick_head(s, at(lane, step));
      const Facts f = lecture_facts(s, at(lane, step));
      for (const auto& [name, category] : kinds) {
        const auto rows = attention_pairs(s, pick, 3, {}, category);
        ASSERT_EQ(rows.size(), 3u);
        ASSERT_EQ(rows[0].whole, holds(f, name)) << name << " " << lane;
        if (!rows[0].whole) continue;
        ++n_checked;
        EXPECT_THAT(rows[0].label, ::testing::StartsWith(f.at(name).text + " ")) << name;
        EXPECT_EQ(format_percent(rows[0].lane), f.at(std::string(name) + "_attention").text) << name;
        EXPECT_EQ(format_percent(rows[0].reference), f.at(std::string(name) + "_wanted").text) << name;
        EXPECT_EQ(rows[0].state == PairRow::State::gone, category == Category::evicted && !(rows[0].lane > 0));
        for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_FALSE(rows[i].whole);
      }
    }
  EXPECT_GT(n_checked, 8);
}

/// A slot that was merged in this step had its tokens' own slots in the query: what they drew is no more than a part.
TEST(LectureFactsTest, MergedTokensDrawWhatTheSlotsDrawThatStandForThem) {
  const Snapshot s = synthetic::make_snapshot();
  int n_checked = 0;
  for (int step = 0; step < 8; ++step) {
    const HeadPick pick = pick_head(s, at(3, step));
    if (pick.values == nullptr) continue;
    const Facts f = lecture_facts(s, at(3, step));
    double here = 0, wanted = 0;
    bool merged = false;
    for (const int pos : pick.values->pos) {
      const std::vector<int> members = slot_facts(pick, pos).members;
      if (members.size() < 2) continue;
      merged = true;
      const std::vector<float>& paid = pick.values->attention;
      for (const int t : members) {
        wanted += static_cast<double>(pick.values->reference_attention[static_cast<std::size_t>(t)]);
        here += static_cast<double>(t < static_cast<int>(paid.size()) ? paid[static_cast<std::size_t>(t)] : 0);
      }
    }
    if (!merged) continue;
    ++n_checked;
    EXPECT_NEAR(f.at("merged_wanted").number, wanted, 1e-6) << step;
    EXPECT_GT(here, 0);
  }
  EXPECT_GT(n_checked, 0);
}

TEST(AttentionPairsTest, OfMergedTokensTheFirstRowIsTheSlotWithItsVotes) {
  const Snapshot s = synthetic::make_snapshot();
  const HeadPick pick = pick_head(s, at(3, 3));
  const Facts f = lecture_facts(s, at(3, 3));
  ASSERT_GT(f.at("votes").number, 1);
  const auto rows = attention_pairs(s, pick, 4, {}, Category::merged);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].votes, f.at("votes").number);
  EXPECT_EQ(format_percent(rows[0].lane), f.at("votes_attention").text);
  EXPECT_EQ(format_percent(rows[0].reference), f.at("votes_wanted").text);
  const MergedSlot merged = telling_merge(s, pick);
  double wanted = 0;
  for (const int t : slot_facts(pick, merged.slot).members)
    wanted += static_cast<double>(pick.values->reference_attention[static_cast<std::size_t>(t)]);
  EXPECT_DOUBLE_EQ(rows[0].reference, wanted);
  for (const PairRow& row : attention_pairs(s, pick, 8)) EXPECT_FALSE(row.whole);
}

/// A token alone beside a slot that speaks for six would be two quantities under one name.
TEST(AttentionPairsTest, ASlotCountsForAllItsTokensOnBothSides) {
  const Snapshot s = synthetic::make_snapshot();
  const HeadPick pick = pick_head(s, at(3, 3));
  const std::vector<float>& wanted = pick.values->reference_attention;
  std::multiset<double> sums;
  for (const int pos : pick.values->pos) {
    const std::vector<int> members = slot_facts(pick, pos).members;
    double sum = 0;
    for (const int t : members) sum += static_cast<double>(wanted[static_cast<std::size_t>(t)]);
    if (members.size() > 1) sums.insert(sum);
  }
  ASSERT_FALSE(sums.empty());
  int n_slots = 0;
  for (const auto& about : {std::optional<Category>(), std::optional(Category::merged)}) {
    std::set<std::string> labels;
    for (const PairRow& row : attention_pairs(s, pick, 40, {}, about)) {
      EXPECT_TRUE(labels.insert(row.label).second) << row.label;
      EXPECT_NE(row.state, PairRow::State::merged) << row.label << " stands in the row of its slot";
      if (row.votes < 2) continue;
      ++n_slots;
      EXPECT_TRUE(std::ranges::any_of(sums, [&](double sum) { return std::abs(sum - row.reference) < 1e-9; })) << row.label;
    }
  }
  EXPECT_EQ(n_slots, 2 * static_cast<int>(sums.size()));
}

/// The sum over the first tokens stands above the rows of its slots: what those speak for counts in both, and it is said.
TEST(AttentionPairsTest, TheSumOfACategoryCountsWhatItsSlotsSpeakForAsTheirRowsDo) {
  const Snapshot s = synthetic::make_snapshot();
  int n_merged = 0;
  for (int step = 0; step < static_cast<int>(s.lanes[3].steps.size()); ++step)
    for (const Category about : {Category::sink, Category::kept, Category::recent}) {
      const HeadPick pick = pick_head(s, at(3, step));
      const auto rows = attention_pairs(s, pick, 200, {}, about);
      if (rows.empty() || !rows[0].whole) continue;
      const HeadColumns columns = head_columns(s, pick);
      double wanted = 0;
      int n = 0, votes = 0;
      for (int t = 0; t < columns.size(); ++t) {
        if (columns.category[static_cast<std::size_t>(t)] != about) continue;
        ++n;
        for (const int member : slot_facts(pick, t).members) {
          wanted += static_cast<double>(pick.values->reference_attention[static_cast<std::size_t>(member)]);
          ++votes;
        }
      }
      EXPECT_NEAR(rows[0].reference, wanted, 1e-9) << step;
      EXPECT_EQ(rows[0].votes, votes > n ? votes : 0) << step;
      n_merged += votes > n;
      EXPECT_TRUE(about != Category::sink || lecture_facts(s, at(3, step)).at("sinks_votes").number == (votes > n ? votes : 0)) << step;
    }
  EXPECT_GT(n_merged, 0);
}

/// What a policy adds to ln p for keys that differ is no riddle beside a lesson that teaches ln p.
TEST(SlotTest, ALogitBiasIsTheLogarithmOfTheVotesAndARest) {
  SlotFacts slot;
  slot.votes = 6;
  for (const auto& [bias, words] :
       {std::pair(std::log(6.0), "ln 6"), {0.0485, "ln 6 − 1.74"}, {2.0, "ln 6 + 0.208"}, {0.0, ""}, {kNotAvailable, ""}}) {
    slot.bias = bias;
    EXPECT_EQ(log_of_votes(slot), words) << bias;
  }
}

TEST(LectureFactsTest, TheFramedTokenHasTheSharesOfItsRow) {
  const Snapshot s = synthetic::make_snapshot();
  Selection selection = at(3, 3);
  EXPECT_FALSE(holds(lecture_facts(s, selection), "framed"));
  int n_checked = 0;
  for (int token = 0; token < 40; ++token) {
    selection.select({token, token});
    const Facts f = lecture_facts(s, selection);
    for (const PairRow& row : attention_pairs(s, pick_head(s, selection), 3, token)) {
      const std::string place = row.label.find(" #") == std::string::npos ? std::string() : row.label.substr(row.label.find(" #"));
      if (f.at("framed").text != viz::quoted(row.label.substr(0, row.label.size() - place.size())) + place) continue;
      ++n_checked;
      EXPECT_EQ(f.at("framed_attention").text, format_percent(row.lane));
      EXPECT_EQ(f.at("framed_wanted").text, format_percent(row.reference));
    }
  }
  EXPECT_GT(n_checked, 0);
}

TEST(AttentionPairsTest, ATokenWhoseTextStandsThereTwiceHasItsPosition) {
  Snapshot s = synthetic::make_snapshot();
  const HeadPick pick = pick_head(s, at(3, 3));
  for (std::size_t t = 0; t < s.tokens.size(); ++t) s.tokens[t] = {.id = 9, .bytes = "w" + std::to_string(t)};
  const std::string alone = attention_pairs(s, pick, 2)[0].label;
  EXPECT_EQ(alone.find('#'), std::string::npos) << alone;
  const int token = std::stoi(alone.substr(1)), other = token == 7 ? 8 : 7;
  s.tokens[static_cast<std::size_t>(other)].bytes = alone;
  EXPECT_EQ(attention_pairs(s, pick, 2)[0].label, fmt::format("{} #{}", alone, token));
  for (TokenInfo& t : s.tokens) t.bytes = "at";
  const Facts f = lecture_facts(s, at(3, 3));
  for (const char* name : {"votes_token", "member_token"}) EXPECT_THAT(f.at(name).text, ::testing::StartsWith("«at» #")) << name;
  EXPECT_NE(f.at("votes_token").text, f.at("member_token").text);
}

/// For a merged token its slot stands: captions do not call it gone, however much it is wanted.
TEST(LectureFactsTest, WhatIsMergedIsNotGone) {
  Snapshot s = synthetic::make_snapshot();
  const HeadColumns columns = head_columns(s, pick_head(s, at(3, 3)));
  const auto merged = std::ranges::find(columns.category, Category::merged);
  ASSERT_NE(merged, columns.category.end());
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[3]);
  std::vector<float>& wanted = step->heads[static_cast<std::size_t>(head_index(s, 2, 1))].reference_attention;
  std::ranges::fill(wanted, 0.0f);
  wanted[static_cast<std::size_t>(merged - columns.category.begin())] = 0.9f;
  s.lanes[3].steps[3] = step;
  const Facts f = lecture_facts(s, at(3, 3));
  EXPECT_EQ(f.at("lost").number, 0);
  EXPECT_EQ(f.at("lost_token").text, "");
}

TEST(LargestLossTest, IsAttentionThatNothingStandsFor) {
  const Snapshot s = synthetic::make_snapshot();
  for (const LaneSnapshot& lane : s.lanes) {
    const Loss loss = largest_loss(s, lane);
    if (loss.step < 0) continue;
    EXPECT_GE(s.lanes[0].steps[static_cast<std::size_t>(loss.step)]->position, s.n_prompt - 1);
    EXPECT_LT(slot_of(*lane.fates, *lane.steps[static_cast<std::size_t>(loss.step)], head_index(s, loss.layer, loss.kv_head), loss.token),
              0);
    EXPECT_GT(loss.attention, 0);
  }
  EXPECT_EQ(largest_loss(s, s.lanes[0]).step, -1) << "the full cache misses nothing";
}

TEST(LargestLossTest, IsOfWhatAHandTookAwayWhereThatIsMissed) {
  const Snapshot plain = synthetic::make_snapshot();
  const Loss policy = largest_loss(plain, plain.lanes[1]);
  ASSERT_GE(policy.step, 0);
  int n_other = 0;
  for (int token = 0; token < plain.n_prompt; ++token) {
    LaneSnapshot lane = plain.lanes[1];
    auto first = std::make_shared<StepRecord>(*lane.steps[0]);
    first->heads[0].events.push_back({.kind = Event::Kind::evict, .pos = token, .by_hand = true});
    lane.steps[0] = first;
    EXPECT_EQ(std::ranges::count(evicted_by_hand(lane, plain.n_prompt), 1), 1);
    EXPECT_EQ(evicted_by_hand(lane, plain.n_prompt)[static_cast<std::size_t>(token)], 1);
    const Loss loss = largest_loss(plain, lane);
    EXPECT_TRUE(loss.token == token || loss.token == policy.token) << "the policy's own where nobody misses what the hand took: " << token;
    n_other += loss.token == token && token != policy.token;
  }
  EXPECT_GT(n_other, 0) << "else the test has not seen the case";
}

TEST(GhostsTest, AreWhatIsThereNowAndNotLater) {
  const Snapshot s = streamed();
  const LaneSnapshot& lane = s.lanes[3];
  int n = 0;
  for (const int step : {25, 40}) {
    const int until = ghosts_until(lane, step, 8);
    EXPECT_EQ(until, step + 8);
    for (int h = 0; h < static_cast<int>(lane.fates->heads.size()); ++h) {
      const auto now = categories_of(s, lane, step, h), later = categories_of(s, lane, until, h);
      const auto goes = leaving(lane.fates->heads[static_cast<std::size_t>(h)], step, until, 0, step);
      for (int t = 0; t <= step; ++t) {
        const auto i = static_cast<std::size_t>(t);
        const auto own = [](Category c) { return c != Category::evicted && c != Category::merged; };
        const bool expected = own(now[i]) ? !own(later[i]) : now[i] == Category::merged && later[i] == Category::evicted;
        ASSERT_EQ(goes[i] != 0, expected) << "step " << step << " head " << h << " token " << t;
        n += goes[i];
      }
    }
  }
  EXPECT_GT(n, 0) << "the example must lose something";
}

TEST(GhostsTest, NothingIsKnownAfterTheLatestStep) {
  const Snapshot s = streamed();
  const LaneSnapshot& lane = s.lanes[3];
  const int last = static_cast<int>(lane.steps.size()) - 1;
  EXPECT_EQ(ghosts_until(lane, last, 8), last);
  const auto goes = leaving(lane.fates->heads[0], last, last, 0, last);
  EXPECT_EQ(std::count(goes.begin(), goes.end(), 1), 0);
}

TEST(GhostsTest, AreHatchedInTheAtlasWhereTheyStandAndNowhereElse) {
  const Snapshot s = streamed();
  Headless canvas(s);
  canvas.frame.selection.lane = 3;
  canvas.frame.selection.step = 30;
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  canvas.draw(*view);
  EXPECT_EQ(canvas.textures.find("atlas.ghosts"), nullptr) << "off by default";
  canvas.frame.ghost_steps = 6;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("atlas.ghosts");
  ASSERT_NE(image, nullptr);
  const Mark* map = find_mark(*view, "ghosts", "steps 31 to 36");
  ASSERT_NE(map, nullptr);
  ASSERT_NE(find_mark(*view, "legend", "ghosts"), nullptr);
  const float px = canvas.frame.size.x > 0 ? (find_mark(*view, "row", "L0 H0")->max.x - map->min.x) / 72 : 0;  // 60 + 12 tokens
  int n_ghosts = 0;
  for (int h = 0; h < 24; ++h) {
    const Mark* row = find_mark(*view, "row", "L" + std::to_string(h / 4) + " H" + std::to_string(h % 4));
    const auto goes = leaving(s.lanes[3].fates->heads[static_cast<std::size_t>(h)], 30, 36, 0, 30);
    for (int t = 0; t <= 30; ++t) {
      int painted = 0;
      for (int y = static_cast<int>(row->min.y - map->min.y); y < static_cast<int>(row->max.y - map->min.y); ++y)
        for (int x = static_cast<int>(static_cast<float>(t) * px); x < static_cast<int>(static_cast<float>(t + 1) * px); ++x)
          painted += image->rgba[static_cast<std::size_t>(y) * static_cast<std::size_t>(image->width) + static_cast<std::size_t>(x)] != 0;
      ASSERT_EQ(painted > 0, goes[static_cast<std::size_t>(t)] != 0) << "head " << h << " token " << t;
      n_ghosts += goes[static_cast<std::size_t>(t)];
    }
  }
  EXPECT_GT(n_ghosts, 0);
}

TEST(PlainAtlasTest, NamesLayersFramesTheSelectionAndHasNoSmallType) {
  const Snapshot s = synthetic::make_snapshot();
  Headless canvas(s, {720, 420}, true, 1.6f);
  canvas.frame.plain = true;
  canvas.frame.selection = at(3, 2);
  canvas.frame.selection.tokens = TokenRange{20, 24};
  RecordedScene recorded(canvas);
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "label"), 6);
  EXPECT_EQ(count_marks(*view, "minimap"), 0);
  ASSERT_NE(find_mark(*view, "selected tokens", "tokens 20 to 24"), nullptr);
  ASSERT_NE(find_mark(*view, "selected head", "L2 H1"), nullptr);
  int texts = 0;
  for (const SceneCommand& c : recorded.scene.commands) {
    if (c.kind != SceneCommand::Kind::text) continue;
    ++texts;
    EXPECT_GE(std::lround(c.em), 18) << c.text;
  }
  EXPECT_GT(texts, 8);
}

/// Names of layers, as far as there is room: none may run into that of the selected one.
TEST(ManyLayersTest, NoNameOfALayerRunsIntoThatOfTheSelectedOne) {
  const Snapshot s = synthetic::make_snapshot({.n_layers = 28, .n_heads = 16, .n_kv_heads = 8});
  for (const bool plain : {true, false}) {
    for (const int layer : {4, 5, 6, 17}) {
      Headless canvas(s, {720, 300});
      canvas.frame.plain = plain;
      canvas.frame.selection = at(3, 2);
      canvas.frame.selection.layer = layer;
      RecordedScene recorded(canvas);
      const auto view = make_atlas(std::make_shared<TokenWindow>());
      canvas.draw(*view);
      std::vector<float> middles;
      float em = 0;
      bool selected = false;
      for (const SceneCommand& c : recorded.scene.commands) {
        if (c.kind != SceneCommand::Kind::text || c.text.size() < 2 || c.text[0] != 'L' || std::isdigit(c.text[1]) == 0) continue;
        middles.push_back(c.points[0].y);
        em = std::max(em, c.em);
        selected = selected || c.text == "L" + std::to_string(layer);
      }
      EXPECT_TRUE(selected) << layer;
      EXPECT_LT(middles.size(), 28u) << "there is no room for all: else this shows nothing";
      std::ranges::sort(middles);
      for (std::size_t i = 1; i < middles.size(); ++i) EXPECT_GE(middles[i] - middles[i - 1], 0.8f * em) << plain << ' ' << layer;
    }
  }
}

TEST(PlainAtlasTest, APictureThatLeavesThePageExplainsItsColours) {
  const Snapshot s = synthetic::make_snapshot();
  Headless canvas(s, {720, 420}, true, 1.6f);
  canvas.frame.plain = true;
  canvas.frame.selection = at(3, 2);
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "legend", "merged"), nullptr) << "the page has it beside the text";
  canvas.frame.alone = true;
  canvas.draw(*view);
  float lowest_row = 0;
  for (const Mark& m : view->marks())
    if (m.kind == "row") lowest_row = std::max(lowest_row, m.max.y);
  for (const char* name : {"sink", "heavy", "merged", "recent", "new", "evicted"}) {
    const Mark* m = find_mark(*view, "legend", name);
    ASSERT_NE(m, nullptr) << name;
    EXPECT_GE(m->min.y, lowest_row) << name;
    EXPECT_LE(m->max.x, 720) << name;
  }
}

TEST(PlainAtlasTest, TheMeantSlotShowsItsVotesAndWhatWentIn) {
  const Snapshot s = synthetic::make_snapshot();
  Headless canvas(s, {720, 420}, true, 1.6f);
  canvas.frame.plain = true;
  canvas.frame.selection = at(3, 2);
  const HeadPick pick = pick_head(s, canvas.frame.selection);
  const MergedSlot merged = telling_merge(s, pick);
  ASSERT_GT(merged.votes, 1);
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "votes", fmt::format("L2 H1 t{}", merged.slot)), nullptr) << "no slot is meant";
  canvas.frame.selection.select({merged.slot, merged.slot});
  canvas.draw(*view);
  const Mark* votes = find_mark(*view, "votes", fmt::format("L2 H1 t{}", merged.slot));
  ASSERT_NE(votes, nullptr);
  EXPECT_THAT(votes->value, ::testing::StartsWith(fmt::format("{} votes", merged.votes)));
  const std::string log = log_of_votes(slot_facts(pick, merged.slot));
  EXPECT_THAT(log, ::testing::StartsWith(fmt::format("ln {}", merged.votes)));
  EXPECT_THAT(votes->value, ::testing::EndsWith(" = " + log));
  EXPECT_GE(votes->min.x, 0);
  EXPECT_LE(votes->max.x, 720);
  const auto went_in = std::ranges::count_if(view->marks(), [](const Mark& m) { return m.kind == "went in"; });
  EXPECT_EQ(went_in + 1, static_cast<std::ptrdiff_t>(slot_facts(pick, merged.slot).members.size()));
}

TEST(PlainAtlasTest, ShowsFatesAsLongAsATokenHasAPixel) {
  const Snapshot s = synthetic::make_snapshot();  // 179 tokens
  const auto legend_of = [&s](float width) {
    Headless canvas(s, {width, 420}, true, 1.6f);
    canvas.frame.plain = true;
    canvas.frame.selection.lane = 3;
    RecordedScene recorded(canvas);
    const auto view = make_atlas(std::make_shared<TokenWindow>());
    canvas.draw(*view);
    std::string words;
    for (const SceneCommand& c : recorded.scene.commands) words += c.text + "\n";
    return words;
  };
  EXPECT_THAT(legend_of(550), ::testing::Not(::testing::HasSubstr("kept or merged"))) << "about 2.7 px a token";
  EXPECT_THAT(legend_of(220), ::testing::HasSubstr("kept or merged")) << "0.9 px a token";
}

TEST(EmphasisTest, KeepsTheMeantCategoryAndFadesTheOthers) {
  for (const Theme* theme : {&dark_theme(), &light_theme()})
    for (int c = 1; c < kCategories; ++c) {
      const auto category = static_cast<Category>(c);
      EXPECT_EQ(cell_fill(*theme, category, std::nullopt).value, cell_fill(*theme, category).value);
      EXPECT_EQ(cell_fill(*theme, category, category).value, theme->category[static_cast<std::size_t>(c)].value);
      const auto distance = [&](Rgb v) {
        return std::abs(v.r() - theme->panel.r()) + std::abs(v.g() - theme->panel.g()) + std::abs(v.b() - theme->panel.b());
      };
      const Category other = category == Category::sink ? Category::kept : Category::sink;
      EXPECT_LT(distance(cell_fill(*theme, category, other)), distance(cell_fill(*theme, category))) << category_name(category);
    }
}

TEST(EmphasisTest, WhatIsGoneNeverOutshinesWhatIsKept) {
  for (const Theme* theme : {&dark_theme(), &light_theme()}) {
    const auto contrast_to_panel = [&](Category c) {
      return contrast(cell_fill(*theme, c, Category::evicted), theme->panel);  // although it is just the evicted that are meant
    };
    EXPECT_GT(contrast_to_panel(Category::kept), contrast_to_panel(Category::evicted)) << (theme->dark ? "dark" : "light");
  }
}

}  // namespace
}  // namespace kvscope::viz
