// SPDX-License-Identifier: Apache-2.0
// Attention over every combination of head width, number of slots and size of a group, all heads of uneven length in one call, in every
// number format; and what else activations of half the size go through.
#include <gtest/gtest.h>

#include "backend/cuda/kernels/types.h"
#include "backend/reference.h"
#include "core/slot_runs.h"
#include "emulator.h"

namespace kvscope::test {
namespace {

double tolerance_of(DType t) { return t == DType::bf16 ? 1.0 / 128 : t == DType::f16 ? 1.0 / 1024 : 5e-6; }

std::vector<Variant> all_variants() {
  std::vector<Variant> out = variants();
  for (Variant& v : narrow_variants()) out.push_back(std::move(v));
  return out;
}

class Shapes : public OfVariant {
 protected:
  bool on_host() const { return GetParam().name.starts_with("host"); }
};

TEST_P(Shapes, DecodeOfUnevenHeadsEqualsThePlainFormula) {
  for (const int d : {32, 64, 80, 128, 6, 256}) {
    for (const int group : {1, 2, 4, 7, 8, 16}) {
      const auto b = make(config_of(group, 1, d));
      std::vector<int> lengths = {1, 31, 0, 33, 257};
      if (!on_host() || (d == 128 && group == 8) || (d == 32 && group == 1) || (d == 80 && group == 7)) lengths.push_back(4097);
      const double tolerance = tolerance_of(b->dtype());
      std::vector<Device> q, k, v, out, p, z;
      std::vector<KvSegment> segments(lengths.size());
      std::vector<Numbers> bias;
      std::vector<AttentionJob> jobs;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const int n = lengths[i];
        const unsigned seed = static_cast<unsigned>(10 * i);
        q.emplace_back(*b, random_numbers(size(group, d), seed + 1));
        k.emplace_back(*b, random_numbers(size(n, d), seed + 2));
        v.emplace_back(*b, random_numbers(size(n, d), seed + 3));
        out.emplace_back(*b, size(group, d));
        p.emplace_back(*b, size(group, n));
        z.emplace_back(*b, size(group, n));
        bias.push_back(random_numbers(size(n), seed + 4));
        segments[i] = {k[i].data(), v[i].data(), n};
      }
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const bool asks = i % 2 == 0;
        jobs.push_back({{&segments[i], 1},
                        q[i].data(),
                        i % 3 == 0 ? bias[i].data() : nullptr,
                        out[i].data(),
                        asks ? p[i].data() : nullptr,
                        asks ? z[i].data() : nullptr,
                        false});
      }
      b->attend(jobs);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const Numbers q_is = q[i].values(), k_is = k[i].values(), v_is = v[i].values();
        Numbers expected_out, expected_p, expected_z;
        for (int g = 0; g < group; ++g) {
          const AttentionResult a = attention_reference(std::span(q_is).subspan(size(g, d), size(d)), k_is, v_is, d,
                                                        jobs[i].bias ? std::span<const double>(bias[i]) : std::span<const double>());
          expected_out.insert(expected_out.end(), a.out.begin(), a.out.end());
          expected_p.insert(expected_p.end(), a.probabilities.begin(), a.probabilities.end());
          expected_z.insert(expected_z.end(), a.logits.begin(), a.logits.end());
        }
        ASSERT_LT(distance(out[i].values(), expected_out), tolerance) << d << " " << lengths[i] << " " << group;
        if (!jobs[i].probabilities) continue;
        ASSERT_LT(distance(p[i].values(), expected_p), tolerance) << d << " " << lengths[i] << " " << group;
        ASSERT_LT(distance(z[i].values(), expected_z), tolerance) << d << " " << lengths[i] << " " << group;
      }
    }
  }
}

