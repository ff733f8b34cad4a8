// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler, reader by reader: the seeds, their prefixes, and a fixed number of random changes.
#include "fuzz/readers_target.h"

#include <gtest/gtest.h>

#include <string>

#include "fuzz/fuzz_loop.h"
#include "fuzz/json_inputs.h"

namespace kvscope::testing {
namespace {

class FuzzReaders : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Reader& reader() const { return readers()[GetParam()]; }
  /// As the target takes it.
  std::string input(const std::string& bytes) const { return static_cast<char>(GetParam()) + bytes; }
};

TEST_P(FuzzReaders, TakesTheSeedsAndSurvivesTheirPrefixes) {
  for (const std::string& seed : reader().seeds()) {
    EXPECT_NO_THROW(reader().read(seed)) << reader().name;
    for (std::size_t length = 0; length <= seed.size(); length += 1 + seed.size() / 300) feed(input(seed.substr(0, length)));
  }
}

TEST_P(FuzzReaders, SurvivesRandomChangesOfTheSeeds) {
  std::vector<std::string> seeds;
  for (const std::string& seed : reader().seeds()) seeds.push_back(input(seed));
  const auto change = [this](const std::string& seed, std::mt19937& random) { return input(changed_json(seed.substr(1), random)); };
  const Tally tally = feed_changes(seeds, 600, change, [this](const std::string& bytes) { reader().read(bytes.substr(1)); });
  EXPECT_GT(tally.accepted, 2) << reader().name;
  EXPECT_GT(tally.refused, 50) << reader().name;
}

INSTANTIATE_TEST_SUITE_P(Of, FuzzReaders, ::testing::Range(std::size_t{0}, readers().size()), [](const auto& reader) {
  std::string name;
  for (const char c : std::string(readers()[reader.param].name)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace kvscope::testing
