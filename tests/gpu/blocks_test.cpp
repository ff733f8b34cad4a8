// SPDX-License-Identifier: Apache-2.0
// Weights that a device keeps as blocks, in every number format of activations: what they are as numbers, products with few and many rows,
// and a model whose matrices are of many types.
#include <gtest/gtest.h>

#include <algorithm>

#include "arch/model_folder.h"
#include "backend/cuda/kernels/types.h"
#include "backend/device_blocks.h"
#include "backend/random_blocks.h"
#include "backend/reference.h"
#include "emulator.h"
#include "io/files.h"
#include "runtime/forward.h"
#include "runtime/prompt/prompt_run.h"
#include "shared_files.h"

namespace kvscope::test {
namespace {

constexpr DType kKept[] = {DType::q4_k, DType::q6_k, DType::q8_0};

std::vector<Variant> in_every_format() {
  std::vector<Variant> out = variants();
  for (Variant& v : narrow_variants()) out.push_back(std::move(v));
  return out;
}

class KeptBlocks : public OfVariant {
 protected:
  std::unique_ptr<Backend> backend() const { return make(config_of(4, 2, 64)); }
};

TEST_P(KeptBlocks, TakeTheBytesOfTheirFileAndOthersAreDecoded) {
  if (GetParam().name.find("old") != std::string::npos) GTEST_SKIP() << "devices before 8.0 decode all of them";
  const auto b = backend();
  for (const DType type : kKept) {
    const Weight w = Blocks(type, 6, 512, 1).blocks(*b);
    EXPECT_EQ(w.dtype, type);
    EXPECT_EQ(w.storage.bytes(), bytes_of(type, 6 * 512));
  }
  EXPECT_EQ(Blocks(DType::q5_k, 6, 512, 1).blocks(*b).dtype, b->dtype());
  EXPECT_EQ(Blocks(DType::q8_0, 6, 288, 1).blocks(*b).dtype, b->dtype());
  EXPECT_EQ(Blocks(DType::q8_0, 1, 512, 1).blocks(*b).dtype, b->dtype());
}

TEST_P(KeptBlocks, AreTheNumbersOfTheCpuRoundedOnce) {
  const auto b = backend();
  const std::vector<int> ids = {3, 0, 4};
  for (const DType type : kKept) {
    const Blocks w(type, 5, 768, 2);
    Device x(*b, ids.size() * 768);
    b->embed(w.blocks(*b), ids, x.data());
    Numbers expected;
    cuda::with_host_type(b->dtype(), [&](auto t) {
      for (const int id : ids) {
        for (int i = 0; i < 768; ++i)
          expected.push_back(static_cast<double>(cuda::to_float(cuda::from_float<decltype(t)>(w.numbers[size(id, 768) + size(i)]))));
      }
    });
    EXPECT_EQ(x.values(), expected) << name_of(type);
  }
}

/// Outputs that no tile divides, rows of one chunk and of more than there are warps; one row, a few, a tile and more, many.
TEST_P(KeptBlocks, MultiplyAsThePlainFormula) {
  const auto b = backend();
  const double tolerance = b->dtype() == DType::bf16 ? 1.0 / 128 : b->dtype() == DType::f16 ? 1.0 / 1024 : 5e-6;
  for (const DType type : kKept) {
    for (const int in : {256, 1024, 2560}) {
      const Blocks w(type, 37, in, 3);
      const Weight blocks = w.blocks(*b);
      const Numbers numbers(w.numbers.begin(), w.numbers.end());
      for (const int rows : {1, 2, 8, 11, 32, 33}) {
        for (const bool add : {false, true}) {
          if (add && in != 1024) continue;
          Device x(*b, random_numbers(size(rows, in), 4)), y(*b, size(rows, 37), 1.0);
          b->linear(x.data(), blocks, rows, y.data(), add);
          Numbers expected = linear_reference(x.values(), numbers, rows, 37, in);
          for (double& e : expected) e += add ? 1 : 0;
          EXPECT_LT(distance(y.values(), expected), tolerance) << name_of(type) << " " << rows << " x " << in;
        }
      }
    }
  }
}

/// A matrix that is decoded in two pieces.
TEST_P(KeptBlocks, MultiplyManyRowsInPieces) {
  if (GetParam().name.starts_with("host")) GTEST_SKIP() << "takes minutes thread by thread";
  const auto b = backend();
  const double tolerance = b->dtype() == DType::bf16 ? 1.0 / 128 : b->dtype() == DType::f16 ? 1.0 / 1024 : 5e-6;
  const int out = 40000, in = 1024, rows = 40;
  const Blocks w(DType::q4_k, out, in, 11);
  Device x(*b, random_numbers(size(rows, in), 12)), y(*b, size(rows, out));
  b->linear(x.data(), w.blocks(*b), rows, y.data(), false);
  const Numbers x_is = x.values(), y_is = y.values();
  for (const int row : {0, rows - 1}) {
    Numbers got, expected;
    for (int o = 0; o < out; o += 61) {
      got.push_back(y_is[size(row, out) + size(o)]);
      double sum = 0;
      for (int i = 0; i < in; ++i) sum += x_is[size(row, in) + size(i)] * static_cast<double>(w.numbers[size(o, in) + size(i)]);
      expected.push_back(sum);
    }
    EXPECT_LT(distance(got, expected), tolerance) << row;
  }
}

TEST_P(KeptBlocks, ARowHasTheSameBitsAloneAndAmongOthers) {
  const auto b = backend();
  const int in = 2304, out = 21, rows = 11;
  for (const DType type : kKept) {
    const Weight w = Blocks(type, out, in, 5).blocks(*b);
    Device x(*b, random_numbers(size(rows, in), 6)), all(*b, size(rows, out)), alone(*b, size(rows, out));
    b->linear(x.data(), w, rows, all.data(), false);
    for (int r = 0; r < rows; ++r) b->linear(x.at(size(r, in)), w, 1, alone.at(size(r, out)), false);
    EXPECT_EQ(all.values(), alone.values()) << name_of(type);
  }
}

/// The output of a head that begins inside a chunk, and the norms: those of the same numbers in the type that is computed in.
TEST_P(KeptBlocks, GiveTheOutputOfSingleHeads) {
  const auto b = make(config_of(8, 4, 96));
  const int rows = 3, dim = 10, in = 768;
  Device x(*b, random_numbers(size(rows, in), 7));
  for (const DType type : kKept) {
    const Blocks w(type, dim, in, 8);
    Device plain(*b, Numbers(w.numbers.begin(), w.numbers.end()));
    const Weight rounded{.dtype = b->dtype(), .out = dim, .in = in, .data = plain.data()}, blocks = w.blocks(*b);
    Numbers got(size(rows, 8)), wanted(got.size());
    b->wo_l1(x.data(), blocks, rows, got);
    b->wo_l1(x.data(), rounded, rows, wanted);
    EXPECT_EQ(got, wanted) << name_of(type);
    got.resize(size(rows, dim));
    wanted.resize(got.size());
    for (const int head : {0, 3, 7}) {
      b->wo_rows(x.at(size(head, 96)), in, blocks, head, rows, got);
      b->wo_rows(x.at(size(head, 96)), in, rounded, head, rows, wanted);
      EXPECT_EQ(got, wanted) << name_of(type) << " head " << head;
    }
  }
}

std::vector<double> logits_after(const std::string& path, const std::vector<int>& ids,
                                 const std::function<std::unique_ptr<Backend>(const ModelConfig&)>& make) {
  ModelFiles files = open_model(path);
  const auto backend = make(files.config);
  const Model model = load_model(std::move(files), *backend);
  Forward forward(*backend, model);
  PromptRun prompt(*backend, model);
  prompt.update(ids, PromptNeeds{}, forward, CancelToken(), {});
  return prompt.logits();
}

/// Tolerance: of the largest logit.
void expect_logits_of_the_cpu(const Variant& v, const std::string& path, const std::vector<int>& ids) {
  const std::vector<double> expected =
      logits_after(path, ids, [](const ModelConfig& c) { return make_cpu_backend(DType::f64, c, {.n_threads = 2}); });
  const std::vector<double> got = logits_after(path, ids, [&](const ModelConfig& c) { return v.make(c, 2); });
  EXPECT_LT(distance(got, expected), v.dtype == DType::f32   ? 2e-5
                                     : v.dtype == DType::f16 ? 1e-2
                                                             : 6e-2)
      << ids.size() << " tokens of " << path;
}

TEST_P(KeptBlocks, OfAModelOfAllTypesGiveTheLogitsOfTheCpu) {
  for (const int n : {3, 40}) {
    std::vector<int> ids;
    for (int i = 0; i < n; ++i) ids.push_back(1 + (i * i + 3 * i) % 250);
    expect_logits_of_the_cpu(GetParam(), in_checkout("tests/data/gguf/tiny.gguf"), ids);
  }
}

TEST_P(KeptBlocks, OfAFileOfMixedTypesGiveTheLogitsOfTheCpu) {
  const bool on_host = GetParam().name.starts_with("host");
  if (on_host && GetParam().dtype != DType::bf16) GTEST_SKIP() << "takes a minute thread by thread; bf16 is run";
  const std::filesystem::path archive = shared_file("models/gguf/gguf.tar.xz");
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "no GGUF files; set KVSCOPE_SHARED to the folder above models/";
  const TempFolder folder;
  ASSERT_TRUE(unpack(archive, folder));
  const std::string path = folder / "kvmini-Q4_K_M.gguf";
  for (const int n : {2, 20}) {
    if (n > 2 && on_host) continue;
    std::vector<int> ids;
    for (int i = 0; i < n; ++i) ids.push_back(1 + (i * i + 3 * i) % 2000);
    expect_logits_of_the_cpu(GetParam(), path, ids);
  }
}

INSTANTIATE_TEST_SUITE_P(On, KeptBlocks, testing::ValuesIn(in_every_format()), [](const auto& p) { return name_of_variant(p.param); });

TEST(KernelsOfBlocks, MakeTheSameBitsInWhateverOrderThreadsRun) {
  if (!emulator::kRuns) GTEST_SKIP();
  const auto run = [] {
    const auto b = narrow_variants()[0].make(config_of(4, 2, 64), 1);
    Numbers all;
    for (const DType type : kKept) {
      const Weight w = Blocks(type, 21, 2560, 9).blocks(*b);
      for (const int rows : {1, 5}) {
        Device x(*b, random_numbers(size(rows, 2560), 10)), y(*b, size(rows, 21));
        b->linear(x.data(), w, rows, y.data(), false);
        const Numbers got = y.values();
        all.insert(all.end(), got.begin(), got.end());
      }
    }
    return all;
  };
  EXPECT_EQ(emulator::in_order(emulator::Order::ascending, run), emulator::in_order(emulator::Order::descending, run));
}

}  // namespace
}  // namespace kvscope::test
