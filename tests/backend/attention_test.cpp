// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/reference.h"

namespace kvscope::test {
namespace {

std::span<const double> part(const Numbers& x, std::size_t from, std::size_t n) { return std::span(x).subspan(from, n); }

class Attention : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend(const ModelConfig& c, int threads = 2) const { return make(c, threads); }
};

/// Slots [0, n) cut into runs of the given lengths, the last one takes the rest.
std::vector<KvSegment> segments_of(Device& k, Device& v, int n, int d, const std::vector<int>& lengths) {
  std::vector<KvSegment> out;
  int at = 0;
  for (const int length : lengths) {
    const int here = std::min(length, n - at);
    out.push_back({k.at(size(at, d)), v.at(size(at, d)), here});
    at += here;
  }
  if (at < n) out.push_back({k.at(size(at, d)), v.at(size(at, d)), n - at});
  return out;
}

TEST_P(Attention, DecodeEqualsThePlainFormula) {
  for (const int d : {4, 8, 32, 80, 128}) {
    for (const int n : {1, 31, 33, 257}) {
      for (const int group : {1, 2, 4, 7}) {
        const auto b = backend(config_of(group, 1, d));
        const Numbers q = random_numbers(size(group, d), 1), k = random_numbers(size(n, d), 2), v = random_numbers(size(n, d), 3);
        const Numbers bias = random_numbers(size(n), 4);
        Device dq(*b, q), dk(*b, k), dv(*b, v), out(*b, size(group, d)), p(*b, size(group, n)), z(*b, size(group, n));
        const std::vector<KvSegment> segments = segments_of(dk, dv, n, d, {});
        for (const bool with_bias : {false, true}) {
          const AttentionJob job{segments, dq.data(), with_bias ? bias.data() : nullptr, out.data(), p.data(), z.data(), false};
          b->attend(std::span(&job, 1));
          Numbers expected_out, expected_p, expected_z;
          for (int g = 0; g < group; ++g) {
            const AttentionResult a = attention_reference(part(q, size(g, d), size(d)), k, v, d,
                                                          with_bias ? std::span<const double>(bias) : std::span<const double>());
            expected_out.insert(expected_out.end(), a.out.begin(), a.out.end());
            expected_p.insert(expected_p.end(), a.probabilities.begin(), a.probabilities.end());
            expected_z.insert(expected_z.end(), a.logits.begin(), a.logits.end());
          }
          EXPECT_LT(distance(out.values(), expected_out), tolerance(b->dtype())) << d << " " << n << " " << group;
          EXPECT_LT(distance(p.values(), expected_p), tolerance(b->dtype())) << d << " " << n << " " << group;
          EXPECT_LT(distance(z.values(), expected_z), tolerance(b->dtype())) << d << " " << n << " " << group;
        }
      }
    }
  }
}

TEST_P(Attention, AFurtherSlotIsOneMoreForEveryQueryHead) {
  for (const int n : {1, 33, 257}) {
    const int d = 32, group = 2;
    const auto b = backend(config_of(group, 1, d));
    const Numbers q = random_numbers(size(group, d), 1), k = random_numbers(size(n, d), 2), v = random_numbers(size(n, d), 3);
    const Numbers bias = random_numbers(size(n), 4);
    Device dq(*b, q), dk(*b, k), dv(*b, v), out(*b, size(group, d)), p(*b, size(group, n)), z(*b, size(group, n));
    const std::vector<KvSegment> segments = segments_of(dk, dv, n, d, {});
    for (const double logit : {-3.0, 0.5, 9.0}) {
      FurtherSlot further{.logits = {logit, -std::numeric_limits<double>::infinity()},
                          .values = random_numbers(size(group, d), 5),
                          .probabilities = b->allocate(size_of(b->dtype()) * 2)};
      const AttentionJob job{.slots = segments,
                             .q = dq.data(),
                             .bias = bias.data(),
                             .out = out.data(),
                             .probabilities = p.data(),
                             .logits = z.data(),
                             .further = &further};
      b->attend(std::span(&job, 1));
      for (int g = 0; g < group; ++g) {
        // a slot more, whose key gives 0 and whose bias gives the rest; the second head's is not there
        Numbers keys = k, values = v, biases = bias;
        if (g == 0) {
          keys.resize(size(n + 1, d));
          values.insert(values.end(), further.values.begin(), further.values.begin() + d);
          biases.push_back(logit);
        }
        const AttentionResult a = attention_reference(part(q, size(g, d), size(d)), keys, values, d, biases);
        const Numbers all = out.values(), shares = p.values(), logits = z.values();
        Numbers of_further(2);
        b->to_double(of_further, further.probabilities.data());
        const auto of_head = [&](const Numbers& x, int width) { return Numbers(x.begin() + g * width, x.begin() + (g + 1) * width); };
        EXPECT_LT(distance(of_head(all, d), a.out), tolerance(b->dtype())) << n << " " << logit;
        EXPECT_LT(distance(of_head(shares, n), Numbers(a.probabilities.begin(), a.probabilities.begin() + n)), tolerance(b->dtype()));
        EXPECT_LT(distance(of_head(logits, n), Numbers(a.logits.begin(), a.logits.begin() + n)), tolerance(b->dtype()));
        EXPECT_NEAR(of_further[size(g)], g == 0 ? a.probabilities.back() : 0.0, tolerance(b->dtype()));
      }
    }
  }
}

TEST_P(Attention, NeitherSegmentsNorThreadsNorOtherJobsChangeABit) {
  const int d = 32, n = 257, group = 2, n_jobs = 9;
  const Numbers q = random_numbers(size(group, d, n_jobs), 1), k = random_numbers(size(n, d), 2), v = random_numbers(size(n, d), 3);
  Numbers first;
  for (const int threads : {1, 2, 5}) {
    const auto b = backend(config_of(group, 1, d), threads);
    Device dq(*b, q), dk(*b, k), dv(*b, v);
    for (const std::vector<int>& lengths : {std::vector<int>{}, {1, 16, 0, 100}, {64, 64, 64, 64}, {3, 5, 7, 11, 13}}) {
      const std::vector<KvSegment> segments = segments_of(dk, dv, n, d, lengths);
      Device out(*b, size(group, d, n_jobs));
      std::vector<AttentionJob> jobs(n_jobs);
      for (int i = 0; i < n_jobs; ++i) {
        jobs[size(i)].slots = segments;
        jobs[size(i)].q = dq.at(size(i, group, d));
        jobs[size(i)].out = out.at(size(i, group, d));
      }
      b->attend(jobs);
      if (first.empty()) first = out.values();
      EXPECT_EQ(out.values(), first) << threads;
      Device alone(*b, size(group, d));
      jobs[4].out = alone.data();
      b->attend(std::span(&jobs[4], 1));
      const auto expected = part(first, size(4, group, d), size(group, d));
      EXPECT_EQ(alone.values(), Numbers(expected.begin(), expected.end()));
    }
  }
}

TEST_P(Attention, RotatesStoredKeysByTheirCacheIndex) {
  for (const int d : {4, 32, 80}) {
    const ModelConfig config = config_of(2, 1, d);
    const std::vector<double> frequencies = cpu::rope_frequencies(config);
    const auto b = backend(config);
    const int n = 150;
    const Numbers q = random_numbers(size(2, d), 1), k = random_numbers(size(n, d), 2), v = random_numbers(size(n, d), 3);
    Numbers rotated;
    for (int j = 0; j < n; ++j) {
      const Numbers row = rope_reference(part(k, size(j, d), size(d)), j, frequencies);
      rotated.insert(rotated.end(), row.begin(), row.end());
    }
    Device dq(*b, q), dk(*b, k), dv(*b, v), out(*b, size(2, d));
    const std::vector<KvSegment> segments = segments_of(dk, dv, n, d, {10, 70});
    AttentionJob job{segments, dq.data(), nullptr, out.data(), nullptr, nullptr, true};
    b->attend(std::span(&job, 1));
    Numbers expected = attention_reference(part(q, 0, size(d)), rotated, v, d).out;
    const Numbers second = attention_reference(part(q, size(d), size(d)), rotated, v, d).out;
    expected.insert(expected.end(), second.begin(), second.end());
    EXPECT_LT(distance(out.values(), expected), tolerance(b->dtype())) << d;
    EXPECT_EQ(dk.values(), k) << "the cache itself stays unrotated";
  }
}

struct PromptCase {
  int n_heads, n_kv_heads, d, first, rows;
};

/// Everything of one attend_prompt call.
struct PromptResult {
  Numbers out, probabilities, logits;
};

struct PromptData {
  Numbers q, k, v;  // q [all, n_heads, d]; k, v [n_kv_heads, all, d]
  explicit PromptData(const PromptCase& p)
      : q(random_numbers(size(p.first + p.rows, p.n_heads, p.d), 1)),
        k(random_numbers(size(p.n_kv_heads, p.first + p.rows, p.d), 2)),
        v(random_numbers(size(p.n_kv_heads, p.first + p.rows, p.d), 3)) {}
};

PromptResult run_prompt(Backend& b, const PromptCase& p, const PromptData& data, const std::vector<int>& lengths, bool matrices = true) {
  const int all = p.first + p.rows;
  Device q(b, data.q), k(b, data.k), v(b, data.v), out(b, size(p.rows, p.n_heads, p.d)), a(b, size(p.n_heads, p.rows, all)),
      z(b, size(p.n_heads, p.rows, all));
  std::vector<std::vector<KvSegment>> slots;
  for (int h = 0; h < p.n_kv_heads; ++h) {
    std::vector<KvSegment> s;
    int at = 0;
    for (const int length : lengths) {
      const int here = std::min(length, all - at);
      s.push_back({k.at(size(h * all + at, p.d)), v.at(size(h * all + at, p.d)), here});
      at += here;
    }
    s.push_back({k.at(size(h * all + at, p.d)), v.at(size(h * all + at, p.d)), all - at});
    slots.push_back(s);
  }
  PromptAttentionJob job{
      slots,   p.first, p.rows, q.at(size(p.first, p.n_heads, p.d)), out.data(), matrices ? p.rows : 0, a.data(), matrices ? p.rows : 0,
      z.data()};
  b.attend_prompt(job);
  return {out.values(), a.values(), z.values()};
}

TEST_P(Attention, PromptEqualsThePlainFormulaRowByRow) {
  for (const PromptCase& p : {PromptCase{2, 1, 4, 0, 1}, PromptCase{2, 2, 8, 0, 3}, PromptCase{4, 2, 32, 5, 65},
                              PromptCase{7, 1, 80, 31, 8}, PromptCase{8, 2, 128, 1, 33}, PromptCase{1, 1, 32, 200, 57}}) {
    const auto b = backend(config_of(p.n_heads, p.n_kv_heads, p.d));
    const PromptData data(p);
    const PromptResult r = run_prompt(*b, p, data, {16, 7});
    const int all = p.first + p.rows, group = p.n_heads / p.n_kv_heads;
    for (int h = 0; h < p.n_heads; ++h) {
      for (int row = 0; row < p.rows; ++row) {
        const int n = p.first + row + 1;
        const std::size_t kv = size(h / group, all, p.d);
        const AttentionResult a = attention_reference(part(data.q, size((p.first + row) * p.n_heads + h, p.d), size(p.d)),
                                                      part(data.k, kv, size(n, p.d)), part(data.v, kv, size(n, p.d)), p.d);
        ASSERT_LT(distance(part(r.out, size(row * p.n_heads + h, p.d), size(p.d)), a.out), 4 * tolerance(b->dtype())) << h << " " << row;
        const std::size_t at = size(h * p.rows + row, all);
        ASSERT_LT(distance(part(r.probabilities, at, size(n)), a.probabilities), tolerance(b->dtype()));
        ASSERT_LT(distance(part(r.logits, at, size(n)), a.logits), tolerance(b->dtype()));
        for (int j = n; j < all; ++j) {
          ASSERT_EQ(r.probabilities[at + size(j)], 0.0);
          ASSERT_EQ(r.logits[at + size(j)], -INFINITY);
        }
      }
    }
  }
}

TEST_P(Attention, APromptRowHasTheSameBitsInEveryCutOfThePromptAndInDecode) {
  const int n = 70;
  const PromptCase whole{4, 2, 32, 0, n};
  const PromptData data(whole);
  const auto b = backend(config_of(4, 2, 32));
  const Numbers reference = run_prompt(*b, whole, data, {}).out;
  const Numbers quiet = run_prompt(*b, whole, data, {}, false).out;
  EXPECT_EQ(quiet, reference) << "asking for the matrices must not change the output";
  for (const int first : {1, 12, 13, 40, n - 1}) {
    const Numbers rest = run_prompt(*b, {4, 2, 32, first, n - first}, data, {9, 30}).out;
    EXPECT_EQ(rest, Numbers(reference.begin() + static_cast<long>(size(first, 4, 32)), reference.end())) << first;
  }
  if (!GetParam().steps_like_prompts) return;
  // the last row as two decode jobs, one per KV head
  Device q(*b, data.q), k(*b, data.k), v(*b, data.v), out(*b, size(4, 32));
  for (int h = 0; h < 2; ++h) {
    const KvSegment segment{k.at(size(h, n, 32)), v.at(size(h, n, 32)), n};
    const AttentionJob job{
        std::span(&segment, 1), q.at(size((n - 1) * 4 + 2 * h, 32)), nullptr, out.at(size(2 * h, 32)), nullptr, nullptr, false};
    b->attend(std::span(&job, 1));
  }
  EXPECT_EQ(out.values(), Numbers(reference.end() - static_cast<long>(size(4, 32)), reference.end()));
}

TEST_P(Attention, APromptHasTheSameBitsForAnyNumberOfThreads) {
  const PromptCase p{4, 2, 32, 3, 65};
  const PromptData data(p);
  const auto one = backend(config_of(4, 2, 32), 1), two = backend(config_of(4, 2, 32), 2), five = backend(config_of(4, 2, 32), 5);
  const PromptResult a = run_prompt(*one, p, data, {}), b = run_prompt(*two, p, data, {}), c = run_prompt(*five, p, data, {});
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.out, c.out);
  EXPECT_EQ(a.probabilities, b.probabilities);
  EXPECT_EQ(a.probabilities, c.probabilities);
}

