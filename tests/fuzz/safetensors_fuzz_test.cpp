// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: seeds, all their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "fuzz/safetensors_target.h"
#include "io/safetensors_builder.h"
#include "io/tensor_file.h"
#include "paths.h"

namespace {

using kvscope::test::safetensors;

void feed(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

std::vector<std::string> seeds() {
  std::ifstream file(kvscope::in_checkout("tests/golden/tiny-mha/model.safetensors"), std::ios::binary);
  return {
      safetensors(R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})", 16),
      safetensors(
          R"({"__metadata__":{"a":"b"},"x":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},"i":{"dtype":"I64","shape":[1],"data_offsets":[6,14]}})",
          14),
      safetensors(R"({"e":{"dtype":"F16","shape":[0,5],"data_offsets":[0,0]},"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})", 8),
      safetensors("{}", 0),
      {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
}

/// One to four random edits: bytes, digits, doubled or removed pieces.
std::string changed(std::string bytes, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (std::size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
    const std::size_t at = below(std::min<std::size_t>(bytes.size(), 2100)), length = std::min(1 + below(20), bytes.size() - at);
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>('0' + below(10));
        break;
      case 2:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 3:
        bytes.erase(at, length);
        break;
      default:
        bytes[at] = "{}[]\",:-.e"[below(10)];
    }
  }
  // Half of the time the length field is right again, so that the change reaches the parser.
  const std::size_t close = bytes.rfind('}');
  if (below(2) == 0 && bytes.size() >= 8 && close != std::string::npos && close >= 8) {
    const std::size_t header = close - 7;
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header >> (8 * i) & 0xff);
  }
  return bytes;
}

TEST(FuzzSafetensors, SeedsAreValidFiles) {
  for (const std::string& seed : seeds()) EXPECT_NO_THROW(kvscope::TensorFile::parse(kvscope::test::as_bytes(seed), "seed"));
}

TEST(FuzzSafetensors, SurvivesEveryPrefixOfTheSeeds) {
  for (const std::string& seed : seeds()) {
    for (std::size_t length = 0; length < std::min<std::size_t>(seed.size(), 4000); ++length) feed(seed.substr(0, length));
  }
}

TEST(FuzzSafetensors, SurvivesRandomChangesOfTheSeeds) {
  std::mt19937 random(1);
  const std::vector<std::string> all = seeds();
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string bytes = changed(all[static_cast<std::size_t>(i) % all.size()], random);
    feed(bytes);
    try {
      kvscope::TensorFile::parse(kvscope::test::as_bytes(bytes), "changed");
      ++accepted;
    } catch (const kvscope::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);  // the changes are mild enough to get past the first check
  EXPECT_GT(refused, 10000);
}

}  // namespace
