// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a prompt attention against the same sums made one number at a time from the probabilities.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "backend/reference.h"

namespace kvscope::test {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Prompt {
  int n_heads, n_kv_heads, d;
  std::vector<int> calls;  // rows of the calls, one after the other
  int n() const {
    int sum = 0;
    for (const int rows : calls) sum += rows;
    return sum;
  }
};

/// What all calls together leave behind, arrays [n_kv_heads, stride].
struct Sums {
  Numbers out;
  Numbers sum, sum_sq, slow, fast;
  std::array<Numbers, 2> outside;                // [n_kv_heads]
  std::vector<std::vector<std::uint64_t>> hits;  // of every call
};

constexpr double kSlow = 0.99, kFast = 0.5;
constexpr OutsideSum kOutside[] = {{2, 5, nullptr}, {0, 0, nullptr}};
constexpr int kSpare = 3;  // entries of a stride behind the slots

int hit_rows(int rows) { return (rows + 2) / 3; }

Sums run(Backend& b, const Prompt& p, GroupReduce reduce, unsigned seed = 1) {
  const int n = p.n(), q_row = p.n_heads * p.d;
  const std::size_t stride = at(n + kSpare), all = at(p.n_kv_heads) * stride;
  Device q(b, random_numbers(at(n * q_row), seed, 1.5)), k(b, random_numbers(at(p.n_kv_heads * n * p.d), seed + 1)),
      v(b, random_numbers(at(p.n_kv_heads * n * p.d), seed + 2)), out(b, at(n * q_row));
  Sums s;
  for (Numbers* x : {&s.sum, &s.sum_sq, &s.slow, &s.fast}) x->assign(all, 0.0);
  for (Numbers& x : s.outside) x.assign(at(p.n_kv_heads), 0.0);
  int first = 0;
  for (const int rows : p.calls) {
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < p.n_kv_heads; ++h) {
      const int cut = std::min(7, first + rows);
      slots.push_back(
          {{k.at(at(h * n * p.d)), v.at(at(h * n * p.d)), cut}, {k.at(at((h * n + cut) * p.d)), v.at(at((h * n + cut) * p.d)), n - cut}});
    }
    const ColumnSums::Decayed decayed[] = {{kSlow, s.slow.data()}, {kFast, s.fast.data()}};
    s.hits.emplace_back(at((hit_rows(rows) + 63) / 64) * all, ~std::uint64_t{0});
    const ColumnSums columns{.reduce = reduce,
                             .stride = stride,
                             .sum = s.sum.data(),
                             .sum_sq = s.sum_sq.data(),
                             .decayed = decayed,
                             .hit_rows = hit_rows(rows),
                             .hits = s.hits.back().data()};
    OutsideSum outside[2];
    for (std::size_t x = 0; x < 2; ++x) outside[x] = {kOutside[x].sinks, kOutside[x].recent, s.outside[x].data()};
    b.attend_prompt({.slots = slots,
                     .first = first,
                     .rows = rows,
                     .q = q.at(at(first * q_row)),
                     .out = out.at(at(first * q_row)),
                     .columns = {&columns, 1},
                     .outside = outside});
    first += rows;
  }
  s.out = out.values();
  return s;
}

double group_reduce(std::span<const double> p, GroupReduce reduce) {
  double sum = 0, top = 0;
  for (const double x : p) {
    sum += x;
    top = std::max(top, x);
  }
  return reduce == GroupReduce::max ? top : reduce == GroupReduce::sum ? sum : sum / static_cast<double>(p.size());
}

class ColumnSumsOf : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend(const Prompt& p, int threads = 2) const {
    return make(config_of(p.n_heads, p.n_kv_heads, p.d), threads);
  }
};

