// SPDX-License-Identifier: Apache-2.0
#include "backend/numbers_reference.h"
#include "policy/rankings/predicted_share.h"
#include "policy/rankings/ranking.h"
#include "policy/statistics/statistics.h"

namespace kvscope::test {
namespace {

class NumbersOfSlots : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend_for(int group) const { return make(config_of(group, 1, 8)); }
};

/// Every number and every question about them, beside the reference.
void expect_same(HeadNumbers& head, const Rows& expected, int steps) {
  const Rows got = head.rows();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same_numbers(got[i], expected[i])) << "slot " << i << " after " << steps;
  const int n = static_cast<int>(expected.size());
  for (const SlotScore score : kAllScores) {
    Numbers scores;
    for (int i = 0; i < n; ++i) scores.push_back(score_reference(head.rules, expected, head.group, score, steps, i, head.pooling));
    const Lowest low = head.lowest(score, steps, 0, n), reference = lowest_reference(scores, 0, n, {}, ties_of(head.rules, expected, score));
    ASSERT_EQ(low.slot, reference.slot) << static_cast<int>(score) << " after " << steps;
    ASSERT_TRUE(same_number(low.score, reference.score)) << static_cast<int>(score) << ": " << low.score << " and " << reference.score;
    for (int g = 0; g < head.group; ++g)
      ASSERT_TRUE(same_number(head.log_z[place(g)], log_normaliser_reference(head.rules, expected, g))) << g;
  }
}

TEST_P(NumbersOfSlots, AreWhatTheirFormulasSayForEveryGroup) {
  for (const int group : {1, 2, 4, 7, 8}) {
    const auto b = backend_for(group);
    for (const GroupReduce reduce : {GroupReduce::mean, GroupReduce::max, GroupReduce::sum}) {
      HeadNumbers head(*b, all_rules(group, reduce), group);
      Rows expected;
      for (int step = 0; step < 13; ++step) {  // a ring that is short, full and wrapped
        const int n = step + 1 + step / 4;
        const StepRows given = head.observe(n, step, random_step(group, n, static_cast<unsigned>(100 * group + step)));
        observe_reference(head.rules, group, n, step, given, expected);
        ASSERT_NO_FATAL_FAILURE(expect_same(head, expected, step + 1));
      }
    }
  }
}

