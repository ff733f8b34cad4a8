// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/members.h"

#include <gtest/gtest.h>

#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/lineage_fixture.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

TEST(Members, AreSortedByWeightAndGapsComeLast) {
  Lineage lineage;
  lineage.root = 9;
  for (const auto& [token, into, weight] :
       std::vector<std::tuple<int, int, double>>{{2, 9, 0.1}, {4, 9, kNotAvailable}, {5, 2, 0.6}, {7, 9, 0.3}, {9, -1, kNotAvailable}}) {
    LineageLine line;
    line.token = token;
    line.into = into;
    line.w_removed = weight;
    lineage.lines.push_back(line);
  }
  std::vector<int> order;
  for (const LineageLine& line : members_by_weight(lineage)) order.push_back(line.token);
  EXPECT_EQ(order, (std::vector<int>{5, 7, 2, 4}));
}

TEST(Members, TheInspectorListsThemAndAClickSelectsOne) {
  const Snapshot snapshot = small_snapshot();
  const auto view = make_inspector();
  Headless canvas(snapshot, {1550, 866});
  canvas.frame.selection.lane = 1;
  canvas.frame.selection.layer = canvas.frame.selection.kv_head = 0;
  canvas.frame.selection.slot = 3;
  view->choose(0, 3);
  canvas.draw(*view);
  const HeadPick pick = pick_head(snapshot, canvas.frame.selection);
  const auto members = members_by_weight(lineage_of(pick, 3));
  ASSERT_GE(members.size(), 2u);
  EXPECT_EQ(count_marks(*view, "lineage.member"), static_cast<int>(members.size()));
  for (const LineageLine& line : members) {
    const Mark* row = find_mark(*view, "lineage.member", "t" + std::to_string(line.token));
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->value, "into " + format_count(line.into) + " step " + format_count(line.end) + " weight " +
                              format_number(line.w_removed) + " cosine " + format_number(line.cos) + " votes " +
                              format_count(line.last_votes()));
  }
  const int second = members[1].token;
  canvas.click(*view, centre(*find_mark(*view, "lineage.member", "t" + std::to_string(second))));
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.slot, second);
  canvas.frame.selection.slot = 7;  // took nothing in
  canvas.frame.selection.tokens.reset();
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "empty", "members"), nullptr);
}

}  // namespace
}  // namespace kvscope::viz