TEST_P(ColumnSumsOf, APromptAreThoseOfItsProbabilities) {
  for (const Prompt& p : {Prompt{1, 1, 32, {1}}, Prompt{2, 1, 64, {13}}, Prompt{4, 2, 32, {64, 64, 1, 13}}, Prompt{4, 1, 80, {31, 64, 8}},
                          Prompt{6, 2, 4, {2, 75}}, Prompt{2, 2, 128, {65}}, Prompt{4, 2, 32, {400}}, Prompt{16, 1, 8, {50}},
                          Prompt{49, 1, 4, {20}}, Prompt{2, 1, 256, {40, 100}}}) {
    for (const GroupReduce reduce : {GroupReduce::mean, GroupReduce::max, GroupReduce::sum}) {
      const auto b = backend(p);
      const Sums s = run(*b, p, reduce);
      const int n = p.n(), group = p.n_heads / p.n_kv_heads;
      const std::size_t stride = at(n + kSpare);
      const Numbers q = rounded(*b, random_numbers(at(n * p.n_heads * p.d), 1, 1.5)),
                    k = rounded(*b, random_numbers(at(p.n_kv_heads * n * p.d), 2));
      Numbers sum(s.sum.size()), sum_sq(sum), slow(sum), fast(sum);
      std::array<Numbers, 2> outside = {Numbers(at(p.n_kv_heads)), Numbers(at(p.n_kv_heads))};
      int call = 0, first = 0;
      for (int r = 0; r < n; ++r) {
        while (r >= first + p.calls[at(call)]) first += p.calls[at(call++)];
        for (int h = 0; h < p.n_kv_heads; ++h) {
          const auto keys = std::span(k).subspan(at(h * n * p.d), at((r + 1) * p.d));
          std::vector<Numbers> rows;
          for (int g = 0; g < group; ++g) {
            const auto query = std::span(q).subspan(at((r * p.n_heads + h * group + g) * p.d), at(p.d));
            rows.push_back(attention_reference(query, keys, keys, p.d).probabilities);
          }
          for (int j = 0; j <= r; ++j) {
            Numbers of_group;
            for (const Numbers& row : rows) of_group.push_back(row[at(j)]);
            const double abar = group_reduce(of_group, reduce);
            const std::size_t x = at(h) * stride + at(j);
            sum[x] += abar;
            sum_sq[x] += abar * abar;
            slow[x] = kSlow * slow[x] + abar;
            fast[x] = kFast * fast[x] + abar;
            for (std::size_t o = 0; o < 2; ++o)
              if (j >= kOutside[o].sinks && j <= r - kOutside[o].recent)
                for (const double probability : of_group) outside[o][at(h)] += probability;
            const int bit = r - first - (p.calls[at(call)] - hit_rows(p.calls[at(call)]));
            const double threshold = 1.0 / (r + 1);
            if (bit < 0 || std::abs(abar - threshold) < 1e-6) continue;
            const std::size_t words = at((hit_rows(p.calls[at(call)]) + 63) / 64);
            const std::uint64_t word = s.hits[at(call)][(at(h) * words + at(bit / 64)) * stride + at(j)];
            ASSERT_EQ((word >> (bit % 64)) & 1, abar >= threshold) << h << " row " << r << " slot " << j;
          }
        }
      }
      const double close = tolerance(b->dtype());
      EXPECT_LT(distance(s.sum, sum), close) << p.d;
      EXPECT_LT(distance(s.sum_sq, sum_sq), close) << p.d;
      EXPECT_LT(distance(s.slow, slow), close) << p.d;
      EXPECT_LT(distance(s.fast, fast), close) << p.d;
      for (std::size_t o = 0; o < 2; ++o) EXPECT_LT(distance(s.outside[o], outside[o]), close) << p.d;
      // a bit only where there is a row and a slot that it sees
      first = 0;
      for (std::size_t c = 0; c < p.calls.size(); ++c) {
        const int rows = p.calls[c], counted = hit_rows(rows), words = (counted + 63) / 64;
        for (int h = 0; h < p.n_kv_heads; ++h)
          for (int w = 0; w < words; ++w)
            for (int j = 0; j < first + rows; ++j)
              for (int bit = 0; bit < 64; ++bit) {
                const int row = first + rows - counted + 64 * w + bit;
                if (row < first + rows && j <= row) continue;
                ASSERT_EQ((s.hits[c][at(h * words + w) * stride + at(j)] >> bit) & 1, 0u) << row << " " << j;
              }
        first += rows;
      }
    }
  }
}

TEST_P(ColumnSumsOf, APromptHaveTheSameBitsForAnyNumberOfThreads) {
  const Prompt p{4, 2, 32, {64, 64, 70}};
  const Sums one = run(*backend(p, 1), p, GroupReduce::mean);
  for (const int threads : {2, 5}) {
    const Sums more = run(*backend(p, threads), p, GroupReduce::mean);
    EXPECT_EQ(one.sum, more.sum);
    EXPECT_EQ(one.sum_sq, more.sum_sq);
    EXPECT_EQ(one.slow, more.slow);
    EXPECT_EQ(one.outside, more.outside);
    EXPECT_EQ(one.hits, more.hits);
    EXPECT_EQ(one.out, more.out);
  }
}

TEST_P(ColumnSumsOf, APromptDoNotChangeItsOutput) {
  const Prompt p{4, 2, 32, {64, 9}};
  const auto b = backend(p);
  const Sums with = run(*b, p, GroupReduce::max);
  Device q(*b, random_numbers(at(73 * 128), 1, 1.5)), k(*b, random_numbers(at(2 * 73 * 32), 2)), v(*b, random_numbers(at(2 * 73 * 32), 3)),
      out(*b, at(73 * 128));
  std::vector<std::vector<KvSegment>> slots;
  for (int h = 0; h < 2; ++h) slots.push_back({{k.at(at(h * 73 * 32)), v.at(at(h * 73 * 32)), 73}});
  b->attend_prompt({.slots = slots, .rows = 73, .q = q.data(), .out = out.data()});
  EXPECT_EQ(out.values(), with.out);
}

TEST_P(ColumnSumsOf, RowsThatSeeEverySlotAlikeHitThemAll) {
  const Prompt p{7, 1, 8, {30}};
  const auto b = backend(p);
  Device q(*b, Numbers(at(30 * 56), 0.0)), k(*b, random_numbers(at(30 * 8), 2)), out(*b, at(30 * 56));
  const std::vector<std::vector<KvSegment>> slots = {{{k.data(), k.data(), 30}}};
  std::vector<std::uint64_t> hits(30);
  const ColumnSums columns{.reduce = GroupReduce::max, .stride = 30, .hit_rows = 30, .hits = hits.data()};
  b->attend_prompt({.slots = slots, .rows = 30, .q = q.data(), .out = out.data(), .columns = {&columns, 1}});
  for (int j = 0; j < 30; ++j) EXPECT_EQ(hits[at(j)], (std::uint64_t{1} << 30) - (std::uint64_t{1} << j)) << j;
}

INSTANTIATE_TEST_SUITE_P(On, ColumnSumsOf, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });
INSTANTIATE_TEST_SUITE_P(Narrow, ColumnSumsOf, testing::ValuesIn(narrow_variants()),
                         [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
