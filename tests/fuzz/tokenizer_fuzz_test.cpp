// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: the seeds, their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fuzz/fuzz_loop.h"
#include "fuzz/json_inputs.h"
#include "tokenizer/tokenizer.h"

namespace {

using kvscope::testing::feed_changes;
using kvscope::testing::feed_prefixes;
using kvscope::testing::Tally;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = kvscope::testing::seeds_of("tokenizer");
  return all;
}

TEST(FuzzTokenizer, SeedsAreTokenizers) {
  ASSERT_GE(seeds().size(), 3u);
  for (const std::string& seed : seeds()) EXPECT_NO_THROW(kvscope::parse_tokenizer_json(seed, "seed")->encode("The house"));
}

TEST(FuzzTokenizer, SurvivesPrefixesOfTheSeeds) { feed_prefixes(seeds(), 7); }

TEST(FuzzTokenizer, SurvivesRandomChangesOfTheSeeds) {
  const auto read = [](const std::string& text) { (void)kvscope::parse_tokenizer_json(text, "text"); };
  const Tally tally = feed_changes(seeds(), 6000, kvscope::testing::changed_json, read);
  EXPECT_GT(tally.accepted, 100);
  EXPECT_GT(tally.refused, 1000);
}

}  // namespace
