// SPDX-License-Identifier: Apache-2.0
// Scores from keys, values and queries on examples that can be done by hand, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "policy/catalog.h"
#include "policy/contract.h"
#include "policy/near.h"
#include "policy/query_centers.h"
#include "policy/rankings/expected_ranking.h"
#include "policy/rankings/filter_ranking.h"
#include "policy/rankings/lag_ranking.h"
#include "policy/rankings/non_causal_ranking.h"
#include "policy/rankings/norm_product_ranking.h"
#include "policy/rankings/question_ranking.h"
#include "policy/rankings/redundancy_ranking.h"
#include "policy/rankings/removal_ranking.h"
#include "policy/rankings/trigonometric_ranking.h"
#include "policy/refusal.h"
#include "policy/selections/chunk_selection.h"

namespace kvscope {
namespace {

using test::expect_near;
using Numbers = std::vector<double>;

TEST(LagRanking, WhatStandsOutAgainstTheNextPartitionRanksHigher) {
  // next partition: both channels from 0 to 1; (0, 0) deviates by 0, (0, 4) by 4/sqrt(2)
  const Numbers rows = {0, 0, 0, 4, 0, 0, 1, 1};
  EXPECT_EQ(lag_scores(rows, rows, 4, 0, 2, false), (Numbers{0, 0.5, 1, 1})) << "the last partition stays";
  const Numbers scores = lag_scores(rows, rows, 4, 0, 2, true);
  EXPECT_NEAR(scores[1], 1 / (1 + std::exp(-4 / std::sqrt(2))), 1e-12);
}

TEST(LagRanking, AShortTextKeepsTheNewest) {
  const Numbers rows(12, 1.0);
  EXPECT_EQ(lag_scores(rows, rows, 6, 2, 3, false), (Numbers{1, 1, 0, 0.25, 0.5, 0.75}));
}

TEST(LagRanking, AChannelWithoutRangeCountsNothing) {
  const Numbers rows(8, 3.0);
  for (const double x : lag_scores(rows, rows, 4, 0, 2, true)) EXPECT_TRUE(std::isfinite(x));
}

TEST(NormProductRanking, SharesOfAWindowAreMultiplied) {
  // keys 1:3 and 1:1, values 1:1 and 1:1: shares .5 .5 | .5 .5 of values, .1 .9 | .5 .5 of keys; products sum to 1
  const Numbers score = norm_products(Numbers{1, 3, 2, 2}, Numbers{1, 1, 5, 5}, 2);
  for (const auto& [i, expected] : {std::pair{0, 0.05}, {1, 0.45}, {2, 0.25}, {3, 0.25}})
    EXPECT_NEAR(score[static_cast<std::size_t>(i)], expected, 1e-12);
  EXPECT_EQ(norm_products(Numbers{0, 0}, Numbers{1, 1}, 16), (Numbers{0, 0})) << "no keys, no score";
}

TEST(LeverageRanking, AKeyOfItsOwnDirectionHasLeverageOne) {
  // centred: three rows (-.25, ...) and one that leaves: the fourth alone spans the second channel
  const Numbers score = leverage_scores({100, 0, -100, 0, 0, 100, 0, -100}, 2);
  for (const double x : score) EXPECT_NEAR(x, 0.5, 1e-5);
  const Numbers alone = leverage_scores({0, 0, 0, 0, 0, 0, 400, 0}, 2);
  EXPECT_NEAR(alone[3], 0.75, 1e-5);
  EXPECT_NEAR(alone[0], 0.25 / 3, 1e-5);
}

TEST(NonCausalRanking, LaterQueriesCountAndAnIncompleteChunkIsFilledUp) {
  const Numbers q = {1, 1}, k = {0, std::log(3)};
  Numbers sums(2, 0.0);
  add_chunk_attention(q, k, 2, 2, sums);
  EXPECT_NEAR(sums[0], 0.5, 1e-12);
  EXPECT_NEAR(sums[1], 1.5, 1e-12);
  Numbers filled(2, 0.0);
  add_chunk_attention(q, k, 2, 3, filled);  // a third key of logit 0, a third query that sees all alike
  EXPECT_NEAR(filled[0], 2.0 / 5 + 1.0 / 3, 1e-12);
  EXPECT_NEAR(filled[1], 6.0 / 5 + 1.0 / 3, 1e-12);
}

TEST(ExpectedRanking, TheSpreadOfTheQueriesCounts) {
  const Numbers mean = {2, 0}, covariance = {0, 0, 0, 8}, keys = {1, 0, 0, 1};
  EXPECT_NEAR(expected_logits(mean, {}, keys)[0], std::sqrt(2), 1e-12);
  EXPECT_NEAR(expected_logits(mean, covariance, keys)[1], 2, 1e-12);
}

TEST(RedundancyRanking, OfKeysThatSayTheSameTheNewestIsSpared) {
  const Numbers same = {1, 0, 2, 0, 3, 0}, apart = {1, 0, 0.6, 0.8};
  // each slot's newest double does not count: columns 2, 1 and 0 of three
  Numbers expected = {std::exp(2.0 / 3), std::exp(1.0 / 3), 1};
  for (double& x : expected) x /= std::exp(2.0 / 3) + std::exp(1.0 / 3) + 1;
  expect_near(key_redundancy(same, 3, 0.5), expected);
  // cosine 0.6; where none is above the first slot is spared, else the newest
  expect_near(key_redundancy(apart, 2, 0.9), {1 / (1 + std::exp(0.3)), 1 / (1 + std::exp(-0.3))});
  expect_near(key_redundancy(apart, 2, 0.5), {0.5, 0.5});
}

TEST(RedundancyRanking, LongTextsAreLikeThePlainSum) {
  constexpr std::size_t n = 201, width = 5;  // more than one block of columns, and not whole ones
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Numbers keys(n * width);
  for (double& x : keys) x = normal(random);
  std::fill_n(keys.begin() + 40 * width, width, 0.0);  // a key without a direction
  test::Rows rows;
  std::vector<int> all;
  for (std::size_t i = 0; i < n; ++i) {
    rows.emplace_back(keys.begin() + static_cast<std::ptrdiff_t>(i * width), keys.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    all.push_back(static_cast<int>(i));
  }
  for (const double similar : {0.0, 0.5, 0.97, 1.0}) {
    Numbers cosines = test::RowGeometry(rows).cosines(all, all), expected(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t newest = 0;
      for (std::size_t j = 0; j < n; ++j)
        if (j != i && cosines[i * n + j] > similar) newest = j;
      for (std::size_t j = 0; j < n; ++j)
        if (j != i && j != newest) expected[j] += cosines[i * n + j] / n;
    }
    expect_near(key_redundancy(keys, n, similar), test::softmax(expected));
  }
}

TEST(RedundancyRanking, ImportanceIsTheLargestLogitOfTheGroup) {
  LogMeanRows z(2, 2);
  const double l = std::log(3);
  z.load(Numbers{0, l, 0, 0, 9, 9, 0, 0, 0, 0, 9, 9}, 2);  // two rows of three slots, of which the last is not ranked
  expect_near(window_importance(z, 2, 2), {0.625, 0.375});
  expect_near(window_importance(z, 1, 2), {0.5, 0.5});
}

TEST(RemovalRanking, TheScoreIsTheMoveOfTheOutput) {
  // p = 3/4 and 1/4, values (0, 0) and (4, 0), output (1, 0): without the first it is (4, 0), without the second (0, 0)
  Numbers sums(2, 0.5);
  add_removal_effects(Numbers{std::log(3), 0}, Numbers{0, 0, 4, 0}, 0, sums);
  expect_near(sums, {0.5 + 9, 0.5 + 1});
  Numbers of_older(3, 0.0);  // a query that is older than the last slot
  add_removal_effects(Numbers{std::log(3), 0, -std::numeric_limits<double>::infinity()}, Numbers{0, 0, 4, 0, 9, 9}, 0, of_older);
  expect_near(of_older, {9, 1, 0});
}

TEST(RemovalRanking, NeighboursShareTheirScoresButTheWindow) {
  SlotState slots = test::slots_of(4);
  slots.z_rows = LogMeanRows(1, 1);
  slots.z_rows.load(Numbers{std::log(3), 0, -1000, -1000}, 1);
  const test::Rows keys = {{0, 0}, {0, 4}, {0, 0}, {0, 0}};  // values are keys the other way round
  const test::RowGeometry geometry(keys);
  const Numbers score = RemovalRanking({.window = 1, .kernel = 3, .eps = 0, .group = 1}).score({&slots, &geometry, 0, 0});
  expect_near({score[0], score[1], score[2]}, {10.0 / 3, 10.0 / 3, 1.0 / 3});
  EXPECT_TRUE(std::isnan(score[3]));
}

TEST(TrigonometricRanking, DistanceDecidesAsFarAsTheQueriesAgree) {
  const double pi = std::acos(-1.0);
  constexpr double kTurns = 1e-10;  // 65536 times pi as a double is not a whole number of turns
  const Numbers keys = {1, 0, 0, 2};
  const std::vector<int> pos = {3, 4};
  expect_near(trigonometric_scores({.mean = {1, 0}, .length = {1.5}, .turn = {0}}, keys, pos, 5), {1 + 0.5, 0 + 1});
  // half a turn per position: of the offsets only the first is odd, and slot 4 lies one position before the next token
  expect_near(trigonometric_scores({.mean = {1, 0}, .length = {1}, .turn = {pi}}, keys, pos, 5), {15.0 / 17, 0}, kTurns);
  expect_near(trigonometric_scores({.mean = {0, 1}, .length = {1}, .turn = {pi}}, keys, pos, 5), {0, -2 * 15.0 / 17}, kTurns);
  expect_near(trigonometric_scores({.mean = {2}, .length = {}, .turn = {}}, Numbers{3, -1}, pos, 5), {6, -2});
}

TEST(TrigonometricRanking, CentersAreMeansOfTheQueriesAndOfTheirLengths) {
  const QueryCenters c = query_centers(test::RowQueries({3, 4, 1, 0, -3, 4, 0, -2}, 2), 2, 2);
  expect_near(c.mean, {0, 4, 0.5, -1});
  expect_near(c.length, {5, 1.5});
  expect_near(c.turn, {0});
}

TEST(QuestionRanking, AQueryThatSeesMoreSlotsCountsMore) {
  SlotState slots = test::slots_of(4);
  slots.rows = RowRing(2, 1, RowSums::by_place);
  slots.rows.load(Numbers{0.6, 0.4, 0, 0, 0.2, 0.2, 0.6, 0}, 2);
  const HeadView head{&slots, nullptr, 0, 0};
  const Numbers weighted = QuestionRanking(2, true).score(head), plain = QuestionRanking(2, false).score(head);
  expect_near({weighted[0], weighted[1]}, {(2 * 0.6 + 3 * 0.2) / 2, (2 * 0.4 + 3 * 0.2) / 2});
  expect_near({plain[0], plain[1]}, {0.4, 0.3});
  EXPECT_TRUE(std::isnan(weighted[2]) && std::isnan(plain[3])) << "the question is not ranked";
}

TEST(FilterRanking, AlongTheFilterIsWorthLess) {
  const ModelConfig model = test::tiny_model(1, 1, 1, 2);
  const auto filters =
      std::make_shared<HeadVectors>(HeadVectors{.path = "f", .n_layers = 1, .n_kv_heads = 1, .width = 2, .numbers = {3, -1}});
  const SlotState slots = test::slots_of(2);
  const test::Rows keys = {{1, 2}, {-1, 0}};
  const test::RowGeometry geometry(keys);
  expect_near(FilterRanking(filters, model).score({&slots, &geometry, 0, 0}), {-1, 3});
  EXPECT_THROW(FilterRanking(nullptr, model), UsageError);
  EXPECT_THROW(FilterRanking(filters, test::tiny_model(2, 1, 1, 2)), UsageError);
  EXPECT_THROW(FilterRanking(filters, test::tiny_model(1, 2, 1, 2)), UsageError);
  EXPECT_THROW(FilterRanking(filters, test::tiny_model(1, 1, 1, 4)), UsageError);
}

/// Slots of a head after the prompt and after each of the following steps.
std::vector<int> sizes(const std::string& spec, PromptMode mode, int n_prompt, int n_more) {
  const ModelConfig model = test::tiny_model(1, 1, 2);
  test::TinyLane lane(spec, model, n_prompt, mode, 1);
  const bool prefill = mode == PromptMode::prefill;
  if (prefill) lane.load(n_prompt);
  std::vector<int> out;
  for (int step = 0; step < n_more + (prefill ? 1 : n_prompt); ++step) {
    if (!prefill || step > 0) lane.step();
    const std::vector<Plan> plans = lane.plan_layer(0, step, prefill && step == 0);
    lane.head(0, 0).apply(lane.policy->needs(0), plans[0]);
    out.push_back(lane.head(0, 0).slots.size());
  }
  return out;
}

TEST(Cadence, EverySoManyTokens) {
  using Sizes = std::vector<int>;
  for (const char* stat : {"sum", "knorm", "none", "pooled", "rkv", "dropkv", "question", "tri"}) {
    const std::string spec = std::string("custom:slots=9,sinks=0,every=3,stat=") + stat;
    EXPECT_EQ(sizes(spec, PromptMode::prefill, 12, 7), (Sizes{9, 10, 11, 9, 10, 11, 9, 10})) << stat;
    EXPECT_EQ(sizes(spec + ",after_prompt=0", PromptMode::prefill, 12, 4), (Sizes{12, 13, 14, 9, 10})) << stat;
    EXPECT_EQ(sizes(spec, PromptMode::prefill, 5, 7), (Sizes{5, 6, 7, 8, 9, 10, 9, 10})) << stat << ": enough room for the first six";
  }
  EXPECT_EQ(sizes("custom:slots=5,sinks=0,every=4,stat=sum", PromptMode::stream, 9, 0), (Sizes{1, 2, 3, 4, 5, 6, 7, 5, 6}));
  EXPECT_EQ(sizes("rkv:slots=9", PromptMode::prefill, 12, 3), (Sizes{9, 10, 11, 12})) << "128 tokens are far away";
}

HeadDecision decision(const SlotState& slots, Numbers score, int budget) {
  HeadDecision d;
  d.begin({&slots, nullptr, 0, 0});
  d.budget = budget;
  d.is_protected.assign(score.size(), 0);
  d.plan.score = d.score = std::move(score);
  return d;
}

TEST(ChunkSelection, WholeChunksStayByTheirMean) {
  const SlotState slots = test::slots_of(7);
  HeadDecision d = decision(slots, {1, 1, 9, 0, 2, 2, 3}, 5);  // means 1, 4.5, 2, 3
  ChunkSelection(2, ChunkSelection::Keeps::share, 0).select(d, 0);
  EXPECT_EQ(d.keep, (std::vector<int>{2, 3, 6})) << "floor(4 x 5/7) = 2 chunks, the shorter one counts as one";
  EXPECT_EQ(d.plan.score[3], 4.5) << "the score shown is the chunk's";
}

TEST(ChunkSelection, PagesFitIntoTheBudgetAndSpareWhatIsProtected) {
  const SlotState slots = test::slots_of(7);
  HeadDecision d = decision(slots, {1, 1, 9, 0, 2, 2, 3}, 3);
  d.is_protected[0] = 1;
  ChunkSelection(2, ChunkSelection::Keeps::fits, 0).select(d, 0);
  EXPECT_EQ(d.keep, (std::vector<int>{0, 1})) << "the page of a protected slot goes last; the next best of two does not fit beside it";
  d = decision(slots, {1, 1, 9, 0, 2, 2, 3}, 1);
  d.is_protected[0] = 1;
  ChunkSelection(2, ChunkSelection::Keeps::fits, 0).select(d, 0);
  EXPECT_EQ(d.keep, (std::vector<int>{0}));
}

TEST(GeometryRankings, WhatDoesNotGoTogetherIsRefused) {
  for (const char* spec : {"noncausal:slots=9", "compactor:slots=14", "expected:slots=9"})
    expect_refused(spec, PromptMode::stream, "expected prompt mode prefill");
  expect_refused("custom:stat=expected,slots=9,cadence=every_step", PromptMode::prefill, "only right after it");
  expect_refused("custom:stat=noncausal,slots=9,refresh=2", PromptMode::prefill, "only right after it");
  expect_refused("custom:stat=leverage,slots=9,reweight=critical", PromptMode::prefill, "may be negative");
  expect_refused("custom:select=pages,slots=9,unit=head", PromptMode::prefill, "a page holds the same tokens");
  expect_refused("custom:select=chunks,stat=none,slots=9", PromptMode::prefill, "no chunk is worth more");
  expect_refused("custom:select=chunks,alloc=ada,unit=head,slots=9", PromptMode::prefill, "not in chunks");
  expect_refused("tri:slots=9", PromptMode::stream, "expected prompt mode prefill");
  expect_refused("custom:stat=expected,slots=9,every=4", PromptMode::prefill, "only right after it");
  expect_refused("custom:merge=zeromerge,slots=9,every=4", PromptMode::prefill, "in every step");
  expect_refused("custom:stat=rkv,select=context,cadence=every_step,slots=9", PromptMode::prefill, "only when something is removed");
  expect_refused("custom:stat=tri,slots=9,reweight=critical", PromptMode::prefill, "may be negative");
  expect_refused("custom:stat=sum,cadence=once,slots=9,every=4", PromptMode::prefill, "every");
  expect_refused("rkv:slots=9,every=0", PromptMode::prefill, "every");
  expect_refused("rkv:slots=9,similar=2", PromptMode::prefill, "similar");
  expect_refused("qfilter:slots=9", PromptMode::prefill, "got none");
  expect_refused("kvzap:slots=9", PromptMode::prefill, "got none");
  expect_refused("fastkvzip:slots=9", PromptMode::prefill, "got none");
  expect_refused("lukv:slots=9", PromptMode::prefill, "got none");
  expect_refused("custom:stat=kvzap,slots=9,reweight=critical", PromptMode::prefill, "may be negative");
  expect_refused("custom:stat=sum,alloc=curves,unit=layer,slots=9", PromptMode::prefill, "the same slots");
  expect_refused("lagkv:lag=1,slots=9", PromptMode::prefill, "lag");
  expect_refused("compactor:blend=x,slots=14", PromptMode::prefill, "blend");
  expect_refused("pages:block=0,slots=9", PromptMode::prefill, "block");
}

}  // namespace
}  // namespace kvscope
