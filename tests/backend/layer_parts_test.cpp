// SPDX-License-Identifier: Apache-2.0
// What some families' layers need, against its formulas: windows, caps, scales, biases, GELU, rotations of a part of a head.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backend/reference.h"

namespace kvscope::test {
namespace {

class LayerParts : public OfVariant {};

TEST_P(LayerParts, RowsAreTheirFormulas) {
  auto b = make(config_of(2, 1, 8));
  const int rows = 3, width = 37;
  const std::size_t n = static_cast<std::size_t>(rows * width);
  const Numbers x = random_numbers(n, 1, 3.0), up = random_numbers(n, 2);
  Device gate(*b, x), other(*b, up), y(*b, n);
  b->gelu_mul(gate.data(), other.data(), rows, width, y.data());
  Numbers expected(n);
  for (std::size_t i = 0; i < n; ++i)
    expected[i] = 0.5 * x[i] * (1 + std::tanh(std::sqrt(2 / M_PI) * (x[i] + 0.044715 * x[i] * x[i] * x[i]))) * up[i];
  EXPECT_LT(distance(y.values(), expected), tolerance(b->dtype()));

  const RandomWeight bias = random_weight(DType::bf16, static_cast<std::size_t>(width), 3);
  Device biased(*b, x);
  b->add_to_rows(biased.data(), b->weight(DType::bf16, 1, width, bias.bytes.data()), rows);
  for (std::size_t i = 0; i < n; ++i) expected[i] = x[i] + bias.values[i % static_cast<std::size_t>(width)];
  EXPECT_LT(distance(biased.values(), expected), tolerance(b->dtype()));

  Device scaled(*b, x);
  b->scale(scaled.data(), rows, width, /*first=*/10, 0.25);
  for (std::size_t i = 0; i < n; ++i) expected[i] = i % static_cast<std::size_t>(width) < 10 ? 0.25 * x[i] : x[i];
  EXPECT_EQ(scaled.values(), expected);

  Device sum(*b, x);
  b->add_scaled(sum.data(), other.data(), n, 0.3);
  for (std::size_t i = 0; i < n; ++i) expected[i] = x[i] + 0.3 * up[i];
  EXPECT_LT(distance(sum.values(), expected), tolerance(b->dtype()));
}

TEST_P(LayerParts, ATableRotatesTheFirstDimensionsAndLeavesTheOthers) {
  ModelConfig c = config_of(1, 1, 8);
  c.ropes.push_back({.theta = 100, .dims = 6});
  auto b = make(c);
  const Numbers x = random_numbers(8, 5);
  for (const int position : {0, 3, -3, 500}) {
    Device row(*b, x);
    b->rope(row.data(), 1, 1, std::vector<int>{position}, /*table=*/1);
    Numbers expected = rope_reference(std::span(x).first(6), position, cpu::rope_frequencies(c, 1));
    expected.insert(expected.end(), x.begin() + 6, x.end());
    EXPECT_LT(distance(row.values(), expected), tolerance(b->dtype())) << position;
  }
}

/// z of one query over n keys.
Numbers logits_of(std::span<const double> q, std::span<const double> k, const LogitRule& rule) {
  const std::size_t d = q.size();
  Numbers z(k.size() / d);
  for (std::size_t j = 0; j < z.size(); ++j) {
    for (std::size_t i = 0; i < d; ++i) z[j] += q[i] * k[j * d + i];
    z[j] *= rule.scale;
    if (rule.cap != 0) z[j] = rule.cap * std::tanh(z[j] / rule.cap);
  }
  return z;
}

Numbers softmax(Numbers z) {
  double top = -INFINITY, sum = 0;
  for (const double x : z) top = std::max(top, x);
  for (double& x : z) sum += x = std::exp(x - top);
  for (double& x : z) x /= sum;
  return z;
}

constexpr int kDims = 16;

TEST_P(LayerParts, AStepSeesCappedAndScaledLogits) {
  auto b = make(config_of(2, 1, kDims));
  const int n = 21;
  const Numbers q = random_numbers(2 * kDims, 1, 2.0), k = random_numbers(n * kDims, 2), v = random_numbers(n * kDims, 3),
                bias = random_numbers(n, 4);
  HeadKv kv = b->make_kv(n);
  const Device keys(*b, k), values(*b, v);
  b->append_kv(kv, keys.data(), values.data(), n);
  Device query(*b, q), out(*b, 2 * kDims), p(*b, 2 * n), z(*b, 2 * n);
  const KvSegment slots = slots_of(kv);
  const LogitRule rule{.scale = 0.7, .cap = 3};
  const AttentionJob job{.slots = {&slots, 1},
                         .q = query.data(),
                         .bias = bias.data(),
                         .out = out.data(),
                         .probabilities = p.data(),
                         .logits = z.data(),
                         .rule = rule};
  b->attend({&job, 1});
  Numbers all_z, all_p;
  for (int g = 0; g < 2; ++g) {
    Numbers of_head = logits_of(std::span(q).subspan(static_cast<std::size_t>(g * kDims), kDims), k, rule);
    all_z.insert(all_z.end(), of_head.begin(), of_head.end());
    for (std::size_t j = 0; j < of_head.size(); ++j) of_head[j] += bias[j];  // beside the cap, not under it
    of_head = softmax(of_head);
    all_p.insert(all_p.end(), of_head.begin(), of_head.end());
  }
  EXPECT_LT(distance(z.values(), all_z), tolerance(b->dtype()));
  EXPECT_LT(distance(p.values(), all_p), tolerance(b->dtype()));
}

/// A prompt of 70 rows after 9 seen ones, in two segments, with column sums and without.
void expect_window(Backend& b, int window, bool sums) {
  constexpr int first = 9, rows = 70, all = first + rows, heads = 2;
  const Numbers q = random_numbers(rows * heads * kDims, 1, 2.0), k = random_numbers(all * kDims, 2), v = random_numbers(all * kDims, 3);
  const Device keys(b, k), values(b, v);
  HeadKv early = b.make_kv(33), late = b.make_kv(all - 33);
  const std::size_t offset = size_of(b.dtype()) * 33 * kDims;
  b.append_kv(early, keys.data(), values.data(), 33);
  b.append_kv(late, static_cast<const char*>(keys.data()) + offset, static_cast<const char*>(values.data()) + offset, all - 33);
  const std::vector<std::vector<KvSegment>> slots = {{slots_of(early), slots_of(late)}};
  Device query(b, q), out(b, q.size()), p(b, heads * rows * all), z(b, heads * rows * all);
  Numbers columns(all, 0.0);
  const ColumnSums wanted{.stride = all, .sum = columns.data()};
  const LogitRule rule{.scale = 0.4, .cap = 2};
  PromptAttentionJob job{.slots = slots,
                         .first = first,
                         .rows = rows,
                         .q = query.data(),
                         .out = out.data(),
                         .probability_rows = rows,
                         .probabilities = p.data(),
                         .logit_rows = rows,
                         .logits = z.data(),
                         .layer = {.window = window, .logits = rule}};
  if (sums) job.columns = {&wanted, 1};
  b.attend_prompt(job);
  Numbers expected_p(heads * rows * all, 0.0), expected_z(heads * rows * all, -INFINITY), expected_out(q.size(), 0.0),
      expected_sum(all, 0.0);
  for (int r = 0; r < rows; ++r) {
    for (int g = 0; g < heads; ++g) {
      const int end = first + r + 1, begin = std::max(0, end - window), n = end - begin;
      const std::size_t at = static_cast<std::size_t>((g * rows + r) * all + begin), to = static_cast<std::size_t>((r * heads + g) * kDims);
      const auto seen = std::span(k).subspan(static_cast<std::size_t>(begin * kDims), static_cast<std::size_t>(n * kDims));
      const Numbers logits = logits_of(std::span(q).subspan(to, kDims), seen, rule), weights = softmax(logits);
      for (int j = 0; j < n; ++j) {
        const std::size_t slot = static_cast<std::size_t>(j);
        expected_z[at + slot] = logits[slot];
        expected_p[at + slot] = weights[slot];
        expected_sum[static_cast<std::size_t>(begin + j)] += weights[slot] / heads;
        for (int i = 0; i < kDims; ++i)
          expected_out[to + static_cast<std::size_t>(i)] += weights[slot] * v[static_cast<std::size_t>((begin + j) * kDims + i)];
      }
    }
  }
  EXPECT_LT(distance(out.values(), expected_out), tolerance(b.dtype())) << window;
  EXPECT_LT(distance(p.values(), expected_p), tolerance(b.dtype())) << window;
  EXPECT_LT(distance(z.values(), expected_z), tolerance(b.dtype())) << window;
  if (sums) {
    EXPECT_LT(distance(columns, expected_sum), tolerance(b.dtype())) << window;
  }
}

TEST_P(LayerParts, ARowOfAPromptSeesItsWindowOnly) {
  auto b = make(config_of(2, 1, kDims));
  for (const int window : {1, 2, 5, 16, 40, 78, 79, 200}) {
    expect_window(*b, window, false);
    expect_window(*b, window, true);
  }
}

INSTANTIATE_TEST_SUITE_P(On, LayerParts, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
