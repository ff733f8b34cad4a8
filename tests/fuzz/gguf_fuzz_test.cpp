// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: seeds, all their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "fuzz/fuzz_loop.h"
#include "io/files.h"
#include "io/gguf_builder.h"
#include "io/gguf_file.h"
#include "io/safetensors_builder.h"
#include "paths.h"

namespace {

using kvscope::testing::feed_changes;
using kvscope::testing::feed_prefixes;
using kvscope::testing::Tally;

using kvscope::GgufFile;
using kvscope::test::as_bytes;
using kvscope::test::GgufBuilder;

std::vector<std::string> seeds() {
  GgufBuilder pairs, tensors, both;
  pairs.text("a", "text").u32("b", 7).flag("c", true).f32s("list", {1, 2, 3}).texts("words", {"x", "", "yy"});
  tensors.tensor("f", 0, {3, 2}, std::string(24, '\1')).tensor("q", 12, {256, 2}, std::string(288, '\2'));
  both.alignment = 64;
  both.u32("general.alignment", 64).i32s("list", {-1}).tensor("h", 1, {5}, std::string(10, '\3')).tensor("i", 26, {1, 1, 1, 2}, "12345678");
  both.tensor("n", 20, {32}, std::string(18, '\4'));
  return {pairs.build(), tensors.build(), both.build(), kvscope::read_text(kvscope::in_checkout("tests/fuzz/seeds/gguf/small.gguf"))};
}

/// One to four random edits of the part that is not data: bytes, small numbers, doubled or removed pieces.
std::string changed(std::string bytes, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (std::size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
    const std::size_t at = below(std::min<std::size_t>(bytes.size(), 400)), length = std::min(1 + below(16), bytes.size() - at);
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(14));
        break;
      case 2:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 3:
        bytes.erase(at, length);
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

TEST(FuzzGguf, SeedsAreValidFiles) {
  for (const std::string& seed : seeds()) EXPECT_NO_THROW(GgufFile::parse(as_bytes(seed), "seed"));
}

TEST(FuzzGguf, SurvivesEveryPrefixOfTheSeeds) { feed_prefixes(seeds()); }

TEST(FuzzGguf, SurvivesRandomChangesOfTheSeeds) {
  const auto read = [](const std::string& bytes) { GgufFile::parse(as_bytes(bytes), "changed"); };
  const Tally tally = feed_changes(seeds(), 20000, changed, read);
  EXPECT_GT(tally.accepted, 1000);
  EXPECT_GT(tally.refused, 5000);
}

}  // namespace
