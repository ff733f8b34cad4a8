// SPDX-License-Identifier: Apache-2.0
// Which slot goes first, where more than one number or more than one head decides; and the numbers that only serve for that.
#include "backend/numbers_reference.h"
#include "policy/rankings/hit_history.h"

namespace kvscope::test {
namespace {

class LowestOfSlots : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend_for(int group) const { return make(config_of(group, 1, 8)); }
};

const NumberRules kSpreadRules{.width = 3, .times = 2, .sum = 0, .sum_sq = 1};

/// Slots of every kind: never scored, scored once, of the same attention in every step, and others.
Rows random_spreads(int n, unsigned seed) {
  Rows rows;
  std::mt19937 random(seed);
  for (int i = 0; i < n; ++i) {
    const double times = static_cast<double>(random() % 9);
    const int kind = static_cast<int>(random() % 4);
    Numbers row{0, 0, times};
    for (int step = 0; step < static_cast<int>(times); ++step) {
      const double abar = kind == 0 ? 0.25 : static_cast<double>(random() % (kind == 1 ? 3 : 1000000)) * 1e-6;
      row[0] += abar;
      row[1] += abar * abar;
    }
    rows.push_back(row);
  }
  return rows;
}

Numbers scores_of(const NumberRules& r, const Rows& rows, SlotScore score, int steps = 0, const Pooling& pooling = {}) {
  Numbers scores;
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) scores.push_back(score_reference(r, rows, 1, score, steps, i, pooling));
  return scores;
}

void expect_spared(Backend& b, const Rows& rows, int k, int first, int last, const std::vector<int>& left_out = {}) {
  HeadNumbers head(b, kSpreadRules, 1, flat(rows));
  LowestJob job = head.question(SlotScore::mean, 9, first, last, left_out);
  job.steady = k;
  const Lowest low = head.ask(job);
  const std::vector<int> spared = steady_reference(kSpreadRules, rows, k, first, last, left_out);
  const Lowest expected = lowest_reference(scores_of(kSpreadRules, rows, SlotScore::mean), first, last, spared);
  EXPECT_EQ(low.slot, expected.slot) << rows.size() << " slots, " << k << " spared of [" << first << ", " << last << ")";
  EXPECT_TRUE(same_number(low.score, expected.score));
}

TEST_P(LowestOfSlots, AreNotThoseWhoseAttentionVariesMost) {
  const auto b = backend_for(1);
  for (const int n : {1, 2, 31, 33, 257, 700}) {
    const Rows rows = random_spreads(n, static_cast<unsigned>(n));
    for (const int k : {0, 1, 2, 5, n / 3, n / 2 + 1, n - 1, n, n + 7}) {
      expect_spared(*b, rows, k, 0, n);
      expect_spared(*b, rows, k, 0, n, {n / 4, n / 2, n - 1});
      expect_spared(*b, rows, k, n / 5, n - n / 7, {0, n / 2, n - 1});
    }
  }
  expect_spared(*b, random_spreads(9, 1), 3, 7, 2);
}

TEST_P(LowestOfSlots, AreNotTheFirstOfThoseThatVaryEquallyMuch) {
  const auto b = backend_for(1);
  Rows rows(400, Numbers{0.5, 0.25, 1});  // scored once: no variance
  for (int i = 0; i < 400; i += 3) rows[place(i)] = {0.3, 0.3 * 0.3, 1};
  rows[100] = {1, 0.9, 2};
  for (const int k : {1, 2, 50, 399}) expect_spared(*b, rows, k, 0, 400);
  rows[7][0] = rows[9][1] = rows[300][2] = std::nan("");  // these are spared last
  rows[11] = {0, 0, 0};
  for (const int k : {1, 3, 395, 396, 397, 399}) expect_spared(*b, rows, k, 0, 400);
  for (Numbers& row : rows) row = {1, INFINITY, 1};
  expect_spared(*b, rows, 12, 0, 400);
}

TEST_P(LowestOfSlots, HaveNoDeviationWhereOneStepScoredThem) {
  const auto b = backend_for(4);
  HeadNumbers head(*b, kSpreadRules, 4);
  const StepRows step = random_step(4, 40, 3);
  head.observe(40, 0, step);
  LowestJob job = head.question(SlotScore::mean, 1, 0, 40);
  job.steady = 13;
  EXPECT_GE(head.ask(job).slot, 13) << "all are equal";
  const Rows rows = head.rows();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(rows[place(i)][1], rows[place(i)][0] * rows[place(i)][0]) << i;
}

