// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: the seeds, their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/window/session/session_file.h"
#include "fuzz/fuzz_loop.h"
#include "fuzz/json_inputs.h"

namespace {

using kvscope::testing::feed_changes;
using kvscope::testing::feed_prefixes;
using kvscope::testing::Tally;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = kvscope::testing::seeds_of("session");
  return all;
}

TEST(FuzzSession, SurvivesEveryPrefixOfTheSeeds) {
  ASSERT_GE(seeds().size(), 2u);
  feed_prefixes(seeds());
}

TEST(FuzzSession, SurvivesRandomChangesOfTheSeeds) {
  const auto read = [](const std::string& text) { kvscope::parseSession(QByteArray::fromStdString(text), "text"); };
  const Tally tally = feed_changes(seeds(), 20000, kvscope::testing::changed_json, read);
  EXPECT_GT(tally.accepted, 200);
  EXPECT_GT(tally.refused, 5000);
}

}  // namespace