TEST_P(Shapes, APromptOfEveryWidthAndGroupEqualsThePlainFormula) {
  struct Prompt {
    int heads, kv_heads, d, first, rows;
  };
  for (const Prompt& s : {Prompt{1, 1, 32, 0, 33}, Prompt{2, 1, 64, 31, 2}, Prompt{8, 2, 128, 0, 65}, Prompt{7, 1, 80, 60, 40},
                          Prompt{8, 1, 32, 257, 3}, Prompt{2, 2, 256, 5, 30}}) {
    const auto b = make(config_of(s.heads, s.kv_heads, s.d));
    const int all = s.first + s.rows, group = s.heads / s.kv_heads;
    Device q(*b, random_numbers(size(s.rows, s.heads, s.d), 1)), k(*b, random_numbers(size(s.kv_heads, all, s.d), 2)),
        v(*b, random_numbers(size(s.kv_heads, all, s.d), 3)), out(*b, size(s.rows, s.heads, s.d)), p(*b, size(s.heads, s.rows, all));
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < s.kv_heads; ++h) slots.push_back({{k.at(size(h, all, s.d)), v.at(size(h, all, s.d)), all}});
    b->attend_prompt({.slots = slots,
                      .first = s.first,
                      .rows = s.rows,
                      .q = q.data(),
                      .out = out.data(),
                      .probability_rows = s.rows,
                      .probabilities = p.data()});
    const Numbers q_is = q.values(), k_is = k.values(), v_is = v.values(), out_is = out.values(), p_is = p.values();
    for (int h = 0; h < s.heads; ++h) {
      for (int r = 0; r < s.rows; ++r) {
        const std::size_t n = size(s.first + r + 1), kv = size(h / group, all, s.d), at = size(r * s.heads + h, s.d);
        const AttentionResult a = attention_reference(std::span(q_is).subspan(at, size(s.d)), std::span(k_is).subspan(kv, n * size(s.d)),
                                                      std::span(v_is).subspan(kv, n * size(s.d)), s.d);
        ASSERT_LT(distance(std::span(out_is).subspan(at, size(s.d)), a.out), 4 * tolerance_of(b->dtype()))
            << s.d << " head " << h << " row " << r;
        ASSERT_LT(distance(std::span(p_is).subspan(size(h * s.rows + r, all), n), a.probabilities), tolerance_of(b->dtype()));
      }
    }
  }
}

TEST_P(Shapes, APromptRowHasTheSameBitsInEveryCutOfThePrompt) {
  const int n = 200, heads = 2, last = 3;  // last: rows whose probabilities are looked at
  for (const int d : {24, 128, 256}) {
    const auto b = make(config_of(heads, 1, d));
    Device q(*b, random_numbers(size(n, heads, d), 1)), k(*b, random_numbers(size(n, d), 2)), v(*b, random_numbers(size(n, d), 3));
    const auto from = [&](int first, int cut) {
      const int rows = n - first, looked_at = std::min(rows, last);
      Device out(*b, size(rows, heads, d)), p(*b, size(heads, looked_at, n)), z(*b, size(heads, looked_at, n));
      const std::vector<std::vector<KvSegment>> slots = {
          {{k.data(), v.data(), cut}, {k.at(size(cut, d)), v.at(size(cut, d)), 70}, {k.at(size(cut + 70, d)), v.at(size(cut + 70, d)), n}}};
      b->attend_prompt({.slots = slots,
                        .first = first,
                        .rows = rows,
                        .q = q.at(size(first, heads, d)),
                        .out = out.data(),
                        .probability_rows = looked_at,
                        .probabilities = p.data(),
                        .logit_rows = looked_at,
                        .logits = z.data()});
      Numbers all = out.values();
      all.erase(all.begin(), all.end() - static_cast<long>(size(looked_at, heads, d)));
      for (int head = 0; head < heads; ++head)
        for (const Numbers& x : {p.values(), z.values()})
          all.insert(all.end(), x.begin() + head * looked_at * n, x.begin() + (head + 1) * looked_at * n);
      return all;
    };
    const Numbers whole = from(0, 64);
    for (const int first : {1, 30, 31, 64, 129, n - last}) ASSERT_EQ(from(first, 9), whole) << d << " " << first;
    const Numbers alone = from(n - 1, 100);
    ASSERT_TRUE(std::equal(alone.begin(), alone.begin() + heads * d, whole.begin() + (last - 1) * heads * d)) << d;
  }
}

TEST_P(Shapes, LinearOfAnyRowsEqualsThePlainFormula) {
  const auto b = make(config_of(1, 1, 32));
  for (const int rows : {1, 3, 8, 32, 33}) {
    for (const int in : {64, 90}) {
      for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
        for (const bool add : {false, true}) {
          const RandomWeight w = random_weight(type, size(37, in), 1);
          Device x(*b, random_numbers(size(rows, in), 2)), y(*b, size(rows, 37), 1.0);
          b->linear(x.data(), b->weight(type, 37, in, w.bytes.data()), rows, y.data(), add);
          Numbers expected = linear_reference(x.values(), w.values, rows, 37, in);
          for (double& e : expected) e += add ? 1 : 0;
          ASSERT_LT(distance(y.values(), expected), tolerance_of(b->dtype())) << rows << " x " << in << ", " << name_of(type);
        }
      }
    }
  }
}

