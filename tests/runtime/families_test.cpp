// SPDX-License-Identifier: Apache-2.0
// Every family against logits that somebody else made in float64: small random checkpoints of this repository (tests/oracle/families.py),
// and larger ones with the logits of transformers, where they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "io/files.h"
#include "io/temp_folder.h"
#include "paths.h"
#include "policy/catalog.h"
#include "runtime/forward.h"
#include "runtime/prompt/prompt_run.h"
#include "tests/runtime/runs.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

struct Text {
  std::vector<int> ids, greedy;
  std::vector<double> last_logits;
  std::vector<int> positions;
  std::vector<std::vector<double>> logits_at;
};

std::vector<Text> texts_of(const std::string& folder) {
  std::vector<Text> out;
  const auto json = nlohmann::json::parse(read_text(folder + "/reference.json"));
  for (const auto& p : json.at("prompts")) {
    Text& text = out.emplace_back(Text{p.at("ids"), p.at("greedy16"), p.at("last_logits"), {}, {}});
    if (!p.contains("positions")) continue;
    text.positions = p.at("positions").get<std::vector<int>>();
    text.logits_at = p.at("logits_at").get<std::vector<std::vector<double>>>();
  }
  return out;
}

/// The logits after the first n tokens as a prompt.
class Prompts {
 public:
  Prompts(const std::string& folder, DType precision)
      : files_(open_model(folder)),
        backend_(make_cpu_backend(precision, files_.config, {.n_threads = 2})),
        model_(load_model(std::move(files_), *backend_)),
        forward_(*backend_, model_),
        prompt_(*backend_, model_) {}

  std::vector<double> logits(const std::vector<int>& ids) {
    const CancelToken never;
    prompt_.update(ids, PromptNeeds{}, forward_, never, {});
    return prompt_.logits();
  }

 private:
  ModelFiles files_;
  std::unique_ptr<Backend> backend_;
  Model model_;
  Forward forward_;
  PromptRun prompt_;
};

/// Of logits about 1; the reference's have ten digits.
double bound(double tolerance, const std::vector<double>& reference) {
  double largest = 1;
  for (const double x : reference) largest = std::max(largest, std::abs(x));
  return tolerance * largest;
}

void expect_logits(const std::string& folder, DType precision, double tolerance) {
  Prompts prompts(folder, precision);
  for (const Text& text : texts_of(folder)) {
    EXPECT_LE(testing::largest_difference(prompts.logits(text.ids), text.last_logits), bound(tolerance, text.last_logits))
        << folder << ", " << text.ids.size() << " tokens";
    for (std::size_t i = 0; i < text.positions.size(); ++i) {
      const std::vector<int> begin(text.ids.begin(), text.ids.begin() + text.positions[i] + 1);
      EXPECT_LE(testing::largest_difference(prompts.logits(begin), text.logits_at[i]), bound(tolerance, text.logits_at[i]))
          << folder << " at " << text.positions[i];
    }
  }
}

/// Steps through caches: the same tokens as the reference, which keeps none.
void expect_greedy(const std::string& folder, DType precision, PromptMode mode) {
  Session session = testing::open_session(folder, precision, 2);
  for (const Text& text : texts_of(folder)) {
    const Snapshot s = testing::run(
        session, {.prompt_ids = text.ids, .lanes = parse_lane_specs({"full"}), .mode = mode, .n_generate = 16, .ignore_end = true});
    const auto& tokens = s.tokens;
    ASSERT_EQ(tokens.size(), text.ids.size() + 16) << folder;
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(tokens[text.ids.size() + i].id, text.greedy[i]) << folder << ", token " << i;
  }
}

void expect_family(const std::string& folder) {
  expect_logits(folder, DType::f64, 1e-9);
  expect_logits(folder, DType::f32, 1e-4);
  expect_greedy(folder, DType::f64, PromptMode::prefill);
  expect_greedy(folder, DType::f64, PromptMode::stream);
  expect_greedy(folder, DType::f32, PromptMode::prefill);
}

bool opens(const fs::path& folder) {
  try {
    open_model(folder.string());
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string shared(const std::string& path) {
  const char* set = std::getenv("KVSCOPE_SHARED");
  return (fs::path(set ? std::string(set) : in_checkout("../shared")) / path).string();
}

TEST(Families, LogitsAndTokensAreTheOracles) {
  std::vector<std::string> covered;
  for (const auto& entry : fs::directory_iterator(in_checkout("tests/golden/families"))) {
    expect_family(entry.path().string());
    covered.push_back(open_model(entry.path().string()).config.arch);
  }
  for (const std::string& family : known_architectures())
    EXPECT_TRUE(std::ranges::find(covered, family) != covered.end()) << "no checkpoint of " << family << " here";
}

TEST(Families, LogitsAndTokensAreThoseOfCheckpointsOfTransformers) {
  int opened = 0;
  for (const auto& entry : fs::directory_iterator(in_checkout("tests/golden/transformers"))) {  // tests/peers/checkpoints.py
    expect_family(entry.path().string());
    ++opened;
  }
  EXPECT_EQ(opened, 2);
}

TEST(Families, LogitsAndTokensAreTransformers) {
  const std::string archive = shared("models/families/families.tar.xz");
  if (!fs::exists(archive)) GTEST_SKIP() << "no families.tar.xz; set KVSCOPE_SHARED to the folder above models/";
  const test::TempFolder folder;
  const std::string command = "tar -C '" + folder.path() + "' -xJf '" + archive + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  int opened = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (!opens(entry.path())) continue;
    ++opened;
    expect_family(entry.path().string());
    fs::copy_file(entry.path() / "config.v5.json", entry.path() / "config.json", fs::copy_options::overwrite_existing);
    expect_logits(entry.path().string(), DType::f64, 1e-9);  // as transformers 5 spells it
  }
  EXPECT_EQ(opened, 14) << "16 but for falcon and qwen3_moe";
}

}  // namespace
}  // namespace kvscope
