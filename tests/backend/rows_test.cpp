// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numbers>

#include "backend/reference.h"
#include "backend/synthetic.h"
#include "core/dequantise.h"

namespace kvscope::test {
namespace {

class Rows : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend(const ModelConfig& c = config_of(2, 1, 8), int threads = 2) const { return make(c, threads); }
};

TEST_P(Rows, EmbedWidensTheRowOfEachId) {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const auto b = backend();
    const int width = 37;
    const RandomWeight w = random_weight(type, size(10, width), 1);
    const std::vector<int> ids = {9, 0, 3, 3};
    Device x(*b, size(4, width));
    b->embed(b->weight(type, 10, width, w.bytes.data()), ids, x.data());
    const Numbers y = x.values();
    for (std::size_t r = 0; r < ids.size(); ++r) {
      for (int i = 0; i < width; ++i) {
        const double exact = w.values[size(ids[r], width) + size(i)];
        const double expected = b->dtype() == DType::f64 ? exact : static_cast<double>(static_cast<float>(exact));
        ASSERT_EQ(y[r * size(width) + size(i)], expected);
      }
    }
  }
}

TEST_P(Rows, CopiesOfRowsTakeOneOfEveryStrideAndLeaveTheRest) {
  for (const int width : {3, 8, 40}) {
    for (const int stride : {1, 3}) {
      const auto b = backend();
      const std::vector<int> counts = {1, 70, 0, 5};
      const Numbers from = random_numbers(size(70 * stride, width, 4), 1);
      Device x(*b, from), y(*b, size(76, width), -1.0), one(*b, size(2, width), -1.0);
      std::vector<RowsJob> jobs;
      Numbers expected;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::size_t begin = size(70 * stride, width) * i;
        jobs.push_back({y.at(expected.size()), x.at(begin), counts[i]});
        for (int r = 0; r < counts[i]; ++r) {
          const auto row = from.begin() + static_cast<long>(begin + size(r * stride, width));
          expected.insert(expected.end(), row, row + width);
        }
      }
      const std::size_t row_bytes = size(width) * size_of(b->dtype());
      b->copy_rows(jobs, row_bytes, stride);
      EXPECT_EQ(y.values(), expected) << width << " " << stride;
      const RowsJob single{one.at(size(width)), x.at(size(width)), 1};
      b->copy_rows({&single, 1}, row_bytes, stride);
      Numbers alone(size(width), -1.0);
      alone.insert(alone.end(), from.begin() + width, from.begin() + 2 * width);
      EXPECT_EQ(one.values(), alone) << width << " " << stride;
    }
  }
}

TEST_P(Rows, RmsNormDividesByTheRootOfTheMeanSquare) {
  const auto b = backend();
  for (const int width : {1, 31, 256, 300}) {
    for (const int rows : {1, 3, 65}) {
      const Numbers x = random_numbers(size(rows, width), 1);
      const RandomWeight w = random_weight(DType::bf16, size(width), 2);
      Device dx(*b, x), y(*b, size(rows, width));
      b->rms_norm(dx.data(), b->weight(DType::bf16, 1, width, w.bytes.data()), 1e-5, rows, y.data());
      Numbers expected(x.size());
      for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int i = 0; i < width; ++i) sum += x[size(r, width) + size(i)] * x[size(r, width) + size(i)];
        for (int i = 0; i < width; ++i)
          expected[size(r, width) + size(i)] = x[size(r, width) + size(i)] / std::sqrt(sum / width + 1e-5) * w.values[size(i)];
      }
      EXPECT_LT(distance(y.values(), expected), tolerance(b->dtype()));
    }
  }
}

TEST_P(Rows, RmsNormOfARowOfZerosIsZeros) {
  const auto b = backend();
  Device x(*b, 8, 0.0), y(*b, 8);
  const std::vector<float> one(8, 1.0f);
  b->rms_norm(x.data(), b->weight(DType::f32, 1, 8, one.data()), 1e-5, 1, y.data());
  EXPECT_EQ(y.values(), Numbers(8, 0.0));
}

TEST_P(Rows, SiluMulIsGateTimesSigmoidTimesUp) {
  const auto b = backend();
  for (const int width : {1, 17, 512}) {
    const Numbers gate = random_numbers(size(65, width), 1, 5.0), up = random_numbers(size(65, width), 2);
    Device g(*b, gate), u(*b, up), y(*b, size(65, width));
    b->silu_mul(g.data(), u.data(), 65, width, y.data());
    Numbers expected(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i) expected[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i];
    EXPECT_LT(distance(y.values(), expected), tolerance(b->dtype()));
  }
}

