// SPDX-License-Identifier: Apache-2.0
// Whole runs, every policy: the CUDA backend beside the CPU's float32 on the same prompt. Decisions are the same but where scores lie
// closer together than float32 can tell; from the first such step on a head goes its own way and is not compared any more.
#include <gtest/gtest.h>

#include "arch/model_files.h"
#include "backend/reference.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "runtime/session.h"

namespace kvscope::test {
namespace {

class Steps : public OfVariant {};

RunRequest request_for(std::vector<std::string> lanes, PromptMode mode, int n_prompt, int n_generate) {
  RunRequest request;
  for (int i = 0; i < n_prompt; ++i) request.prompt_ids.push_back(1 + (i * i + 3 * i) % 60);
  request.lanes = std::move(lanes);
  request.mode = mode;
  request.n_generate = n_generate;
  return request;
}

/// Every policy that can run on this model in this mode: some look at the whole prompt, some want to be told about heads.
std::vector<std::string> lanes_for(Session& session, PromptMode mode) {
  std::vector<std::string> out;
  for (const PolicyInfo& p : policies()) {
    const std::string spec = p.name == reference_policy() ? p.name : p.name + ":slots=12";
    try {
      session.run(request_for({spec}, mode, 20, 0), CancelToken());
      out.push_back(spec);
    } catch (const UsageError&) {
    }
  }
  return out;
}

void compare(PromptMode mode, const Variant& variant) {
  const std::string folder = KVSCOPE_SOURCE_DIR "/tests/golden/tiny-gqa";
  Session on_cpu(open_model(folder), {.precision = DType::f32, .device = "cpu"});
  ModelFiles files = open_model(folder);
  auto backend = variant.make(files.config, 2);
  Model model = load_model(std::move(files), *backend);
  Session on_cuda(std::move(backend), std::move(model));
  const bool on_host = variant.name.starts_with("host");  // a hundred thousand fibers: short texts
  const RunRequest request = request_for(lanes_for(on_cpu, mode), mode, on_host ? 20 : 40, on_host ? 5 : 64);
  ASSERT_GE(request.lanes.size(), 15u);
  const Snapshot expected = on_cpu.run(request, CancelToken()), got = on_cuda.run(request, CancelToken());
  ASSERT_EQ(got.lanes.size(), expected.lanes.size());
  int compared = 0, apart = 0;
  double worst = 0;
  for (std::size_t l = 0; l < got.lanes.size(); ++l) {
    const LaneSnapshot &a = expected.lanes[l], &b = got.lanes[l];
    ASSERT_EQ(a.steps.size(), b.steps.size()) << a.spec;
    bool same = true;  // so far, in all heads
    for (std::size_t s = 0; s < a.steps.size() && same; ++s) {
      for (std::size_t i = 0; i < a.steps[s]->logits_top.size(); ++i) {
        const auto &x = a.steps[s]->logits_top[i], &y = b.steps[s]->logits_top[i];
        worst = std::max(worst, std::abs(x.second - y.second));
        EXPECT_NEAR(x.second, y.second, 2e-3) << a.spec << " step " << s;
      }
      for (std::size_t h = 0; h < a.steps[s]->heads.size(); ++h) {
        ++compared;
        if (a.steps[s]->heads[h].pos != b.steps[s]->heads[h].pos) same = false;
      }
    }
    apart += !same;
  }
  std::printf("%zu lanes, %d heads of steps with the same slots; %d lanes part at a near tie; largest difference of a logit %.1e\n",
              got.lanes.size(), compared, apart, worst);
  EXPECT_LE(apart, 1);
}

TEST_P(Steps, DecideWhatTheCpuDecidesAfterAPrompt) { compare(PromptMode::prefill, GetParam()); }
TEST_P(Steps, DecideWhatTheCpuDecidesTokenByToken) { compare(PromptMode::stream, GetParam()); }

INSTANTIATE_TEST_SUITE_P(On, Steps, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
