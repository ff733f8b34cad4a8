// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/files.h"
#include "paths.h"
#include "runtime/forward.h"
#include "runtime/prompt/prompt_run.h"
#include "tests/runtime/runs.h"

namespace kvscope {
namespace {

struct Reference {
  std::vector<int> ids;
  std::vector<double> logits;
};

/// Computed by the oracle in float64 (tests/oracle/make_logits.py): the embedded model after 40 tokens.
Reference kvmini_reference() {
  const auto file = nlohmann::json::parse(read_text(in_checkout("tests/golden/kvmini-logits.json")));
  return {file.at("tokens").get<std::vector<int>>(), file.at("logits").get<std::vector<double>>()};
}

std::vector<double> embedded_logits(const std::vector<int>& ids, DType precision, int n_threads) {
  ModelFiles files = open_model(testing::embedded_model());
  const auto backend = make_cpu_backend(precision, files.config, {.n_threads = n_threads});
  const Model model = load_model(std::move(files), *backend);
  Forward forward(*backend, model);
  PromptRun prompt(*backend, model);
  const CancelToken never;
  prompt.update(ids, PromptNeeds{}, forward, never, {});
  return prompt.logits();
}

TEST(GoldenLogits, OfTheEmbeddedModelEqualTheOraclesInFloat64) {
  const Reference reference = kvmini_reference();
  ASSERT_EQ(reference.ids.size(), 40u);
  ASSERT_EQ(reference.logits.size(), 2048u);
  for (const int n_threads : {1, 2, 5}) {
    const std::vector<double> logits = embedded_logits(reference.ids, DType::f64, n_threads);
    ASSERT_EQ(logits.size(), 2048u);
    EXPECT_LE(testing::largest_difference(logits, reference.logits), 1e-9) << n_threads << " threads";
  }
}

TEST(GoldenLogits, InFloat32AreWithinTwoTenThousandthsOfTheLargest) {
  const Reference reference = kvmini_reference();
  double largest = 0;
  for (const double x : reference.logits) largest = std::max(largest, std::abs(x));
  const std::vector<double> logits = embedded_logits(reference.ids, DType::f32, 2);
  EXPECT_LE(testing::largest_difference(logits, reference.logits), 2e-4 * largest);
  RecordProperty("relative", std::to_string(testing::largest_difference(logits, reference.logits) / largest));
}

TEST(GoldenLogits, OneTokenLessGivesOtherLogits) {
  Reference reference = kvmini_reference();
  reference.ids.pop_back();
  EXPECT_GT(testing::largest_difference(embedded_logits(reference.ids, DType::f64, 2), reference.logits), 1);
}

}  // namespace
}  // namespace kvscope
