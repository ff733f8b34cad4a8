// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: the seeds, their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "fuzz/json_inputs.h"
#include "fuzz/tokenizer_target.h"
#include "tokenizer/tokenizer.h"

namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = kvscope::testing::seeds_of("tokenizer");
  return all;
}

void feed(const std::string& text) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

TEST(FuzzTokenizer, SeedsAreTokenizers) {
  ASSERT_GE(seeds().size(), 3u);
  for (const std::string& seed : seeds()) EXPECT_NO_THROW(kvscope::parse_tokenizer_json(seed, "seed")->encode("The house"));
}

TEST(FuzzTokenizer, SurvivesPrefixesOfTheSeeds) {
  for (const std::string& seed : seeds())
    for (std::size_t length = 0; length <= seed.size(); length += 7) feed(seed.substr(0, length));
}

TEST(FuzzTokenizer, SurvivesRandomChangesOfTheSeeds) {
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string text = kvscope::testing::changed_json(seeds()[static_cast<std::size_t>(i) % seeds().size()], random);
    feed(text);
    try {
      (void)kvscope::parse_tokenizer_json(text, "text");
      ++accepted;
    } catch (const kvscope::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