TEST_P(Rows, SiluMulIsFiniteFarOut) {
  const auto b = backend();
  const Numbers gate = {-1e4, -100, 100, 1e4, 0, -1e4, -100, 100, 1e4, 0, -1e4, -100, 100, 1e4, 0, 1, 2};
  Device g(*b, gate), u(*b, gate.size(), 1.0), y(*b, gate.size());
  b->silu_mul(g.data(), u.data(), 1, static_cast<int>(gate.size()), y.data());
  const Numbers out = y.values();
  EXPECT_NEAR(out[0], 0.0, 1e-35);
  EXPECT_NEAR(out[1], 0.0, 1e-35);
  EXPECT_EQ(out[2], 100.0);
  EXPECT_EQ(out[3], 1e4);
  EXPECT_EQ(out[4], 0.0);
}

TEST_P(Rows, RopeTurnsEachPairByPositionTimesFrequency) {
  for (const int d : {4, 8, 32, 80, 128}) {
    const ModelConfig config = config_of(3, 1, d);
    const auto b = backend(config);
    const std::vector<double> frequencies = cpu::rope_frequencies(config);
    const std::vector<int> positions = {0, 1, 7, 1000, -3, 300};
    const Numbers x = random_numbers(size(6, 3, d), 1);
    Device dx(*b, x);
    b->rope(dx.data(), 6, 3, positions);
    Numbers expected;
    for (int r = 0; r < 6; ++r) {
      for (int h = 0; h < 3; ++h) {
        const Numbers row = rope_reference(std::span(x).subspan(size(r * 3 + h, d), size(d)), positions[size(r)], frequencies);
        expected.insert(expected.end(), row.begin(), row.end());
      }
    }
    EXPECT_LT(distance(dx.values(), expected), tolerance(b->dtype())) << d;
  }
}

TEST_P(Rows, RopeBackUndoesRopeForward) {
  const auto b = backend(config_of(2, 1, 32));
  const Numbers x = random_numbers(size(3, 2, 32), 1);
  Device dx(*b, x);
  b->rope(dx.data(), 3, 2, std::vector<int>{5, 77, 1023});
  b->rope(dx.data(), 3, 2, std::vector<int>{-5, -77, -1023});
  EXPECT_LT(distance(dx.values(), x), tolerance(b->dtype()));
}

TEST_P(Rows, WoL1IsTheL1NormOfEachHeadsOutputAfterItsPartOfWo) {
  for (const int d : {4, 32, 80}) {
    const ModelConfig config = config_of(3, 1, d);
    const int dim = 70, rows = 14;
    const RandomWeight w = random_weight(DType::f16, size(dim, 3, d), 1);
    const Numbers x = random_numbers(size(rows, 3, d), 2);
    Numbers expected;
    for (int r = 0; r < rows; ++r) {
      for (int g = 0; g < 3; ++g) {
        double sum = 0;
        for (int o = 0; o < dim; ++o) {
          double dot = 0;
          for (int i = 0; i < d; ++i) dot += x[size(r * 3 + g, d) + size(i)] * w.values[size(o * 3 + g, d) + size(i)];
          sum += std::abs(dot);
        }
        expected.push_back(sum);
      }
    }
    for (const int threads : {1, 2, 5}) {
      const auto b = backend(config, threads);
      Device dx(*b, x);
      const Weight wo = b->weight(DType::f16, dim, 3 * d, w.bytes.data());
      Numbers out(size(rows, 3)), one(3);
      b->wo_l1(dx.data(), wo, rows, out);
      EXPECT_LT(distance(out, expected), tolerance(b->dtype()));
      b->wo_l1(dx.at(size(5, 3, d)), wo, 1, one);
      EXPECT_EQ(one, Numbers(out.begin() + 15, out.begin() + 18)) << "a row alone";
    }
  }
}

TEST_P(Rows, RowsOfOneHeadTimesItsPartOfWo) {
  const int d = 8, dim = 130, rows = 11;
  const ModelConfig config = config_of(3, 3, d);
  const Numbers x = random_numbers(size(rows, 3, d), 21);
  const RandomWeight w = random_weight(DType::f32, size(dim, 3, d), 22);
  for (const int threads : {1, 3}) {
    const auto b = backend(config, threads);
    Device dx(*b, x);
    const Weight wo = b->weight(DType::f32, dim, 3 * d, w.bytes.data());
    for (int g = 0; g < 3; ++g) {
      Numbers expected, out(size(rows, dim)), one(size(dim));
      for (int r = 0; r < rows; ++r) {
        for (int o = 0; o < dim; ++o) {
          double dot = 0;
          for (int i = 0; i < d; ++i) dot += x[size(r * 3 + g, d) + size(i)] * w.values[size(o * 3 + g, d) + size(i)];
          expected.push_back(dot);
        }
      }
      b->wo_rows(dx.at(size(g, d)), 3 * d, wo, g, rows, out);
      EXPECT_LT(distance(out, expected), tolerance(b->dtype())) << "head " << g;
      b->wo_rows(dx.at(size(5 * 3 + g, d)), 3 * d, wo, g, 1, one);
      EXPECT_EQ(one, Numbers(out.begin() + 5 * dim, out.begin() + 6 * dim)) << "a row alone";
    }
  }
}