TEST_P(LowestOfSlots, OfALayerIsTheOneThatIsWorthLeastToItsHeadsTogether) {
  const auto b = backend_for(1);
  for (const int ring_rows : {1, 4, 5, 40}) {
    NumberRules rules = all_rules(1, GroupReduce::mean, ring_rows);
    rules.ema = -1;
    for (const int n : {1, 31, 33, 257}) {
      std::vector<Rows> rows;
      std::vector<std::unique_ptr<HeadNumbers>> heads;
      std::vector<const SlotNumbers*> together;
      for (unsigned h = 0; h < 3; ++h) {
        rows.push_back(random_rows(all_rules(1, GroupReduce::mean, ring_rows), 1, n, 10 * h + static_cast<unsigned>(n)));
        for (Numbers& row : rows.back()) row[place(rules.hit_count)] = std::floor(row[place(rules.hit_count)] / 8);  // many equal ones
        heads.push_back(std::make_unique<HeadNumbers>(*b, rules, 1, flat(rows.back())));
        together.push_back(&heads.back()->numbers);
      }
      for (const SlotScore score : kAllScores) {
        if (score == SlotScore::ema_share) continue;
        Numbers scores(place(n)), ties(place(score == SlotScore::hits ? n : 0));
        for (const Rows& of_head : rows) {
          const Numbers own = scores_of(rules, of_head, score, 60, heads[0]->pooling), own_ties = ties_of(rules, of_head, score);
          for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += own[i];
          for (std::size_t i = 0; i < ties.size(); ++i) ties[i] += own_ties[i];
        }
        for (double& x : scores) x /= 3;
        const std::vector<int> left_out = {n / 2};
        LowestJob job = heads[0]->question(score, 60, 0, n, left_out);
        job.heads = together;
        const Lowest low = heads[0]->ask(job), expected = lowest_reference(scores, 0, n, left_out, ties);
        heads[0]->expect_at_hand(low.slot);
        EXPECT_EQ(low.slot, expected.slot) << n << " slots, score " << static_cast<int>(score) << ", " << ring_rows << " rows";
        EXPECT_TRUE(same_number(low.score, expected.score)) << low.score << " and " << expected.score;
      }
    }
  }
}

TEST_P(LowestOfSlots, KnowWhichOfTheLastStepsHitThem) {
  const auto b = backend_for(1);
  for (const int window : {1, 7, 32, 33, 64, 70}) {
    NumberRules rules{.width = 2 + hit_numbers(window), .sum = 0, .hits = 1, .hit_count = 1 + hit_numbers(window), .hit_rows = window};
    HeadNumbers head(*b, rules, 1);
    HitHistory history(window);
    for (int step = 0; step < 150; ++step) {
      if (step < 8) history.append_slot();
      const int n = history.slots();
      StepRows rows = random_step(1, n, static_cast<unsigned>(step));
      for (double& a : rows.a) a *= 10.0 / n;
      rows.a[place(step % n)] = 1.0 / n;  // a hit, just so
      history.push(head.observe(n, step, rows).a, 1.0 / n);
      const Rows got = head.rows();
      const int m = history.rows();
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(got[place(i)][place(rules.hit_count)], history.counts()[place(i)]) << window << " step " << step;
        for (int r = 0; r < m; ++r) {
          const int at = (step + 1 - m + r) % window;
          const auto bits = static_cast<std::uint32_t>(got[place(i)][place(rules.hits + at / 32)]);
          ASSERT_EQ((bits >> (at % 32)) & 1, history.hit(i, r) ? 1u : 0u) << window << " step " << step << " row " << r;
        }
      }
    }
  }
}

TEST_P(LowestOfSlots, AreFoundAmongNeighbours) {
  const auto b = backend_for(1);
  const NumberRules rules{.width = 2, .ring = 1, .ring_rows = 1, .ring_mean = 0};
  for (const int n : {1, 31, 33, 257}) {
    Rows rows;
    for (const double x : random_numbers(place(n), 3)) rows.push_back({std::abs(x), 0});
    for (const bool has_nan : {false, true}) {
      if (has_nan) rows[place(n / 2)][0] = std::nan("");
      HeadNumbers head(*b, rules, 1, flat(rows));
      for (const int kernel : {1, 3, 7, 101})
        for (const int unranked : {0, 1, n / 3, n})
          for (const bool averages : {false, true}) {
            head.pooling = {.kernel = kernel, .unranked = unranked, .averages = averages};
            const Numbers scores = scores_of(rules, rows, SlotScore::pooled, 1, head.pooling);
            for (const int last : {n, n - unranked}) {
              if (averages && has_nan) continue;  // whoever is near it has none either
              const Lowest low = head.lowest(SlotScore::pooled, 1, 0, last), expected = lowest_reference(scores, 0, last);
              EXPECT_TRUE(low.slot == expected.slot || (averages && same_number(scores[place(low.slot)], expected.score)))
                  << n << " slots, kernel " << kernel << ", unranked " << unranked << ": " << low.slot << ", " << expected.slot;
              EXPECT_TRUE(same_number(low.score, expected.score)) << low.score << " and " << expected.score;
            }
          }
    }
  }
}

TEST_P(LowestOfSlots, LengthsOfRowsStayInTheBackendUntilTheyAreRead) {
  const auto b = backend_for(1);
  for (const int n : {1, 3, 40})
    for (const int width : {1, 8, 33, 300}) {
      const Device x(*b, random_numbers(place(n * width), static_cast<unsigned>(n + width)));
      const Numbers values = x.values();
      Buffer out = b->allocate(sizeof(double) * place(n));
      for (const bool reads_out : {false, true}) {
        Numbers got(place(n), -1.0);
        b->upload(out.data(), got.data(), got.size() * sizeof(double));
        b->row_norms(x.data(), n, width, out.as<double>(), reads_out);
        b->download(got.data(), out.data(), got.size() * sizeof(double));
        for (int r = 0; r < n; ++r) {
          long double sum = 0;
          for (int i = 0; i < width; ++i) sum += static_cast<long double>(values[place(r * width + i)]) * values[place(r * width + i)];
          EXPECT_TRUE(same_number(got[place(r)], static_cast<double>(std::sqrt(sum)))) << got[place(r)];
        }
      }
    }
  b->row_norms(nullptr, 0, 8, nullptr, true);
}

INSTANTIATE_TEST_SUITE_P(On, LowestOfSlots, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