TEST_P(NumbersOfSlots, AreWhatTheHostKeepsOfTheSameRows) {
  constexpr int kGroup = 4, kRing = 6;
  const auto b = backend_for(kGroup);
  for (const GroupReduce reduce : {GroupReduce::mean, GroupReduce::max, GroupReduce::sum}) {
    HeadNumbers head(*b, all_rules(kGroup, reduce, kRing), kGroup);
    const NumberRules& r = head.rules;
    StatNeeds needs;
    needs.group = reduce;
    needs.sum = needs.sum_sq = needs.decayed = needs.ema = needs.key_norm = true;
    needs.hits = r.hit_rows;
    needs.lambda = r.lambda;
    needs.ema_alpha = r.alpha;
    needs.z_rows = 1;
    needs.rows = kRing;
    needs.row_sums = RowSums::by_place;
    SlotState state;
    for (int step = 0; step < 25; ++step) {
      append_slot(state, needs, kGroup, step, norm_of_new(state.size(), step));
      const int n = state.size();
      const StepRows given = head.observe(n, step, random_step(kGroup, n, static_cast<unsigned>(7 * step)));
      observe_step(state, needs, kGroup, given.a, given.z);
      const Rows rows = head.rows();
      for (int i = 0; i < n; ++i) {
        const Numbers& row = rows[place(i)];
        EXPECT_EQ(row[place(r.times)], state.times[place(i)]);
        EXPECT_EQ(row[place(r.ema_n)], state.ema_n[place(i)]);
        EXPECT_TRUE(same_number(row[place(r.sum)], state.sum[place(i)]));
        EXPECT_TRUE(same_number(row[place(r.sum_sq)], state.sum_sq[place(i)]));
        EXPECT_EQ(row[place(r.key_norm)], state.key_norm[place(i)]);
        EXPECT_EQ(row[place(r.hit_count)], state.hits.counts()[place(i)]);
        EXPECT_TRUE(same_number(row[place(r.decayed)], state.decayed[place(i)]));
        for (int g = 0; g < kGroup; ++g) EXPECT_TRUE(same_number(row[place(r.ema + g)], state.ema[place(i * kGroup + g)])) << i << " " << g;
        for (int m = 0; m < state.rows.rows(); ++m) {
          const int of_step = step + 1 - state.rows.rows() + m;
          EXPECT_TRUE(same_number(row[place(r.ring + of_step % kRing)], state.rows.number(m, i, 0))) << i << " " << of_step;
        }
      }
      const std::vector<std::pair<SlotScore, Numbers>> scores = {
          {SlotScore::sum, state.sum},
          {SlotScore::mean, MeanRanking().statistic(state)},
          {SlotScore::decayed, state.decayed},
          {SlotScore::window, WeightedRowsRanking(kRing).statistic(state)},
          {SlotScore::ema_share, predicted_shares(state, Predict::ema, kGroup, r.alpha)},
          {SlotScore::key_norm, KeyNormRanking().statistic(state)},
          {SlotScore::hits, HitRanking(r.hit_rows).statistic(state)},
          {SlotScore::pooled, PooledWindowRanking(0, head.pooling.kernel, Pool::max).score({.slots = &state})}};
      for (const auto& [score, numbers] : scores) {
        const Lowest low = head.lowest(score, step + 1, 0, n), reference = lowest_reference(numbers, 0, n, {}, ties_of(r, rows, score));
        EXPECT_EQ(low.slot, reference.slot) << static_cast<int>(score) << " after step " << step;
        EXPECT_TRUE(same_number(low.score, reference.score)) << static_cast<int>(score) << ": " << low.score << " and " << reference.score;
      }
      EXPECT_TRUE(same_numbers(head.log_z, log_normalisers(state, log_scores(state, Predict::ema, kGroup, r.alpha), kGroup)));
      if (step % 5 == 3) {  // some go, one gets what another had
        state.votes[1] = 3;
        state.extra[1] = 0.25 * step;
        Numbers row = rows[1];
        row[place(r.votes)] = 3;
        row[place(r.extra)] = 0.25 * step;
        head.set(1, row);
        const std::vector<int> gone = {0, n - 2};
        remove_slots(state, gone);
        head.remove(gone);
      }
    }
  }
}

TEST_P(NumbersOfSlots, OfFewKindsHaveNoPlaceForOthers) {
  constexpr int kGroup = 2;
  const auto b = backend_for(kGroup);
  HeadNumbers sums(*b, {.width = 1, .sum = 0}, kGroup), scores(*b, {.width = 3, .ema_n = 0, .ema = 1, .alpha = 0.9}, kGroup);
  Rows expected_sums, expected_scores;
  for (int step = 0; step < 3; ++step) {
    const StepRows rows = random_step(kGroup, step + 2, static_cast<unsigned>(step));
    observe_reference(sums.rules, kGroup, step + 2, step, sums.observe(step + 2, step, rows), expected_sums);
    observe_reference(scores.rules, kGroup, step + 2, step, scores.observe(step + 2, step, rows), expected_scores);
  }
  EXPECT_TRUE(same_numbers(flat(sums.rows()), flat(expected_sums)));
  EXPECT_TRUE(same_numbers(flat(scores.rows()), flat(expected_scores)));
  EXPECT_GE(sums.lowest(SlotScore::sum, 3, 0, 4).slot, 0);
  EXPECT_EQ(sums.log_z, Numbers(kGroup, 0.0)) << "there is no EMA";
}

TEST_P(NumbersOfSlots, ALogitOfMinusInfinityChangesNoEma) {
  constexpr int kGroup = 2;
  const auto b = backend_for(kGroup);
  HeadNumbers head(*b, all_rules(kGroup, GroupReduce::mean), kGroup);
  Rows expected;
  for (int step = 0; step < 4; ++step) {
    StepRows rows = random_step(kGroup, 4, static_cast<unsigned>(step));
    rows.z[1] = rows.z[5] = -INFINITY;  // slot 1 is never scored
    if (step == 2) rows.z[0] = rows.z[4] = -INFINITY;
    if (step == 3) rows.z[4 + 2] = -INFINITY;  // for the second query head alone
    observe_reference(head.rules, kGroup, 4, step, head.observe(4, step, rows), expected);
    ASSERT_NO_FATAL_FAILURE(expect_same(head, expected, step + 1));
  }
  const Rows rows = head.rows();
  EXPECT_EQ(rows[1][place(head.rules.ema_n)], 0);
  EXPECT_EQ(rows[1][place(head.rules.ema)], -INFINITY);
  EXPECT_EQ(rows[0][place(head.rules.ema_n)], 3);
  EXPECT_EQ(rows[2][place(head.rules.ema_n)], 4);
  EXPECT_EQ(head.lowest(SlotScore::ema_share, 4, 0, 4), (Lowest{1, 0.0}));
}

