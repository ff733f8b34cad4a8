// SPDX-License-Identifier: Apache-2.0
// Quantised weights: every primitive gives what it gives for the same weights as plain numbers, bit by bit on the CPU, but for products of
// whole numbers in linear(): they are as near to the exact ones.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/random_blocks.h"
#include "backend/reference.h"

namespace kvscope::test {
namespace {

constexpr DType kTypes[] = {DType::q8_0, DType::q4_0, DType::q5_0, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl};

class Quantised : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend(int threads) const { return make(config_of(8, 4, 64), threads); }
};

/// Distances from the exact products, root mean square.
double rms_error(const Numbers& got, const Numbers& x, const Blocks& w, double before) {
  double sum = 0;
  const std::size_t in = static_cast<std::size_t>(w.in), out = static_cast<std::size_t>(w.out);
  for (std::size_t i = 0; i < got.size(); ++i) {
    double exact = before;
    for (std::size_t j = 0; j < in; ++j) exact += x[i / out * in + j] * static_cast<double>(w.numbers[i % out * in + j]);
    sum += (got[i] - exact) * (got[i] - exact);
  }
  return std::sqrt(sum / static_cast<double>(got.size()));
}

/// What errors of x of at most 2^-22 of its largest number make of products, root mean square.
double rms_of_rounding(const Numbers& x, const Blocks& w) {
  double largest = 0, squares = 0;
  for (const double v : x) largest = std::max(largest, std::abs(v));
  for (const float v : w.numbers) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::ldexp(largest, -22) * std::sqrt(squares / w.out / 3);
}

/// linear() of the blocks and of the numbers: the same bits, or errors of the same size.
void expect_alike(Backend& b, const Blocks& w, const Numbers& x, int rows, bool add) {
  const std::size_t n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.out);
  Device dx(b, x), y(b, n, 1.0), expected(b, n, 1.0);
  b.linear(dx.data(), w.blocks(b), rows, y.data(), add);
  b.linear(dx.data(), w.plain(b), rows, expected.data(), add);
  const Numbers got = y.values(), wanted = expected.values();
  if (Quantised::GetParam().whole_numbers) {
    EXPECT_LT(rms_error(got, x, w, add), 2 * rms_error(wanted, x, w, add) + rms_of_rounding(x, w))
        << name_of(w.type) << " " << rows << " x " << w.in;
  } else {
    EXPECT_EQ(got, wanted) << name_of(w.type) << " " << rows << " x " << w.in;
  }
}

TEST_P(Quantised, MultipliesAsTheNumbersDo) {
  const auto b = backend(2);
  for (const DType type : kTypes) {
    for (const int in : {256, 512, 1280}) {
      const Blocks w(type, 53, in, 3);
      for (const int rows : {1, 2, 3, 5, 6, 7, 12, 13, 65})
        expect_alike(*b, w, random_numbers(static_cast<std::size_t>(rows * in), 1), rows, rows == 5);
    }
  }
}

TEST_P(Quantised, MultipliesRowsOfWholeSmallBlocks) {
  const auto b = backend(1);
  for (const DType type : {DType::q8_0, DType::q4_0, DType::q5_0, DType::iq4_nl}) {
    for (const int in : {32, 288, 320}) {
      const Blocks w(type, 11, in, 4);
      for (const int rows : {1, 4, 20}) expect_alike(*b, w, random_numbers(static_cast<std::size_t>(rows * in), 2), rows, false);
    }
  }
}

TEST_P(Quantised, ARowsBitsDependOnNoOtherRowNorThread) {
  const auto one = backend(1), two = backend(2);
  for (const DType type : kTypes) {
    const int in = 768, out = 101, most = 67;
    const Blocks w(type, out, in, 9);
    const Numbers x = random_numbers(static_cast<std::size_t>(most * in), 10);
    Device dx(*one, x), alone(*one, static_cast<std::size_t>(most * out));
    for (int r = 0; r < most; ++r)
      one->linear(dx.at(static_cast<std::size_t>(r * in)), w.blocks(*one), 1, alone.at(static_cast<std::size_t>(r * out)), false);
    for (const int rows : {2, 3, 4, 5, 12, 13, 31, most}) {
      if (rows > GetParam().rows_alike) continue;
      Device y(*two, static_cast<std::size_t>(rows * out));
      two->linear(dx.data(), w.blocks(*two), rows, y.data(), false);
      Numbers expected = alone.values();
      expected.resize(static_cast<std::size_t>(rows * out));
      EXPECT_EQ(y.values(), expected) << name_of(type) << " " << rows;
    }
  }
}