TEST_P(Shapes, RowsKeepTheirNumbersInEveryFormat) {
  const auto b = make(config_of(2, 1, 32));
  const double tolerance = tolerance_of(b->dtype());
  Device x(*b, random_numbers(size(5, 64), 1)), up(*b, random_numbers(size(5, 64), 2)), y(*b, size(5, 64));
  const Numbers x_is = x.values(), up_is = up.values();
  const RandomWeight w = random_weight(DType::bf16, 64, 3);
  b->rms_norm(x.data(), b->weight(DType::bf16, 1, 64, w.bytes.data()), 1e-5, 5, y.data());
  Numbers expected(x_is.size());
  for (std::size_t r = 0; r < 5; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < 64; ++i) sum += x_is[r * 64 + i] * x_is[r * 64 + i];
    for (std::size_t i = 0; i < 64; ++i) expected[r * 64 + i] = x_is[r * 64 + i] / std::sqrt(sum / 64 + 1e-5) * w.values[i];
  }
  EXPECT_LT(distance(y.values(), expected), tolerance);
  b->silu_mul(x.data(), up.data(), 5, 64, y.data());
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = x_is[i] / (1 + std::exp(-x_is[i])) * up_is[i];
  EXPECT_LT(distance(y.values(), expected), tolerance);
  b->rope(x.data(), 5, 2, std::vector<int>{3, -3, 700, 0, 1});
  b->rope(x.data(), 5, 2, std::vector<int>{-3, 3, -700, 0, -1});
  EXPECT_LT(distance(x.values(), x_is), 2 * tolerance);
}

INSTANTIATE_TEST_SUITE_P(On, Shapes, testing::ValuesIn(all_variants()), [](const auto& p) { return name_of_variant(p.param); });

class Kernels : public testing::TestWithParam<DType> {};

TEST_P(Kernels, MakeTheSameBitsInWhateverOrderThreadsRun) {
  if (!emulator::kRuns) GTEST_SKIP();
  const Variant on_host = GetParam() == DType::f32 ? variants()[0] : narrow_variants()[0];
  ASSERT_EQ(on_host.dtype, GetParam());
  const auto run = [&] {
    const auto b = on_host.make(config_of(8, 2, 80), 1);
    Device q(*b, random_numbers(size(40, 8, 80), 1)), k(*b, random_numbers(size(2, 300, 80), 2)),
        v(*b, random_numbers(size(2, 300, 80), 3)), out(*b, size(40, 8, 80)), step(*b, size(8, 80)), p(*b, size(4, 300)),
        y(*b, size(5, 50)), a(*b, size(8, 40, 300));
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < 2; ++h) slots.push_back({{k.at(size(h, 300, 80)), v.at(size(h, 300, 80)), 300}});
    Numbers sum(600), sum_sq(600), outside(2);
    const ColumnSums columns{.stride = 300, .sum = sum.data(), .sum_sq = sum_sq.data()};
    const OutsideSum outer{2, 5, outside.data()};
    b->attend_prompt({.slots = slots,
                      .first = 260,
                      .rows = 40,
                      .q = q.data(),
                      .out = out.data(),
                      .probability_rows = 40,
                      .probabilities = a.data(),
                      .columns = {&columns, 1},
                      .outside = {&outer, 1}});
    const AttentionJob jobs[] = {{slots[0], q.data(), nullptr, step.data(), p.data(), nullptr, true},
                                 {slots[1], q.data(), nullptr, step.at(320), nullptr, nullptr, false}};
    b->attend(jobs);
    const RandomWeight w = random_weight(DType::bf16, size(50, 640), 4);
    const Weight weight = b->weight(DType::bf16, 50, 640, w.bytes.data());
    b->linear(out.data(), weight, 5, y.data(), false);
    HeadKv kv = b->make_kv(0);
    b->append_kv(kv, k.data(), v.data(), 300);
    std::vector<int> keep, from, to, places(100);
    for (int i = 0; i < 300; ++i) (i % 3 == 0 ? from : to).push_back(i);
    Numbers cosines(100), norms(size(5, 8)), keys(size(200, 80));
    nearest(*b, kv, from, to, places, cosines);
    b->wo_l1(out.data(), weight, 5, norms);
    b->remove_slots(kv, slots_without(to, kv.n_slots));
    b->keys(kv, keys);
    Numbers all = cosines;
    for (const Numbers& x : {out.values(), step.values(), p.values(), y.values(), a.values(), sum, sum_sq, outside, norms, keys})
      all.insert(all.end(), x.begin(), x.end());
    all.insert(all.end(), places.begin(), places.end());
    return all;
  };
  EXPECT_EQ(emulator::in_order(emulator::Order::ascending, run), emulator::in_order(emulator::Order::descending, run));
}

INSTANTIATE_TEST_SUITE_P(On, Kernels, testing::Values(DType::f32, DType::bf16),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace kvscope::test