TEST_P(NumbersOfSlots, ThatWereNeverScoredHaveNoShareAndTheLastGoes) {
  constexpr int kGroup = 2;
  const auto b = backend_for(kGroup);
  HeadNumbers head(*b, all_rules(kGroup, GroupReduce::mean), kGroup);
  head.observe(3, 0, {Numbers(6, 0.25), Numbers(6, -INFINITY)});
  EXPECT_EQ(head.lowest(SlotScore::ema_share, 1, 0, 3), (Lowest{2, -INFINITY}));
  EXPECT_TRUE(std::isnan(head.log_z[0]));
}

TEST_P(NumbersOfSlots, AnAttentionThatIsNoNumberGoesFirst) {
  constexpr int kGroup = 2;
  const auto b = backend_for(kGroup);
  HeadNumbers head(*b, all_rules(kGroup, GroupReduce::sum), kGroup);
  StepRows rows = random_step(kGroup, 5, 1);
  rows.a[1] = rows.a[5 + 3] = std::nan("");
  head.observe(5, 0, rows);
  EXPECT_TRUE(std::isnan(head.rows()[1][place(head.rules.sum)]));
  EXPECT_EQ(head.rows()[1][place(head.rules.times)], 1);
  for (const SlotScore score : {SlotScore::sum, SlotScore::mean, SlotScore::decayed, SlotScore::window}) {
    EXPECT_EQ(head.lowest(score, 1, 0, 5), (Lowest{3, -INFINITY})) << static_cast<int>(score);
    EXPECT_EQ(head.lowest(score, 1, 0, 3), (Lowest{1, -INFINITY})) << static_cast<int>(score);
  }
}

TEST_P(NumbersOfSlots, OfEqualOnesTheLastOfThoseThatMayGoes) {
  const auto b = backend_for(1);
  Numbers sums(300, 2.0);
  sums[3] = sums[7] = sums[70] = sums[290] = 1.0;
  HeadNumbers head(*b, {.width = 1, .sum = 0}, 1, sums);
  const auto slot = [&](int first, int last, const std::vector<int>& left_out = {}) {
    return head.lowest(SlotScore::sum, 9, first, last, left_out);
  };
  EXPECT_EQ(slot(0, 300), (Lowest{290, 1.0}));
  EXPECT_EQ(slot(0, 290), (Lowest{70, 1.0}));
  EXPECT_EQ(slot(8, 60), (Lowest{59, 2.0}));
  EXPECT_EQ(slot(0, 300, {290}), (Lowest{70, 1.0}));
  EXPECT_EQ(slot(0, 300, {0, 3, 70, 290, 299}), (Lowest{7, 1.0}));
  EXPECT_EQ(slot(3, 4), (Lowest{3, 1.0}));
  EXPECT_EQ(slot(3, 4, {3}), (Lowest{-1, INFINITY}));
  EXPECT_EQ(slot(5, 5), (Lowest{-1, INFINITY}));
  EXPECT_EQ(slot(9, 5), (Lowest{-1, INFINITY}));
  for (double& x : sums) x = INFINITY;
  HeadNumbers endless(*b, {.width = 1, .sum = 0}, 1, sums);
  EXPECT_EQ(endless.lowest(SlotScore::sum, 9, 10, 200), (Lowest{199, INFINITY}));
  HeadNumbers empty(*b, {.width = 1, .sum = 0}, 1);
  EXPECT_EQ(empty.lowest(SlotScore::sum, 0, 0, 0), (Lowest{-1, INFINITY}));
}

