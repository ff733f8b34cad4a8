// SPDX-License-Identifier: Apache-2.0
// Runs of their own text: where texts part, a position is another token in each of them, and every view names it by what its run has read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/reduce/difference.h"
#include "viz/reduce/head.h"
#include "viz/reduce/lecture.h"
#include "viz/reduce/text.h"
#include "viz/reduce/why/why_kept.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

constexpr int kPrompt = 167, kParted = kPrompt + 2;  // the first position where the last run has read another token
const std::string kOther = "OTHER", kCommon = "COMMON";

Snapshot parted() {
  Snapshot s = synthetic::make_snapshot({});
  s.follow = "self";
  for (LaneSnapshot& lane : s.lanes)
    for (std::size_t i = 0; i < lane.steps.size(); ++i) {
      auto step = std::make_shared<StepRecord>(*lane.steps[i]);
      const int next = step->position + 1;
      step->next_token = &lane == &s.lanes.back() && next >= kParted ? 2000
                         : next < static_cast<int>(s.tokens.size())  ? s.tokens[static_cast<std::size_t>(next)].id
                                                                     : 3;
      lane.steps[i] = step;
    }
  s.tokens[kParted].bytes = kCommon;
  s.tokens[kParted].special = false;
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>(2001, TokenInfo{.id = -1});
  vocabulary->back() = {.id = 2000, .bytes = kOther};
  s.vocabulary = vocabulary;
  tell_own_texts(s);
  return s;
}

class OwnText : public ::testing::Test {
 protected:
  OwnText() {
    canvas.frame.selection.lane = 3;
    canvas.frame.selection.step = 5;
    canvas.frame.selection.select({kParted, kParted});
    canvas.frame.selection.layer = canvas.frame.selection.kv_head = 0;
  }
  HeadPick pick(int lane) {
    Selection at = canvas.frame.selection;
    at.lane = lane;
    return pick_head(snapshot, at);
  }

  Snapshot snapshot = parted();
  Headless canvas{snapshot, {1400, 900}};
};

TEST_F(OwnText, IsKeptWhereItIsAnotherOne) {
  EXPECT_TRUE(snapshot.lanes[1].tokens.empty());
  EXPECT_EQ(token_text(tokens_of(snapshot, 1), kParted), kCommon);
  EXPECT_EQ(token_text(tokens_of(snapshot, 3), kParted), kOther);
  EXPECT_EQ(token_text(tokens_of(snapshot, 3), kParted - 1), token_text(snapshot.tokens, kParted - 1));
  EXPECT_EQ(n_alike_tokens(snapshot, snapshot.lanes[1], snapshot.lanes[3]), kParted);
  EXPECT_GT(n_alike_tokens(snapshot, snapshot.lanes[1], snapshot.lanes[2]), static_cast<int>(snapshot.tokens.size()));
}

TEST_F(OwnText, NamesTokensInTablesAndSentences) {
  EXPECT_EQ(head_table(snapshot, pick(3)).rows.at(kParted).at(1), kOther);
  EXPECT_EQ(head_table(snapshot, pick(2)).rows.at(kParted).at(1), kCommon);
  EXPECT_THAT(token_lines(snapshot, pick(3), head_columns(snapshot, pick(3)), kParted).front(), HasSubstr(viz::quoted(kOther)));
  const WhyStep others = other_runs_step(snapshot, pick(3), kParted);
  EXPECT_THAT(others.title, HasSubstr(viz::quoted(kOther)));
  ASSERT_EQ(others.lines.size(), 2u);
  for (const std::string& line : others.lines) EXPECT_THAT(line, HasSubstr("reads " + viz::quoted(kCommon) + " there"));
  EXPECT_THAT(other_runs_step(snapshot, pick(3), 50).lines.front(), Not(HasSubstr("reads")));
  const std::vector<PairRow> pairs = attention_pairs(snapshot, pick(3), 200, kParted, std::nullopt);
  EXPECT_TRUE(std::ranges::any_of(pairs, [](const PairRow& row) { return row.label.starts_with(kOther); }));
  EXPECT_FALSE(std::ranges::any_of(pairs, [](const PairRow& row) { return row.label.starts_with(kCommon); }));
}

TEST_F(OwnText, NamesTokensInTooltipsAndOnCanvases) {
  for (const auto& [lane, text] : {std::pair(2, kCommon), std::pair(3, kOther)}) {
    canvas.frame.selection.lane = lane;
    const auto timeline = make_timeline();
    canvas.draw(*timeline);
    canvas.move(*timeline, centre(*find_mark(*timeline, "column", "step 3")));
    EXPECT_THAT(canvas.last<HoverAt>()->tooltip.at(0), HasSubstr("reads token 169 " + viz::quoted(text)));
    const auto atlas = make_atlas(std::make_shared<TokenWindow>());
    const Table table = atlas->table(canvas.frame);
    const auto row = std::ranges::find_if(table.rows, [](const auto& cells) { return cells[2] == std::to_string(kParted); });
    ASSERT_NE(row, table.rows.end());
    EXPECT_EQ((*row)[3], text);
  }
}

TEST_F(OwnText, IsNotComparedTokenByToken) {
  const auto compare = make_compare(std::make_shared<TokenWindow>());
  canvas.draw(*compare);
  EXPECT_THAT(compare->facts(canvas.frame), HasSubstr("reads different tokens"));
  canvas.frame.selection.step = 1;
  EXPECT_THAT(compare->facts(canvas.frame), HasSubstr("reads " + viz::quoted(token_text(snapshot.tokens, kPrompt))));
}

TEST_F(OwnText, StripsOfTheDifferenceEndWhereTextsPart) {
  const auto compare = make_compare(std::make_shared<TokenWindow>());
  compare->choose(0, 1);  // to the reference
  canvas.draw(*compare);
  const Mark* parted = find_mark(*compare, "parted", "lane 3");
  ASSERT_NE(parted, nullptr);
  EXPECT_EQ(parted->value, std::to_string(kParted));
  EXPECT_EQ(find_mark(*compare, "parted", "lane 2"), nullptr);
}

TEST_F(OwnText, ADifferenceEndsWhereTextsPart) {
  Represented a, b, a_anew, b_anew;
  DifferenceCounts followed;
  const int n_alike = n_alike_tokens(snapshot, snapshot.lanes[2], snapshot.lanes[3]);
  for (int step = 0; step < static_cast<int>(snapshot.lanes[2].steps.size()); ++step) {
    a.show(snapshot.lanes[2], step);
    followed.follow(a);
    b.show(snapshot.lanes[3], step);
    followed.follow(b);
    a_anew = b_anew = {};
    a_anew.show(snapshot.lanes[2], step);
    b_anew.show(snapshot.lanes[3], step);
    const LaneDifference cells(a_anew, b_anew, n_alike);
    EXPECT_EQ(cells.n_tokens(), std::min(kPrompt + step, kParted));
    std::array<std::int64_t, 4> counted{};
    for (int head = 0; head < cells.n_heads(); ++head)
      for (int token = 0; token < cells.n_tokens(); ++token) ++counted[static_cast<std::size_t>(cells.at(head, token))];
    EXPECT_EQ(DifferenceCounts().of(cells), counted) << step;
    EXPECT_EQ(followed.of(LaneDifference(a, b, n_alike)), counted) << step;
  }
}

}  // namespace
}  // namespace kvscope::viz
