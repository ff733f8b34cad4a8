// SPDX-License-Identifier: Apache-2.0
#include "cache/history.h"

#include <gtest/gtest.h>

namespace kvscope {
namespace {

constexpr int kHeads = 2, kDim = 4;

struct HistoryTest : ::testing::Test {
  ModelConfig config{.n_layers = 1,
                     .n_heads = kHeads,
                     .n_kv_heads = kHeads,
                     .head_dim = kDim,
                     .dim = 8,
                     .hidden_dim = 8,
                     .vocab_size = 8,
                     .max_positions = 512};
  std::unique_ptr<Backend> backend = make_cpu_backend(DType::f64, config, {.n_threads = 1});

  void add(History& history, double value) {
    const std::vector<double> row(kHeads * kDim, value);
    history.append(row.data(), row.data(), kDim * sizeof(double));
  }
  std::vector<double> first_numbers(const History& history, int head) {
    std::vector<double> out;
    for (const KvSegment& s : history.segments(head)) {
      for (int i = 0; i < s.n; ++i) out.push_back(static_cast<const double*>(s.k)[i * kDim]);
    }
    return out;
  }
};

TEST_F(HistoryTest, ACopySharesPagesUntilOneOfTheTwoWrites) {
  History a(*backend, kHeads);
  for (int i = 0; i < 100; ++i) add(a, i);
  EXPECT_EQ(a.own_bytes(), a.bytes());
  History b = a;
  EXPECT_EQ(a.own_bytes(), 0u);
  add(b, 1000);
  add(a, 2000);
  EXPECT_LT(b.own_bytes(), b.bytes());  // the full first page is still shared
  EXPECT_EQ(first_numbers(a, 1).back(), 2000);
  EXPECT_EQ(first_numbers(b, 1).back(), 1000);
  EXPECT_EQ(first_numbers(a, 0)[99], 99);
  EXPECT_EQ(first_numbers(b, 0)[99], 99);
}

TEST_F(HistoryTest, TruncatingAndWritingAgainReplacesTheTailOnlyHere) {
  for (const int cut : {0, 1, 63, 64, 65, 100, 128}) {
    History a(*backend, kHeads);
    for (int i = 0; i < 130; ++i) add(a, i);
    History b = a;
    b.truncate(cut);
    for (int i = cut; i < 130; ++i) add(b, -i);
    const auto old_numbers = first_numbers(a, 1), new_numbers = first_numbers(b, 1);
    ASSERT_EQ(new_numbers.size(), 130u);
    for (int i = 0; i < 130; ++i) {
      EXPECT_EQ(old_numbers[i], i);
      EXPECT_EQ(new_numbers[i], i < cut ? i : -i) << "cut " << cut;
    }
  }
}

}  // namespace
}  // namespace kvscope