TEST_P(NumbersOfSlots, OfAnyNumberOfSlotsAreAskedAndObserved) {
  constexpr int kGroup = 3;
  const auto b = backend_for(kGroup);
  for (const int n : {1, 31, 33, 257, 4097}) {
    const int steps = n == 257 ? 3 : 50;  // a ring that is not full yet
    const Rows start = random_rows(all_rules(kGroup, GroupReduce::mean), kGroup, n, static_cast<unsigned>(n));
    HeadNumbers head(*b, all_rules(kGroup, GroupReduce::mean), kGroup, flat(start));
    const std::vector<int> left_out = {n / 3, n / 2 + 1};
    for (const SlotScore score : kAllScores) {
      const bool share = score == SlotScore::ema_share;  // the reference is slow in it
      Numbers scores;
      for (int i = 0; i < n; ++i)
        scores.push_back(share && n > 300 ? 0.0 : score_reference(head.rules, start, kGroup, score, steps, i, head.pooling));
      const Lowest low = head.lowest(score, steps, 0, n, left_out),
                   reference = lowest_reference(scores, 0, n, left_out, ties_of(head.rules, start, score));
      EXPECT_TRUE(same_number(head.log_z[2], log_normaliser_reference(head.rules, start, 2))) << n;
      if (share && n > 300) continue;
      EXPECT_EQ(low.slot, reference.slot) << n << " " << static_cast<int>(score);
      EXPECT_TRUE(same_number(low.score, reference.score)) << low.score << " and " << reference.score;
    }
    Rows expected = start;
    observe_reference(head.rules, kGroup, n + 2, steps, head.observe(n + 2, steps, random_step(kGroup, n + 2, 5)), expected);
    EXPECT_TRUE(same_numbers(flat(head.rows()), flat(expected))) << n;
  }
}

TEST_P(NumbersOfSlots, GrowWithTheStepsAndKeepWhatWasThere) {
  const auto b = backend_for(1);
  HeadNumbers head(*b, {.width = 2, .times = 1, .sum = 0}, 1);
  Rows expected;
  for (int step = 0; step < 150; ++step) {
    const int n = step + 1;
    observe_reference(head.rules, 1, n, step, head.observe(n, step, random_step(1, n, static_cast<unsigned>(step))), expected);
    EXPECT_EQ(head.numbers.n_slots, n);
    EXPECT_GE(head.numbers.capacity, n);
    EXPECT_LE(head.numbers.capacity, n + std::max(n / 8, 16));
  }
  EXPECT_TRUE(same_numbers(flat(head.rows()), flat(expected)));
}

TEST_P(NumbersOfSlots, LeaveInAnyNumberAndAreSetAlone) {
  const auto b = backend_for(2);
  for (const int width : {1, 2, 3, 8}) {
    const auto row = [&](double x) {
      Numbers out;
      for (int c = 0; c < width; ++c) out.push_back(x * (c + 1));
      return out;
    };
    Rows rows;
    for (int i = 0; i < 600; ++i) rows.push_back(row(i));
    HeadNumbers head(*b, {.width = width, .sum = 0}, 2, flat(rows));
    std::vector<int> many;
    for (int i = 10; i < 560; i += 1 + i % 3) many.push_back(i);
    for (const std::vector<int>& gone : {std::vector<int>{}, {0}, {598}, many, {0, 1, 2}, {5}}) {
      for (std::size_t i = gone.size(); i-- > 0;) rows.erase(rows.begin() + gone[i]);
      head.remove(gone);
      EXPECT_EQ(head.rows(), rows);
      head.set(4, row(-1));
      rows[4] = row(-1);
      EXPECT_EQ(head.rows(), rows);
    }
    std::vector<int> all;
    for (int i = 0; i < head.numbers.n_slots; ++i) all.push_back(i);
    head.remove(all);
    EXPECT_EQ(head.numbers.n_slots, 0);
    head.observe(2, 7, random_step(2, 2, 1));
    EXPECT_EQ(head.rows().size(), 2u);
  }
}

