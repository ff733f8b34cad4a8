// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"
#include "policy/allocations/head_allocations.h"
#include "policy/allocations/layer_allocations.h"
#include "policy/rules.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

int sum_of(const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); }

TEST(Allocation, APyramidOf32LayersFallsFrom234To6) {
  const std::vector<double> shares = pyramid_shares(32, 120, 20, 4096);
  EXPECT_NEAR(shares.front(), 234, 1e-9);
  EXPECT_NEAR(shares.back(), 6, 1e-9);
  const std::vector<int> budgets = largest_remainder(shares, 32 * 120);
  EXPECT_EQ(sum_of(budgets), 32 * 120);
  EXPECT_TRUE(std::ranges::is_sorted(budgets, std::greater{}));
}

TEST(Allocation, APyramidIsFlatterWhereTheTextIsShort) {
  const std::vector<double> shares = pyramid_shares(4, 10, 20, 12);
  EXPECT_NEAR(shares.front(), 12, 1e-12);
  EXPECT_NEAR(shares.back(), 8, 1e-12);
  EXPECT_EQ(sum_of(largest_remainder(shares, 40)), 40);
}

TEST(Allocation, AllHeadsOfAPyramidLayerGetTheSameAndTheWindowOnTop) {
  EXPECT_THAT(PyramidAllocation(2).budgets({.n_layers = 3, .n_kv_heads = 2, .slots = 14, .observed = 4, .n_prompt = 100}),
              ElementsAre(19, 19, 14, 14, 9, 9));
  EXPECT_THAT(PyramidAllocation(2).budgets({.n_layers = 1, .n_kv_heads = 1, .slots = 14, .observed = 4, .n_prompt = 100}), ElementsAre(14));
}

TEST(Allocation, DecayingBudgetsKeepTheirMeanAndFallWithTheLayer) {
  for (const auto& [decay, last] : {std::pair{.9, .2}, {.8, .035}}) {
    const std::vector<double> shares = decaying_shares(32, 100, decay);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 3200, 1e-9);
    EXPECT_NEAR(shares.back() / shares.front(), last, 2e-3);
  }
  EXPECT_THAT(decaying_shares(8, 10, 1.0), Each(DoubleNear(10, 1e-12)));
}

