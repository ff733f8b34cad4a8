// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: the seeds, their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "app/window/session/session_file.h"
#include "core/error.h"
#include "fuzz/json_inputs.h"
#include "fuzz/session_target.h"

namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = kvscope::testing::seeds_of("session");
  return all;
}

void feed(const std::string& text) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

TEST(FuzzSession, SurvivesEveryPrefixOfTheSeeds) {
  ASSERT_GE(seeds().size(), 2u);
  for (const std::string& seed : seeds())
    for (std::size_t length = 0; length <= seed.size(); ++length) feed(seed.substr(0, length));
}

TEST(FuzzSession, SurvivesRandomChangesOfTheSeeds) {
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = kvscope::testing::changed_json(seeds()[static_cast<std::size_t>(i) % seeds().size()], random);
    feed(text);
    try {
      kvscope::parseSession(QByteArray::fromStdString(text), "text");
      ++accepted;
    } catch (const kvscope::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 5000);
}

}  // namespace