TEST_P(NumbersOfSlots, OfManyHeadsAreReadAndSetInOneCall) {
  const auto b = backend_for(1);
  const NumberRules rules{.width = 3, .sum = 0};
  std::vector<HeadNumbers> heads;
  for (int h = 0; h < 3; ++h) heads.emplace_back(*b, rules, 1, random_numbers(30, static_cast<unsigned>(h)));
  const Numbers first = {1, 2, 3}, second = {4, 5, 6}, third = {7, 8, 9};
  const SetNumbersJob sets[] = {{&heads[0].numbers, 9, first}, {&heads[2].numbers, 0, second}, {&heads[0].numbers, 1, third}};
  b->set_numbers(sets);
  const std::vector<int> of_first = {1, 9, 2, 3}, of_last = {0};
  Numbers out_first(12), out_last(3), none;
  const NumberRowsJob jobs[] = {
      {&heads[0].numbers, of_first, out_first}, {&heads[1].numbers, {}, none}, {&heads[2].numbers, of_last, out_last}};
  b->number_rows(3, jobs);
  const Numbers untouched = random_numbers(30, 0);
  Numbers expected = third;
  expected.insert(expected.end(), first.begin(), first.end());
  expected.insert(expected.end(), untouched.begin() + 6, untouched.begin() + 12);
  EXPECT_EQ(out_first, expected);
  EXPECT_EQ(out_last, second);
}

TEST_P(NumbersOfSlots, ACloneIsIndependent) {
  const auto b = backend_for(1);
  const Numbers start = {1, 2, 3, 4, 5, 6};
  HeadNumbers head(*b, {.width = 2, .times = 1, .sum = 0}, 1, start), copy(*b, head.rules, 1);
  copy.numbers = b->clone_numbers(head.numbers, 2);
  head.remove({0});
  head.observe(3, 0, {Numbers(3, 0.5), Numbers(3, 0.0)});
  EXPECT_EQ(flat(copy.rows()), start);
  EXPECT_EQ(flat(head.rows()), (Numbers{3.5, 5, 5.5, 7, 0.5, 1}));
  copy.set(1, {9, 9});
  EXPECT_EQ(flat(head.rows()), (Numbers{3.5, 5, 5.5, 7, 0.5, 1}));
  HeadNumbers empty(*b, head.rules, 1);
  empty.numbers = b->clone_numbers(empty.numbers, 2);
  EXPECT_TRUE(empty.rows().empty());
}

TEST_P(NumbersOfSlots, OfOneHeadHaveTheSameBitsWhateverElseIsAskedInTheCall) {
  constexpr int kGroup = 2;
  Numbers answers;
  for (const int threads : {1, 2, 5}) {
    const auto b = make(config_of(kGroup, 1, 8), threads);
    std::vector<std::unique_ptr<HeadNumbers>> heads;
    for (int h = 0; h < 7; ++h) {
      const NumberRules rules = all_rules(kGroup, h == 3 ? GroupReduce::max : GroupReduce::mean, 2 + h);
      heads.push_back(
          std::make_unique<HeadNumbers>(*b, rules, kGroup, flat(random_rows(rules, kGroup, 40 * h + 3, static_cast<unsigned>(h)))));
      heads.back()->give(random_step(kGroup, 40 * h + 4, static_cast<unsigned>(h)));
    }
    std::vector<ObserveJob> observations;
    for (const auto& head : heads) observations.push_back(head->observation(head->numbers.n_slots + 1, 9));
    const SlotScore scores[] = {SlotScore::window, SlotScore::ema_share, SlotScore::sum};
    std::vector<LowestJob> questions;
    if (threads == 1) {
      for (const ObserveJob& job : observations) b->observe({&job, 1});
    } else {
      b->observe(observations);
    }
    for (std::size_t h = 0; h < heads.size(); ++h)
      questions.push_back(heads[h]->question(scores[h % 3], 10, 1, heads[h]->numbers.n_slots - 1));
    if (threads == 1) {
      for (const LowestJob& job : questions) b->lowest({&job, 1});
    } else {
      b->lowest(questions);
    }
    Numbers got;
    for (const auto& head : heads) {
      const Numbers rows = flat(head->rows());
      got.insert(got.end(), rows.begin(), rows.end());
      const Lowest low = head->answer();
      got.insert(got.end(), {static_cast<double>(low.slot), low.score});
      got.insert(got.end(), head->log_z.begin(), head->log_z.end());
    }
    if (answers.empty()) answers = got;
    EXPECT_EQ(got, answers) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(On, NumbersOfSlots, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
