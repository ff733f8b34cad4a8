// SPDX-License-Identifier: Apache-2.0
#include "core/dequantise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/half.h"
#include "io/files.h"
#include "io/gguf_file.h"
#include "paths.h"
#include "shared_files.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<float> numbers_of(const TensorView& tensor) {
  std::size_t n = 1;
  for (const std::int64_t size : tensor.shape) n *= static_cast<std::size_t>(size);
  std::vector<float> out(n);
  if (is_quantised(tensor.dtype)) {
    dequantise(tensor.dtype, tensor.bytes.data(), n, out.data());
  } else if (tensor.dtype == DType::f32) {
    std::memcpy(out.data(), tensor.bytes.data(), n * 4);
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, tensor.bytes.data() + i * 2, 2);
      out[i] = tensor.dtype == DType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
    }
  }
  return out;
}

/// tests/data/gguf/make_gguf.py has written what gguf-py makes of these blocks.
TEST(Dequantise, HasTheBitsOfTheReferenceForEveryType) {
  const GgufFile file = GgufFile::open(in_checkout("tests/data/gguf/types.gguf"));
  const std::string expected = read_text(in_checkout("tests/data/gguf/types.f32"));
  std::size_t at = 0, n_quantised = 0;
  for (const auto& [name, tensor] : file.tensors().tensors()) {  // by name, as in the other file
    const std::vector<float> numbers = numbers_of(tensor);
    ASSERT_LE(at + numbers.size() * 4, expected.size());
    for (const float x : numbers) {
      float reference = 0;
      std::memcpy(&reference, expected.data() + at, 4);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(reference)) << name << " at " << at;
      at += 4;
    }
    n_quantised += is_quantised(tensor.dtype);
  }
  EXPECT_EQ(at, expected.size());
  EXPECT_EQ(n_quantised, 7u);
}

TEST(Dequantise, HasTheReferencesNumbersOfRealFiles) {
  const fs::path archive = test::shared_file("models/gguf/gguf.tar.xz");
  if (!fs::exists(archive)) GTEST_SKIP() << "no GGUF files; set KVSCOPE_SHARED to the folder above models/";
  const test::TempFolder folder;
  ASSERT_TRUE(test::unpack(archive, folder));
  int n = 0;
  for (const char* model : {"qwen2-256", "kvmini"}) {
    const json types = json::parse(read_text(folder / (std::string(model) + ".reference.json")))["types"];
    for (const auto& [type, reference] : types.items()) {
      const fs::path path = folder / reference["file"].get<std::string>();
      if (!fs::exists(path)) continue;
      const GgufFile file = GgufFile::open(path.string());
      for (const json& tensor : reference["tensors"]) {
        const std::vector<float> numbers = numbers_of(file.tensors().tensors().at(tensor["name"]));
        const auto first = tensor["first64"].get<std::vector<float>>(), last = tensor["last64"].get<std::vector<float>>();
        ASSERT_GE(numbers.size(), first.size());
        EXPECT_TRUE(std::equal(first.begin(), first.end(), numbers.begin())) << path << " " << tensor["name"];
        EXPECT_TRUE(std::equal(last.begin(), last.end(), numbers.end() - static_cast<std::ptrdiff_t>(last.size())))
            << path << " " << tensor["name"];
      }
      ++n;
    }
  }
  EXPECT_GE(n, 11);
}

}  // namespace
}  // namespace kvscope
