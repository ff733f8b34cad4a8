// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/reference.h"

namespace kvscope::test {
namespace {

class Linear : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend(int threads) const { return make(config_of(2, 1, 8), threads); }
};

struct Shape {
  int rows, out, in;
};

// Tails of every vector width, one to many rows of tiles, columns that no tile divides, and k long enough to be cut into pieces.
const std::vector<Shape> kShapes = {{1, 1, 1},    {1, 8, 4},    {1, 13, 7},   {3, 5, 31},     {8, 33, 80},    {6, 24, 257}, {65, 31, 33},
                                    {12, 9, 128}, {13, 9, 128}, {65, 97, 64}, {50, 50, 1025}, {97, 49, 1100}, {5, 3, 2048}, {1, 19, 2115}};

TEST_P(Linear, EqualsThePlainFormulaForEveryWeightType) {
  const auto b = backend(2);
  for (const Shape& s : kShapes) {
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      const Numbers x = random_numbers(static_cast<std::size_t>(s.rows * s.in), 1);
      const RandomWeight w = random_weight(type, static_cast<std::size_t>(s.out * s.in), 2);
      Device dx(*b, x), y(*b, static_cast<std::size_t>(s.rows * s.out));
      b->linear(dx.data(), b->weight(type, s.out, s.in, w.bytes.data()), s.rows, y.data(), false);
      EXPECT_LT(distance(y.values(), linear_reference(x, w.values, s.rows, s.out, s.in)), tolerance(b->dtype()))
          << s.rows << " x " << s.in << " by " << s.out << ", " << name_of(type);
    }
  }
}

TEST_P(Linear, AddsToTheOutputWhenAsked) {
  const auto b = backend(1);
  for (const Shape& s : {Shape{1, 9, 5}, Shape{65, 10, 33}, Shape{20, 10, 1100}}) {
    const Numbers x = random_numbers(static_cast<std::size_t>(s.rows * s.in), 3);
    const RandomWeight w = random_weight(DType::f32, static_cast<std::size_t>(s.out * s.in), 4);
    const Weight weight = b->weight(DType::f32, s.out, s.in, w.bytes.data());
    Device dx(*b, x), once(*b, static_cast<std::size_t>(s.rows * s.out)), added(*b, static_cast<std::size_t>(s.rows * s.out), 100.0);
    b->linear(dx.data(), weight, s.rows, once.data(), false);
    b->linear(dx.data(), weight, s.rows, added.data(), true);
    Numbers expected = once.values();
    for (double& e : expected) e += 100.0;
    EXPECT_LT(distance(added.values(), expected), tolerance(b->dtype()));
  }
}

TEST_P(Linear, ARowHasTheSameBitsAloneAndAmongOthers) {
  const auto b = backend(2);
  for (const int in : {7, 64, 257, 1100, 2115}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const int rows = std::min(65, GetParam().rows_alike), out = 53;
      const Numbers x = random_numbers(static_cast<std::size_t>(rows * in), 5);
      const RandomWeight w = random_weight(type, static_cast<std::size_t>(out * in), 6);
      const Weight weight = b->weight(type, out, in, w.bytes.data());
      Device dx(*b, x), all(*b, static_cast<std::size_t>(rows * out));
      b->linear(dx.data(), weight, rows, all.data(), false);
      const Numbers together = all.values();
      for (const int few : {1, 2, 3, 8, 12, 13, 40}) {
        for (int r = 0; r + few <= rows; r += few) {
          Device part(*b, static_cast<std::size_t>(few * out));
          b->linear(dx.at(static_cast<std::size_t>(r * in)), weight, few, part.data(), false);
          const Numbers alone = part.values();
          for (std::size_t i = 0; i < alone.size(); ++i)
            ASSERT_EQ(alone[i], together[static_cast<std::size_t>(r * out) + i]) << in << " " << few;
        }
      }
    }
  }
}

TEST_P(Linear, HasTheSameBitsForAnyNumberOfThreads) {
  const int rows = 40, out = 301, in = 1030;
  const Numbers x = random_numbers(static_cast<std::size_t>(rows * in), 7);
  const RandomWeight w = random_weight(DType::bf16, static_cast<std::size_t>(out * in), 8);
  std::vector<Numbers> results;
  for (const int threads : {1, 2, 5}) {
    const auto b = backend(threads);
    Device dx(*b, x), y(*b, static_cast<std::size_t>(rows * out)), one(*b, static_cast<std::size_t>(out));
    const Weight weight = b->weight(DType::bf16, out, in, w.bytes.data());
    b->linear(dx.data(), weight, rows, y.data(), false);
    b->linear(dx.data(), weight, 1, one.data(), false);
    results.push_back(y.values());
    const Numbers first = one.values();
    results.back().insert(results.back().end(), first.begin(), first.end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_P(Linear, TakesWeightsThatLieAtAnOddAddress) {
  const auto b = backend(1);
  const RandomWeight w = random_weight(DType::f32, 15, 9);
  std::vector<std::uint8_t> shifted(w.bytes.size() + 1);
  std::memcpy(shifted.data() + 1, w.bytes.data(), w.bytes.size());
  const Numbers x = random_numbers(5, 10);
  Device dx(*b, x), y(*b, 3);
  b->linear(dx.data(), b->weight(DType::f32, 3, 5, shifted.data() + 1), 1, y.data(), false);
  EXPECT_LT(distance(y.values(), linear_reference(x, w.values, 1, 3, 5)), tolerance(b->dtype()));
}

TEST_P(Linear, KeepsInfinityAndNanOfHalfWeights) {
  const auto b = backend(1);
  for (const int in : {3, 16, 40}) {
    std::vector<std::uint16_t> w(static_cast<std::size_t>(2 * in), 0);
    w[1] = 0x7c00;                                     // +inf in row 0
    w[static_cast<std::size_t>(2 * in - 1)] = 0x7e01;  // NaN in row 1
    Device x(*b, static_cast<std::size_t>(in), 2.0), y(*b, 2, 0.0);
    b->linear(x.data(), b->weight(DType::f16, 2, in, w.data()), 1, y.data(), false);
    EXPECT_EQ(y.values()[0], INFINITY);
    EXPECT_TRUE(std::isnan(y.values()[1]));
  }
}

INSTANTIATE_TEST_SUITE_P(On, Linear, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
