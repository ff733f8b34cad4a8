// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/reference.h"
#include "core/slot_runs.h"

namespace kvscope::test {
namespace {

constexpr int kWidth = 6;

class Slots : public OfVariant {
 protected:
  std::unique_ptr<Backend> b = make(config_of(2, 1, kWidth), 2);

  /// Row i of k is k_of(i), of v v_of(i), times the column plus 1.
  static Numbers rows(int n, double first) {
    Numbers out;
    for (int i = 0; i < n; ++i) {
      for (int c = 0; c < kWidth; ++c) out.push_back((first + i) * (c + 1));
    }
    return out;
  }
  HeadKv filled(int n) {
    HeadKv kv = b->make_kv(4);
    Device k(*b, rows(n, 1)), v(*b, rows(n, 100));
    b->append_kv(kv, k.data(), v.data(), n);
    return kv;
  }
  Numbers first_column(const Buffer& x, int n) {
    Numbers all(static_cast<std::size_t>(n * kWidth)), out;
    b->to_double(all, x.data());
    for (int i = 0; i < n; ++i) out.push_back(all[static_cast<std::size_t>(i * kWidth)]);
    return out;
  }
  Numbers first_of_keys(HeadKv& kv) {
    b->in_order(kv);
    return first_column(kv.k, kv.n_slots);
  }
  Numbers first_of_values(HeadKv& kv) {
    b->in_order(kv);
    return first_column(kv.v, kv.n_slots);
  }
};

TEST_P(Slots, AppendGrowsAndKeepsWhatWasThere) {
  HeadKv kv = filled(3);
  EXPECT_EQ(kv.capacity, 4);
  Device k(*b, rows(5, 4)), v(*b, rows(5, 103));
  b->append_kv(kv, k.data(), v.data(), 5);
  EXPECT_EQ(kv.n_slots, 8);
  EXPECT_GE(kv.capacity, 8);
  EXPECT_EQ(first_of_keys(kv), (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(first_of_values(kv), (Numbers{100, 101, 102, 103, 104, 105, 106, 107}));
  Numbers keys(8 * kWidth);
  b->keys(kv, keys);
  EXPECT_EQ(keys, rows(8, 1));
}

TEST_P(Slots, AppendFromItselfKeepsTheRows) {
  HeadKv kv = filled(4);
  HeadKv copy = b->clone_kv(kv);
  b->append_kv(kv, copy.k.data(), copy.v.data(), 4);
  EXPECT_EQ(first_of_keys(kv), (Numbers{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST_P(Slots, CloneIsIndependent) {
  HeadKv kv = filled(3);
  HeadKv copy = b->clone_kv(kv);
  b->remove_slots(kv, std::vector<int>{0, 1});
  EXPECT_EQ(copy.n_slots, 3);
  EXPECT_EQ(first_of_keys(copy), (Numbers{1, 2, 3}));
  EXPECT_EQ(first_of_keys(kv), Numbers{3});
}

TEST_P(Slots, AnEmptyCacheCanBeClonedAndFilled) {
  HeadKv kv = b->make_kv(0);
  HeadKv copy = b->clone_kv(kv);
  EXPECT_EQ(copy.n_slots, 0);
  Device k(*b, rows(2, 1)), v(*b, rows(2, 100));
  b->append_kv(copy, k.data(), v.data(), 2);
  EXPECT_EQ(first_of_values(copy), (Numbers{100, 101}));
}

TEST_P(Slots, WhatStaysMovesUpInOrder) {
  HeadKv kv = filled(7);
  b->remove_slots(kv, std::vector<int>{1, 4, 5});
  EXPECT_EQ(kv.n_slots, 4);
  EXPECT_EQ(first_of_keys(kv), (Numbers{1, 3, 4, 7}));
  EXPECT_EQ(first_of_values(kv), (Numbers{100, 102, 103, 106}));
  b->remove_slots(kv, std::vector<int>{0, 1, 2, 3});
  EXPECT_EQ(kv.n_slots, 0);
}

TEST_P(Slots, CombineScalesTheWeightedSumOfMembers) {
  HeadKv kv = filled(4);
  const std::vector<int> members = {0, 2, 3};
  const std::vector<double> key_weights = {0.5, 0.25, 0.25}, value_weights = {1, 0, 1};
  const CombineJob job{&kv, 2, members, key_weights, 2.0, value_weights};
  b->combine(std::span(&job, 1));
  EXPECT_EQ(first_of_keys(kv), (Numbers{1, 2, 2 * (0.5 * 1 + 0.25 * 3 + 0.25 * 4), 4}));
  EXPECT_EQ(first_of_values(kv), (Numbers{100, 101, 100 + 103, 103}));
}

TEST_P(Slots, CombineLeavesKeysOrValuesWithoutWeights) {
  HeadKv kv = filled(2);
  const std::vector<int> members = {0, 1};
  const std::vector<double> half = {0.5, 0.5};
  const CombineJob values{&kv, 0, members, {}, 1.0, half};
  b->combine(std::span(&values, 1));
  EXPECT_EQ(first_of_keys(kv), (Numbers{1, 2}));
  EXPECT_EQ(first_of_values(kv), (Numbers{100.5, 101}));
  const CombineJob keys{&kv, 1, members, half, 1.0, {}};
  b->combine(std::span(&keys, 1));
  EXPECT_EQ(first_of_keys(kv), (Numbers{1, 1.5}));
  EXPECT_EQ(first_of_values(kv), (Numbers{100.5, 101}));
}

TEST_P(Slots, CombineJobsOfOneCacheRunInOrderAndOtherCachesBeside) {
  HeadKv first = filled(3), second = filled(3);
  const std::vector<int> members = {0, 1}, chain = {1, 2};
  const std::vector<double> sum = {1, 1};
  const CombineJob jobs[] = {{&first, 1, members, sum, 1.0, sum}, {&second, 0, chain, sum, 1.0, sum}, {&first, 2, chain, sum, 1.0, sum}};
  b->combine(jobs);
  EXPECT_EQ(first_of_keys(first), (Numbers{1, 3, 6}));  // 2 + 1, then 3 + 3
  EXPECT_EQ(first_of_keys(second), (Numbers{5, 2, 3}));
}

TEST_P(Slots, CosinesAreOfUnitSizeAndZeroForAZeroVector) {
  HeadKv kv = b->make_kv(0);
  const Numbers k = {1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 0, 0, 0, 0};
  Device dk(*b, k);
  b->append_kv(kv, dk.data(), dk.data(), 4);
  const std::vector<int> from = {0, 2}, to = {0, 1, 2, 3};
  Numbers out(8, -9);
  b->cosines(kv, from, to, out);
  EXPECT_NEAR(out[0], 1.0, 1e-15);
  EXPECT_NEAR(out[1], std::sqrt(0.5), 1e-15);
  EXPECT_EQ(out[2], 0.0);
  EXPECT_NEAR(out[3], -1.0, 1e-15);
  EXPECT_EQ(Numbers(out.begin() + 4, out.end()), Numbers(4, 0.0));
}

TEST_P(Slots, CosinesOfManyPairsEqualThePlainFormula) {
  const int n = 65;
  const auto wide = make(config_of(1, 1, 80), 2);
  const Numbers k = random_numbers(static_cast<std::size_t>(n * 80), 1);
  HeadKv kv = wide->make_kv(n);
  Device dk(*wide, k);
  wide->append_kv(kv, dk.data(), dk.data(), n);
  std::vector<int> all;
  for (int i = 0; i < n; ++i) all.push_back(i);
  Numbers out(static_cast<std::size_t>(n * n)), expected;
  wide->cosines(kv, all, all, out);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double dot = 0, a = 0, c = 0;
      for (int x = 0; x < 80; ++x) {
        const double p = k[static_cast<std::size_t>(i * 80 + x)], q = k[static_cast<std::size_t>(j * 80 + x)];
        dot += p * q;
        a += p * p;
        c += q * q;
      }
      expected.push_back(dot / std::sqrt(a * c));
    }
  }
  EXPECT_LT(distance(out, expected), 1e-14) << "in double also for float keys";
}

TEST_P(Slots, TheNearestKeyIsTheOneOfLargestCosineWhateverItsLength) {
  HeadKv kv = b->make_kv(0);
  const Numbers k = {1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 0, 0, 0, 0, .01, .02, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0};
  Device dk(*b, k);
  b->append_kv(kv, dk.data(), dk.data(), 6);
  const auto nearest = [&](int from, const std::vector<int>& to) {
    int place = -1;
    double cos = -9;
    test::nearest(*b, kv, {&from, 1}, to, {&place, 1}, {&cos, 1});
    return std::pair(place, cos);
  };
  EXPECT_EQ(nearest(0, {1, 3, 4}).first, 0);
  EXPECT_NEAR(nearest(0, {1, 3, 4}).second, std::sqrt(0.5), 1e-15);
  EXPECT_EQ(nearest(0, {4, 1, 5}), std::pair(2, 1.0)) << "a hundred times as long, in the same direction";
  EXPECT_EQ(nearest(0, {3}), std::pair(0, -1.0)) << "the only one, however far";
  EXPECT_EQ(nearest(0, {3, 2, 2}), std::pair(1, 0.0)) << "a zero vector is like nothing, and the first of equal ones counts";
  EXPECT_EQ(nearest(2, {3, 1, 0}), std::pair(0, 0.0)) << "all are alike for a zero vector";
}

TEST_P(Slots, TheLargestProductWantsLongKeysToo) {
  HeadKv kv = b->make_kv(0);
  const Numbers k = {1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 0, 0, 0, 0, .5, 2, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0};
  Device dk(*b, k);
  b->append_kv(kv, dk.data(), dk.data(), 6);
  const auto nearest = [&](std::vector<int> from, const std::vector<int>& to) {
    std::vector<int> places(from.size(), -1);
    Numbers products(from.size(), -9);
    const NearestJob job{.kv = &kv, .from = from, .to = to, .places = places, .cosines = products, .by_product = true};
    b->nearest({&job, 1});
    return std::pair(places, products);
  };
  using Answer = std::pair<std::vector<int>, Numbers>;
  EXPECT_EQ(nearest({0}, {1, 4, 5}), Answer({2}, {4.0}));
  EXPECT_EQ(nearest({1}, {0, 3, 4}), Answer({2}, {2.5}));
  EXPECT_EQ(nearest({0}, {3}), Answer({0}, {-3.0}));
  EXPECT_EQ(nearest({2}, {3, 1, 0}), Answer({0}, {0.0})) << "of equal ones the first";
  EXPECT_EQ(nearest({0, 1}, {1, 4, 5}), Answer({2, 2}, {4.0, 4.0})) << "several at once";
}

TEST_P(Slots, QuestionsAboutManyHeadsAreAnsweredAsOneByOne) {
  const int d = 32;
  const auto wide = make(config_of(1, 1, d), 2);
  std::vector<HeadKv> caches;
  for (const int n : {5, 40, 1, 17}) {
    Device keys(*wide, random_numbers(static_cast<std::size_t>(n * d), static_cast<unsigned>(n)));
    caches.push_back(wide->make_kv(0));
    wide->append_kv(caches.back(), keys.data(), keys.data(), n);
  }
  std::vector<std::vector<int>> from(4), to(4), places(4), slots(4);
  std::vector<Numbers> cosines(4), rows(4);
  std::vector<NearestJob> jobs;
  std::vector<KeyRowsJob> row_jobs;
  for (std::size_t c = 0; c < 4; ++c) {
    for (int i = 0; i < caches[c].n_slots; ++i) (i % 3 == 1 ? from[c] : to[c]).push_back(i);
    places[c].resize(from[c].size());
    cosines[c].resize(from[c].size());
    jobs.push_back({.kv = &caches[c], .from = from[c], .to = to[c], .places = places[c], .cosines = cosines[c]});
    for (int i = caches[c].n_slots - 1; i >= 0; i -= 2) slots[c].push_back(i);
    rows[c].resize(slots[c].size() * d);
    row_jobs.push_back({.kv = &caches[c], .slots = slots[c], .out = rows[c]});
  }
  wide->nearest(jobs);
  wide->key_rows(row_jobs);
  for (std::size_t c = 0; c < 4; ++c) {
    std::vector<int> place(from[c].size());
    Numbers cosine(from[c].size()), keys(static_cast<std::size_t>(caches[c].n_slots * d));
    nearest(*wide, caches[c], from[c], to[c], place, cosine);
    EXPECT_EQ(places[c], place) << c;
    EXPECT_EQ(cosines[c], cosine) << c;
    wide->keys(caches[c], keys);
    for (std::size_t i = 0; i < slots[c].size(); ++i)
      EXPECT_TRUE(std::equal(rows[c].begin() + static_cast<long>(i) * d, rows[c].begin() + static_cast<long>(i + 1) * d,
                             keys.begin() + slots[c][i] * d))
          << c << " row " << i;
  }
}

TEST_P(Slots, CosinesFollowKeysThatCameWentAndMergedSinceTheyWereLastAskedFor) {
  const int d = 32;
  const auto wide = make(config_of(1, 1, d), 2);
  HeadKv kv = wide->make_kv(0);
  int n_made = 0;
  const auto append = [&](int n) {
    Device keys(*wide, random_numbers(static_cast<std::size_t>(n * d), static_cast<unsigned>(++n_made)));
    wide->append_kv(kv, keys.data(), keys.data(), n);
  };
  const auto expect_as_if_never_asked = [&] {
    std::vector<int> all;
    for (int i = 0; i < kv.n_slots; ++i) all.push_back(i);
    const HeadKv fresh = wide->clone_kv(kv);
    Numbers got(all.size() * all.size()), want(got.size()), got_cosines(all.size()), want_cosines(all.size());
    std::vector<int> got_places(all.size()), want_places(all.size());
    wide->cosines(kv, all, all, got);
    wide->cosines(fresh, all, all, want);
    EXPECT_EQ(got, want);
    const std::vector<int> some = {0, kv.n_slots - 2};
    nearest(*wide, kv, all, some, got_places, got_cosines);
    nearest(*wide, fresh, all, some, want_places, want_cosines);
    EXPECT_EQ(got_places, want_places);
    EXPECT_EQ(got_cosines, want_cosines);
  };
  append(9);
  expect_as_if_never_asked();
  append(1);
  wide->remove_slots(kv, slots_without(std::vector<int>{0, 2, 3, 5, 9}, kv.n_slots));
  expect_as_if_never_asked();
  const std::vector<int> members = {1, 4};
  const std::vector<double> weights = {0.25, 0.75};
  const CombineJob keys{&kv, 1, members, weights, 1.5, {}}, values{&kv, 2, members, {}, 1.0, weights};
  wide->combine(std::span(&keys, 1));
  expect_as_if_never_asked();
  wide->combine(std::span(&values, 1));
  append(40);  // more than there is room for
  const CombineJob newest{&kv, kv.n_slots - 1, members, weights, 1.0, weights};
  wide->combine(std::span(&newest, 1));
  wide->remove_slots(kv, slots_without(std::vector<int>{1, 2, 30, 44}, kv.n_slots));
  expect_as_if_never_asked();
}

TEST_P(Slots, TheNearestOfManyKeysIsThatOfThePlainFormula) {
  for (const auto& [n_from, n_to, d] : {std::array{1, 1, 32}, std::array{65, 40, 32}, std::array{30, 133, 64}, std::array{13, 65, 80},
                                        std::array{24, 17, 128}, std::array{100, 9, 16}, std::array{25, 300, 8}, std::array{29, 31, 4}}) {
    const auto wide = make(config_of(1, 1, d), 2);
    const int n = n_from + n_to;
    Numbers k = random_numbers(static_cast<std::size_t>(n * d), 1);
    for (int copy = 2; copy < n_to; copy += 5)  // equal keys
      std::copy_n(k.begin() + (copy - 2) * d, d, k.begin() + copy * d);
    HeadKv kv = wide->make_kv(n);
    Device dk(*wide, k);
    wide->append_kv(kv, dk.data(), dk.data(), n);
    std::vector<int> from, to, places(static_cast<std::size_t>(n_from), -1);
    for (int i = 0; i < n; ++i) (i < n_to ? to : from).push_back(i);
    Numbers cosines(static_cast<std::size_t>(n_from));
    nearest(*wide, kv, from, to, places, cosines);
    for (int i = 0; i < n_from; ++i) {
      int best = -1;
      double most = 0;
      for (int j = 0; j < n_to; ++j) {
        double dot = 0, a = 0, c = 0;
        for (int x = 0; x < d; ++x) {
          const double p = k[static_cast<std::size_t>((n_to + i) * d + x)], q = k[static_cast<std::size_t>(j * d + x)];
          dot += p * q;
          a += p * p;
          c += q * q;
        }
        const double cos = dot / std::sqrt(a * c);
        if (best < 0 || cos > most) {
          best = j;
          most = cos;
        }
      }
      EXPECT_EQ(places[static_cast<std::size_t>(i)], best) << d << " " << i;
      EXPECT_NEAR(cosines[static_cast<std::size_t>(i)], most, 1e-14) << "in double also for float keys";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, Slots, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
