// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: seeds, all their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/fuzz_loop.h"
#include "io/safetensors_builder.h"
#include "io/tensor_file.h"
#include "paths.h"

namespace {

using kvscope::testing::feed_changes;
using kvscope::testing::feed_prefixes;
using kvscope::testing::Tally;

using kvscope::test::safetensors;

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

TEST(FuzzSafetensors, SurvivesEveryPrefixOfTheSeeds) { feed_prefixes(seeds(), 1, 4000); }

TEST(FuzzSafetensors, SurvivesRandomChangesOfTheSeeds) {
  const auto read = [](const std::string& bytes) { kvscope::TensorFile::parse(kvscope::test::as_bytes(bytes), "changed"); };
  const Tally tally = feed_changes(seeds(), 20000, changed, read);
  EXPECT_GT(tally.accepted, 100);  // the changes are mild enough to get past the first check
  EXPECT_GT(tally.refused, 10000);
}

}  // namespace