TEST(Allocation, HeadsWithMoreOfTheBestScoresGetMore) {
  const std::vector<std::vector<double>> scores = {{9, 8, 7, 6, 5, 4, 3, .1}, {3.5, .2, .1, 0, 0, 0, 0, 0}};
  const std::vector<std::vector<int>> pos(2, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto caps = [&](double alpha, int most) { return joint_budgets(scores, pos, 4, alpha, std::vector{most, 8}).caps; };
  EXPECT_THAT(joint_budgets(scores, pos, 4, .5, std::vector{8, 8}).counts, ElementsAre(7, 1));
  EXPECT_THAT(caps(.5, 8), ElementsAre(6, 2));
  EXPECT_THAT(caps(.2, 8), ElementsAre(6, 2));
  EXPECT_THAT(caps(1, 8), ElementsAre(4, 4)) << "the safeguard alone";
  EXPECT_THAT(caps(0, 8), ElementsAre(7, 1)) << "no safeguard";
  EXPECT_THAT(caps(0, 5), ElementsAre(5, 3)) << "what a head cannot hold goes to the next";
}

TEST(Allocation, OfEqualScoresTheLowerPositionThenTheLowerHeadCounts) {
  EXPECT_THAT(
      joint_budgets(std::vector<std::vector<double>>{{1}, {1}}, std::vector<std::vector<int>>{{5}, {3}}, 0, 0, std::vector{1, 1}).counts,
      ElementsAre(0, 0));
  EXPECT_THAT(joint_budgets(std::vector<std::vector<double>>{{1, 0}, {1, 0}}, std::vector<std::vector<int>>{{5, 6}, {3, 6}}, 1, 0,
                            std::vector{2, 2})
                  .counts,
              ElementsAre(1, 1));
  EXPECT_THAT(
      joint_budgets(std::vector<std::vector<double>>{{1, 1}, {1}}, std::vector<std::vector<int>>{{2, 3}, {2}}, 1, 0, std::vector{2, 2})
          .counts,
      ElementsAre(1, 1));
}

// ---- files

class HeadFiles : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string name = "heads-" + std::to_string(getpid()) + "-" + std::to_string(count_++) + ".json";
    std::ofstream(testing::TempDir() + name) << text;
    return name;
  }
  std::vector<std::optional<int>> by_importance(const std::string& text, const BudgetShape& shape, double beta, int group) {
    return ImportanceAllocation({"scores", write(text), testing::TempDir()}, beta, group).budgets(shape);
  }
  std::string refusal(const std::string& text) {
    try {
      by_importance(text, {.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 100}, 1.5, 1);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  int count_ = 0;
};

TEST_F(HeadFiles, ImportanceOfTheGroupSplitsAShareOfTheBudget) {
  // B = 6, P = 6 / 1.5 = 4; importances 3 : 1 of a sum of 4, so 2 * 4 * 3/4 + 2 = 8 and 2 * 4 * 1/4 + 2 = 4; the window of 2 on top
  const BudgetShape shape{.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 100};
  EXPECT_THAT(by_importance("[[1, 2, 1, 0]]", shape, 1.5, 2), ElementsAre(10, 6));
  EXPECT_THAT(by_importance(R"({"0-0": [3, 3], "0-1": [0.5, 1.5], "7-7": []})", shape, 1.5, 1), ElementsAre(10, 6)) << "the published form";
}

TEST_F(HeadFiles, NoHeadGetsMoreThanTheTextHas) {
  EXPECT_THAT(by_importance("[[1, 0]]", {.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 11}, 1, 1),
              ElementsAre(11, 5));
}

TEST_F(HeadFiles, WrongFilesAreRefusedInOneLine) {
  for (const char* text : {"", "[", "3", "\"x\"", "[]", "[[1]]", "[[1, 2, 3]]", "[[1, null]]", "[[1, \"2\"]]", "[1, 2]", "{}",
                           R"({"0-0": [1]})", R"({"0-0": [1], "0-1": []})", "[[1, 1e999]]", "[[-1, 2]]", "[[0, 0]]", "[[[[[[[[[[[[[["}) {
    const std::string sentence = refusal(text);
    EXPECT_THAT(sentence, HasSubstr("scores: ")) << text;
    EXPECT_THAT(sentence, HasSubstr("expected")) << text;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
  const std::string deep(1 << 20, '[');
  EXPECT_NE(refusal(deep), "");
  EXPECT_EQ(refusal("[[1, 2]]"), "");
}

TEST_F(HeadFiles, AMissingFileSaysWhereItWasLookedFor) {
  EXPECT_THROW(
      {
        try {
          ImportanceAllocation({"scores", "nowhere.json", testing::TempDir()}, 1.5, 1)
              .budgets({.n_layers = 1, .n_kv_heads = 1, .slots = 4, .n_prompt = 9});
        } catch (const UsageError& e) {
          EXPECT_THAT(e.what(), HasSubstr("'nowhere.json' is neither in the working directory nor in the model's folder"));
          throw;
        }
      },
      UsageError);
}

TEST_F(HeadFiles, TheModelsOwnFileIsLookedForInItsFolderOnly) {
  const std::string name = write("[[3, 1]]");
  const BudgetShape shape{.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 100};
  const HeadFile own{.key = "scores", .name = name, .folder = testing::TempDir(), .of_model = true};
  EXPECT_TRUE(has_file(own));
  EXPECT_THAT(ImportanceAllocation(own, 1.5, 1).budgets(shape), ElementsAre(10, 6));
  const HeadFile elsewhere{.key = "scores", .name = name, .folder = "/nowhere", .of_model = true};
  EXPECT_FALSE(has_file(elsewhere));
  try {
    ImportanceAllocation(elsewhere, 1.5, 1).budgets(shape);
    FAIL() << "found";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("scores: expected " + name + " in the model's folder '/nowhere', got none; kvscope-cli heads makes one"));
  }
}

TEST_F(HeadFiles, TheLowestScoredHeadsStreamAndTheOthersKeepEverything) {
  const BudgetShape shape{.n_layers = 2, .n_kv_heads = 2, .slots = 20, .n_prompt = 10};
  const auto split = [&](const std::string& text, double sparsity) {
    return StreamingHeadsAllocation({"heads", write(text), testing::TempDir()}, sparsity, 2, 5).budgets(shape);
  };
  EXPECT_THAT(split("[[0.1, 0.9], [0.8, 0.2]]", .5), ElementsAre(7, std::nullopt, std::nullopt, 7));
  EXPECT_THAT(split("[[1, 1], [1, 1]]", .5), ElementsAre(7, 7, std::nullopt, std::nullopt)) << "ties: the lower index";
  EXPECT_THAT(split("[[1, 2], [3, 4]]", .1), Each(std::nullopt)) << "0.4 of a head rounds to none";
  EXPECT_THAT(split("[[1, 2], [3, 4]]", 1), Each(7));
}

TEST_F(HeadFiles, ScoresOfTheWholePromptTakeTheFilesPlace) {
  const StreamingHeadsAllocation allocation({"heads", "", ""}, .5, 2, 5);
  StatNeeds needs;
  allocation.require(needs);
  EXPECT_EQ(needs.outside, (StatNeeds::Outside{2, 5}));
  EXPECT_TRUE(allocation.needs_prompt());
  SlotState near_sighted, far_sighted;
  near_sighted.outside = .1;
  far_sighted.outside = .6;
  const std::vector<HeadView> heads = {{&far_sighted}, {&near_sighted}};
  EXPECT_THAT(allocation.after_prompt({.n_layers = 1, .n_kv_heads = 2}, heads), ElementsAre(std::nullopt, 7));
}

}  // namespace
}  // namespace kvscope