TEST_P(Attention, LargeLogitsDoNotOverflow) {
  const auto b = backend(config_of(1, 1, 4));
  const Numbers q = {400, 0, 0, 0}, k = {400, 0, 0, 0, 399, 0, 0, 0, -400, 0, 0, 0}, v = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  Device dq(*b, q), dk(*b, k), dv(*b, v), out(*b, 4), p(*b, 3);
  const KvSegment s{dk.data(), dv.data(), 3};
  const AttentionJob job{std::span(&s, 1), dq.data(), nullptr, out.data(), p.data(), nullptr, false};
  b->attend(std::span(&job, 1));
  // logits 80000, 79800, -80000
  EXPECT_EQ(p.values(), (Numbers{1.0, GetParam().dtype == DType::f64 ? std::exp(-200.0) : 0.0, 0.0}));
  EXPECT_EQ(out.values(), Numbers(4, 1.0));
}

TEST_P(Attention, ASlotWithBiasMinusInfinityIsNotSeen) {
  const auto b = backend(config_of(1, 1, 8));
  const int n = 40;
  const Numbers q = random_numbers(8, 1), k = random_numbers(size(n, 8), 2), v = random_numbers(size(n, 8), 3);
  Numbers bias(size(n), 0.0);
  bias[0] = bias[17] = bias[39] = -INFINITY;
  Device dq(*b, q), dk(*b, k), dv(*b, v), out(*b, 8), p(*b, size(n));
  const KvSegment s{dk.data(), dv.data(), n};
  const AttentionJob job{std::span(&s, 1), dq.data(), bias.data(), out.data(), p.data(), nullptr, false};
  b->attend(std::span(&job, 1));
  const AttentionResult a = attention_reference(q, k, v, 8, bias);
  EXPECT_LT(distance(out.values(), a.out), tolerance(b->dtype()));
  EXPECT_EQ(p.values()[17], 0.0);
  EXPECT_EQ(p.values()[39], 0.0);
}

INSTANTIATE_TEST_SUITE_P(On, Attention, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
