// SPDX-License-Identifier: Apache-2.0
// The fuzz target's entry point with every compiler: the seeds, their prefixes, and a fixed number of random changes.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "fuzz/trace_target.h"
#include "io/files.h"
#include "trace/trace_reader.h"

namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(KVSCOPE_SOURCE_DIR "/tests/fuzz/seeds/trace"))
      found.push_back(kvscope::read_text(file.path().string(), 1u << 20));
    return found;
  }();
  return all;
}

void feed(const std::string& text) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

TEST(FuzzTrace, SurvivesPrefixesOfTheSeeds) {
  ASSERT_GE(seeds().size(), 2u);
  for (const std::string& seed : seeds())
    for (std::size_t length = 0; length <= seed.size(); length += 7) feed(seed.substr(0, length));
}

TEST(FuzzTrace, SurvivesRandomChangesOfTheSeeds) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::vector<std::string> words = {"null", "-1",  "1e308",       "[]",          "{}",   "\"\"",
                                          "true", "0.5", "99999999999", "\"\\ud800\"", "[[[[", "}"};
  int accepted = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = seeds()[static_cast<std::size_t>(i) % seeds().size()];
    for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.replace(at, 1 + below(6), words[below(words.size())]);
          break;
        case 2:
          text.insert(at, text.substr(at, 1 + below(30)));
          break;
        case 3:
          text[at] = static_cast<char>('0' + below(10));
          break;
        default:
          text.erase(at, 1 + below(8));
      }
    }
    feed(text);
    try {
      (void)kvscope::read_trace(text, "text");
      ++accepted;
    } catch (const kvscope::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
