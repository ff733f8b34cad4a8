// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand/moved_edits.h"

#include <set>

#include <gtest/gtest.h>

namespace kvscope {
namespace {

using Ids = std::vector<int>;

TEST(MovedEditsTest, AChangeIsWhatIsLeftBetweenTheTwoEnds) {
  EXPECT_EQ(change_between({1, 2, 3}, {1, 9, 2, 3}), (TextChange{1, 2, 3, 4}));
  EXPECT_EQ(change_between({1, 2, 3}, {1, 3}), (TextChange{1, 1, 3, 2}));
  EXPECT_EQ(change_between({1, 5, 5}, {1, 5, 5, 5}), (TextChange{3, 0, 3, 4})) << "a token of one is not two of the other";
  EXPECT_EQ(change_between({}, {1}), (TextChange{0, 0, 0, 1}));
  EXPECT_EQ(change_between({1, 5, 6, 7}, {2, 8, 9, 5, 6, 7, 3}), (TextChange{0, 0, 4, 7, 3, 1, 3})) << "a template came around it";
  EXPECT_EQ(change_between({2, 8, 9, 5, 6, 7, 3}, {1, 5, 6, 7}), (TextChange{0, 0, 7, 4, 3, 3, 1})) << "and went";
  EXPECT_EQ(change_between({1, 5, 6, 7}, {2, 8, 9, 4, 6}), (TextChange{0, 0, 4, 5})) << "another text";
}

LaneEdits evict(Ids positions, int step, int into = -1) {
  WhatIf w;
  w.kind = into < 0 ? WhatIf::Kind::evict : WhatIf::Kind::merge;
  w.positions = std::move(positions);
  w.step = step;
  w.into = into;
  return {{w}, {}};
}

TEST(MovedEditsTest, AnEditIsAboutTheSameTokens) {
  const TextChange typed{2, 5, 8, 11};  // three tokens more in place of the third
  const MovedEdits moved = moved_edits(evict({1, 3, 9}, 4), typed, false);
  EXPECT_EQ(moved.edits.what_ifs.at(0).positions, (Ids{1, 6, 12})) << "before it, behind it, and after the prompt";
  EXPECT_EQ(moved.edits.what_ifs.at(0).step, 4) << "the prompt is one step";
  EXPECT_TRUE(moved.lost.empty());
  EXPECT_EQ(moved_edits(evict({1}, 4), typed, true).edits.what_ifs.at(0).step, 7);
}

TEST(MovedEditsTest, WhatNamesAGoneTokenGoes) {
  const TextChange typed{2, 5, 8, 7};
  EXPECT_EQ(moved_edits(evict({2}, 0), typed, false).lost, std::set{2});
  EXPECT_TRUE(moved_edits(evict({2}, 0), typed, false).edits.what_ifs.empty());
  EXPECT_EQ(moved_edits(evict({1, 2}, 0), typed, false).edits.what_ifs.at(0).positions, (Ids{1}));
  EXPECT_TRUE(moved_edits(evict({1}, 0, 2), typed, false).edits.what_ifs.empty()) << "nothing to merge into";
}

TEST(MovedEditsTest, ATokenThatSeveralEditsNameIsLostOnce) {
  LaneEdits edits = evict({1, 2}, 0, 3);
  edits.what_ifs.push_back(evict({2}, 4).what_ifs.front());
  edits.what_ifs.push_back(evict({1}, 4, 2).what_ifs.front());
  const TextChange other{1, 0, 8, 7};
  EXPECT_EQ(moved_edits(edits, other, false).lost, (std::set{1, 2, 3}));
  EXPECT_EQ(edits_without(edits, [](int token) { return token == 2; }).lost, std::set{2});
}

/// A text that ends otherwise goes on otherwise.
TEST(MovedEditsTest, ATokenAfterThePromptStaysWithItsEnd) {
  EXPECT_EQ(moved_edits(evict({9}, 4), {2, 1, 8, 8}, false).edits.what_ifs.at(0).positions, (Ids{9}));
  EXPECT_EQ(moved_edits(evict({9}, 4), {2, 0, 8, 8}, false).lost, std::set{9});
}

TEST(MovedEditsTest, WhatIsLostIsKnownBeforeTheNewTextHasTokens) {
  ReadPrompt before{"one two three", {}};
  for (const auto& [begin, end] : {std::pair(0, 0), {0, 3}, {3, 7}, {7, 13}}) {
    before.tokens.emplace_back().text_begin = begin;
    before.tokens.back().text_end = end;
  }
  const auto lost = [&](std::string_view after) {
    std::vector<bool> out;
    for (int token = 0; token < 5; ++token) out.push_back(text_kept(before.text, after).lost(before, token));
    return out;
  };
  using Lost = std::vector<bool>;
  EXPECT_EQ(lost("one two three"), (Lost{false, false, false, false, true})) << "with all of it kept as a beginning";
  EXPECT_EQ(lost("one 2 three"), (Lost{false, false, true, false, false}));
  EXPECT_EQ(lost("now one two three"), (Lost{false, false, false, false, false})) << "moved, and there";
  EXPECT_EQ(lost("one two"), (Lost{false, false, false, true, true}));
  EXPECT_EQ(lost("several seas"), (Lost{false, true, true, true, true})) << "the start token begins every text";
}

}  // namespace
}  // namespace kvscope