/// Bytes that end where memory ends, as a file's last tensor may.
class AtTheEndOfMemory {
 public:
  explicit AtTheEndOfMemory(const std::vector<std::uint8_t>& bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), n = (bytes.size() + page - 1) / page * page;
    size_ = n + page;
    start_ = static_cast<std::uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (start_ == MAP_FAILED || mprotect(start_ + n, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = start_ + n - bytes.size();
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~AtTheEndOfMemory() { munmap(start_, size_); }
  AtTheEndOfMemory(const AtTheEndOfMemory&) = delete;
  AtTheEndOfMemory& operator=(const AtTheEndOfMemory&) = delete;
  const void* data() const { return data_; }

 private:
  std::size_t size_;
  std::uint8_t *start_, *data_;
};

TEST_P(Quantised, NeverReadsBehindTheLastBlock) {
  const auto b = backend(1);
  for (const DType type : kTypes) {
    const int in = block_of(type).numbers == 32 ? 288 : 256, out = 6;
    const Blocks w(type, out, in, 13);
    const AtTheEndOfMemory last(w.bytes);
    for (const int rows : {1, 4, 20}) {
      const std::size_t n = static_cast<std::size_t>(rows * out);
      Device x(*b, random_numbers(static_cast<std::size_t>(rows * in), 14)), y(*b, n), expected(*b, n);
      b->linear(x.data(), b->weight(type, out, in, last.data()), rows, y.data(), false);
      b->linear(x.data(), w.blocks(*b), rows, expected.data(), false);
      EXPECT_EQ(y.values(), expected.values()) << name_of(type) << " " << rows;
    }
  }
}

/// Whole numbers have one scale for 256 numbers of x: from the least to the largest, and where there is none.
TEST_P(Quantised, MultipliesNumbersOfEverySize) {
  const auto b = backend(1);
  const int in = 512, out = 40;
  const Numbers small = random_numbers(static_cast<std::size_t>(in), 11);
  for (const DType type : kTypes) {
    const Blocks w(type, out, in, 12);
    for (const double size : {1e-30, 1e-10, 1e10, 1e30}) {
      Numbers x = small;
      for (double& v : x) v = static_cast<double>(static_cast<float>(v * size));
      expect_alike(*b, w, x, 1, false);
    }
    for (const double odd : {0.0, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
      Numbers x(small.size(), 0.0);
      x[300] = odd;
      Device dx(*b, x), y(*b, static_cast<std::size_t>(out));
      b->linear(dx.data(), w.blocks(*b), 1, y.data(), false);
      for (const double got : y.values()) {
        if (odd == 0) {
          EXPECT_EQ(got, 0.0) << name_of(type);
        } else {
          EXPECT_FALSE(std::isfinite(got)) << name_of(type) << " " << odd;
        }
      }
    }
  }
}

TEST_P(Quantised, GivesRowsAndNormsOfTheNumbers) {
  const auto b = backend(1);
  const int in = 512, out = 5;
  const std::vector<int> ids = {4, 0, 3};
  for (const DType type : kTypes) {
    const Blocks w(type, out, in, 5), norm(type, 1, in, 6);
    Device x(*b, ids.size() * in), expected(*b, ids.size() * in);
    b->embed(w.blocks(*b), ids, x.data());
    b->embed(w.plain(*b), ids, expected.data());
    EXPECT_EQ(x.values(), expected.values()) << name_of(type);
    Device y(*b, ids.size() * in), wanted(*b, ids.size() * in);
    b->rms_norm(x.data(), norm.blocks(*b), 1e-5, static_cast<int>(ids.size()), y.data());
    b->rms_norm(x.data(), norm.plain(*b), 1e-5, static_cast<int>(ids.size()), wanted.data());
    EXPECT_EQ(y.values(), wanted.values()) << name_of(type);
  }
}

TEST_P(Quantised, GivesTheOutputOfSingleHeads) {
  const auto b = backend(3);
  const int rows = 14, dim = 70, heads = 8, in = heads * 64;  // heads begin inside the blocks of 256
  const Numbers x = random_numbers(static_cast<std::size_t>(rows * in), 7);
  Device dx(*b, x);
  for (const DType type : kTypes) {
    const Blocks w(type, dim, in, 8);
    const Weight blocks = w.blocks(*b), plain = w.plain(*b);
    Numbers norms(static_cast<std::size_t>(rows * heads)), wanted_norms(norms.size());
    b->wo_l1(dx.data(), blocks, rows, norms);
    b->wo_l1(dx.data(), plain, rows, wanted_norms);
    EXPECT_EQ(norms, wanted_norms) << name_of(type);
    Numbers out(static_cast<std::size_t>(rows * dim)), wanted(out.size());
    for (const int head : {0, 3, 7}) {
      b->wo_rows(dx.at(static_cast<std::size_t>(head * 64)), in, blocks, head, rows, out);
      b->wo_rows(dx.at(static_cast<std::size_t>(head * 64)), in, plain, head, rows, wanted);
      EXPECT_EQ(out, wanted) << name_of(type) << " head " << head;
    }
  }
}

TEST_P(Quantised, KeepsInfiniteAndSubnormalScales) {
  const auto b = backend(1);
  for (const std::uint16_t scale : {0x7c00, 0xfc00, 0x0001, 0x83ff, 0x0000}) {
    std::vector<std::uint8_t> block(34, 3);
    std::memcpy(block.data(), &scale, 2);
    Device x(*b, 32);
    const std::vector<int> ids = {0};
    b->embed(b->weight(DType::q8_0, 1, 32, block.data()), ids, x.data());
    for (const double got : x.values()) EXPECT_EQ(got, 3.0 * half_to_float(scale)) << scale;
  }
}

INSTANTIATE_TEST_SUITE_P(On, Quantised, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