TEST_P(Rows, SyntheticWeightsAreTheSameNumbersInEveryFormat) {
  const auto b = backend();
  const std::vector<int> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto numbers = [&](DType type, std::uint64_t seed) {
    Device x(*b, size(12, 50));
    b->embed(b->synthetic_weight(type, 12, 50, seed), ids, x.data());
    return x.values();
  };
  const Numbers wide = numbers(DType::f32, 7);
  EXPECT_EQ(wide, numbers(DType::f16, 7));
  EXPECT_EQ(wide, numbers(DType::bf16, 7));
  EXPECT_NE(wide, numbers(DType::f32, 8));
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(wide[i], synthetic_number(7, i) / 4096.0);
    sum += wide[i];
    squares += wide[i] * wide[i];
  }
  EXPECT_LT(std::abs(sum / 600), 0.003);
  EXPECT_NEAR(std::sqrt(squares / 600), 0.018, 0.002);
}

TEST_P(Rows, SyntheticBlocksAreTheSameOnEveryBackendAndOfTheSizeOfOtherWeights) {
  const auto b = backend();
  const int rows = 6, width = 512;
  const std::vector<int> ids = {0, 1, 2, 3, 4, 5};
  for (const DType type : {DType::q8_0, DType::q4_k, DType::q6_k}) {
    ASSERT_TRUE(has_synthetic_blocks(type));
    Device x(*b, size(rows, width));
    b->embed(b->synthetic_weight(type, rows, width, 7), ids, x.data());
    const std::size_t n = size(rows, width), bytes = block_of(type).bytes;
    std::vector<unsigned char> blocks(bytes_of(type, n));
    for (std::size_t i = 0; i * bytes < blocks.size(); ++i) synthetic_block(type, 7, i, blocks.data() + i * bytes);
    std::vector<float> expected(n);
    dequantise(type, blocks.data(), n, expected.data());
    EXPECT_EQ(x.values(), Numbers(expected.begin(), expected.end())) << name_of(type);
    double sum = 0, squares = 0;
    for (const float w : expected) {
      sum += static_cast<double>(w);
      squares += static_cast<double>(w) * static_cast<double>(w);
    }
    EXPECT_LT(std::abs(sum / static_cast<double>(n)), 0.004) << name_of(type);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(n)), 0.018, 0.004) << name_of(type);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Rows, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

TEST(RopeFrequencies, AreThetaToTheMinusTwoIOverD) {
  ModelConfig c = config_of(1, 1, 8);
  c.ropes[0].theta = 10000;
  const std::vector<double> f = cpu::rope_frequencies(c);
  ASSERT_EQ(f.size(), 4u);
  EXPECT_DOUBLE_EQ(f[0], 1.0);
  EXPECT_DOUBLE_EQ(f[1], 0.1);
  EXPECT_DOUBLE_EQ(f[2], 0.01);
  EXPECT_DOUBLE_EQ(f[3], 0.001);
}

TEST(RopeFrequencies, LinearScalingDividesAllOfThem) {
  ModelConfig c = config_of(1, 1, 8);
  c.ropes[0].scaling.kind = RopeScaling::Kind::linear;
  c.ropes[0].scaling.factor = 4;
  EXPECT_DOUBLE_EQ(cpu::rope_frequencies(c)[0], 0.25);
  EXPECT_DOUBLE_EQ(cpu::rope_frequencies(c)[3], 0.00025);
}

TEST(RopeFrequencies, Llama3KeepsShortWavesDividesLongOnesAndMixesBetween) {
  ModelConfig c = config_of(1, 1, 128);
  c.ropes[0].theta = 500000;
  const std::vector<double> plain = cpu::rope_frequencies(c);
  c.ropes[0].scaling = {
      .kind = RopeScaling::Kind::llama3, .factor = 8.0, .low_freq_factor = 1.0, .high_freq_factor = 4.0, .original_max_position = 8192};
  const std::vector<double> scaled = cpu::rope_frequencies(c);
  int kept = 0, divided = 0, mixed = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / plain[i];
    if (wavelength < 8192 / 4.0) {
      EXPECT_EQ(scaled[i], plain[i]);
      ++kept;
    } else if (wavelength > 8192 / 1.0) {
      EXPECT_EQ(scaled[i], plain[i] / 8);
      ++divided;
    } else {
      const double smooth = (8192 / wavelength - 1.0) / (4.0 - 1.0);
      EXPECT_NEAR(scaled[i], (1 - smooth) * plain[i] / 8 + smooth * plain[i], 1e-18);
      ++mixed;
    }
  }
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(mixed, 6);
  EXPECT_EQ(divided, 29);
}

}  // namespace
}  // namespace kvscope::test
