// SPDX-License-Identifier: Apache-2.0
// Whole runs, every policy: the CUDA backend beside the CPU's float32 on the same prompt. Decisions are the same but where scores lie
// closer together than float32 can tell; from the first such step on a head goes its own way and is not compared any more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "arch/model_files.h"
#include "backend/reference.h"
#include "core/error.h"
#include "emulator.h"
#include "paths.h"
#include "policy/catalog.h"
#include "runtime/model/synthetic_model.h"
#include "runtime/session/session.h"
#include "runtime/session/step_batch.h"

namespace kvscope::test {
namespace {

class Steps : public OfVariant {};

RunRequest request_for(std::vector<std::string> lanes, PromptMode mode, int n_prompt, int n_generate) {
  RunRequest request;
  for (int i = 0; i < n_prompt; ++i) request.prompt_ids.push_back(1 + (i * i + 3 * i) % 60);
  request.lanes = parse_lane_specs(lanes);
  request.mode = mode;
  request.n_generate = n_generate;
  request.measures = MeasureSet::all();
  return request;
}

/// Every policy that can run on this model in this mode: some look at the whole prompt, some want to be told about heads.
std::vector<std::string> lanes_for(Session& session, PromptMode mode) {
  std::vector<std::string> specs = {"less:slots=12,maps=maps.safetensors", "kvzap:slots=12,file=kvzap.safetensors",
                                    "fastkvzip:slots=12,file=fastkvzip.safetensors", "qfilter:slots=12,file=q_filters.safetensors"},
                           out;  // those with files of the model's folder, then all
  for (const PolicyInfo& p : policies()) specs.push_back(!p.takes_budget ? p.name : p.name + ":slots=12");
  for (const std::string& spec : specs) {
    try {
      session.run(request_for({spec}, mode, 20, 0), CancelToken());
      out.push_back(spec);
    } catch (const UsageError&) {
    }
  }
  return out;
}

/// Of figures that are sums of float32; both may be "not available".
constexpr double kNear = 2e-3;
/// Where keys and values are stored as codes: one number that rounds to the code beside it.
constexpr double kCodeApart = 5e-2;
bool near(double x, double y, double most = kNear) { return std::isnan(x) ? std::isnan(y) : std::abs(x - y) <= most * (1 + std::abs(x)); }

/// The same tokens went, into the same ones.
bool alike(const std::vector<Event>& a, const std::vector<Event>& b) {
  return std::ranges::equal(a, b, [](const Event& x, const Event& y) { return x.pos == y.pos && x.into == y.into; });
}

/// The scores of those that only `a` names.
std::vector<double> scores_of_others(const std::vector<Event>& a, const std::vector<Event>& b) {
  std::vector<double> out;
  for (const Event& x : a)
    if (std::ranges::find(b, x.pos, &Event::pos) == b.end()) out.push_back(x.score);
  return out;
}

/// The tokens that only one of two records names have the same score, that at which a slot goes or stays; where both name the same ones,
/// those that first change places have it. (A text that says a token twice has equal keys before rotation, and so equal scores of some
/// policies: which of them goes is up to the last bit.)
bool parts_at_a_tie(const std::vector<Event>& a, const std::vector<Event>& b) {
  std::vector<double> scores = scores_of_others(a, b);
  std::ranges::copy(scores_of_others(b, a), std::back_inserter(scores));
  if (scores.empty()) {
    const auto [x, y] = std::ranges::mismatch(a, b, [](const Event& l, const Event& r) { return l.pos == r.pos; });
    if (x != a.end() && y != b.end()) scores = {x->score, y->score};
  }
  return std::ranges::all_of(scores, [&](double score) { return near(score, scores.front()); });
}

void compare(PromptMode mode, const Variant& variant, Detail detail) {
  const std::string folder = in_checkout("tests/golden/tiny-gqa");
  Session on_cpu(open_model(folder), {.precision = DType::f32, .device = "cpu"});
  ModelFiles files = open_model(folder);
  auto backend = variant.make(files.config, 2);
  Model model = load_model(std::move(files), *backend);
  Session on_cuda(std::move(backend), std::move(model));
  const bool on_host = variant.name.starts_with("host");  // a hundred thousand fibers: short texts
  RunRequest request = request_for(lanes_for(on_cpu, mode), mode, on_host ? 20 : 40, on_host ? 5 : 64);
  request.detail = detail;
  request.history = detail == Detail::why;
  if (detail != Detail::why) request.measures = MeasureSet::none();
  ASSERT_GE(request.lanes.size(), 15u);
  const Snapshot expected = on_cpu.run(request, CancelToken()), got = on_cuda.run(request, CancelToken());
  ASSERT_EQ(got.lanes.size(), expected.lanes.size());
  int compared = 0, apart = 0;
  double worst = 0;
  for (std::size_t l = 0; l < got.lanes.size(); ++l) {
    const LaneSnapshot &a = expected.lanes[l], &b = got.lanes[l];
    ASSERT_EQ(a.steps.size(), b.steps.size()) << a.spec;
    bool same = true;  // so far, in all heads
    const double most = a.stored_as.empty() ? kNear : kCodeApart;
    const auto alike_figures = [most](double x, double y) { return near(x, y, most); };
    for (std::size_t s = 0; s < a.steps.size() && same; ++s) {
      for (std::size_t i = 0; i < a.steps[s]->logits_top.size(); ++i) {
        const auto &x = a.steps[s]->logits_top[i], &y = b.steps[s]->logits_top[i];
        worst = std::max(worst, std::abs(x.second - y.second));
        EXPECT_NEAR(x.second, y.second, most) << a.spec << " step " << s;
      }
      for (std::size_t h = 0; h < a.steps[s]->heads.size(); ++h) {
        ++compared;
        const HeadRecord &x = a.steps[s]->heads[h], &y = b.steps[s]->heads[h];
        if (x.pos != y.pos || x.votes != y.votes || !alike(x.events, y.events)) {
          EXPECT_TRUE(parts_at_a_tie(x.events, y.events)) << a.spec << " step " << s << " head " << h;
          same = false;
          continue;
        }
        EXPECT_TRUE(alike_figures(x.local_rel_l2, y.local_rel_l2) && alike_figures(x.compress_rel_l2, y.compress_rel_l2) &&
                    alike_figures(x.attention_loss, y.attention_loss) && alike_figures(x.local_l1_wo, y.local_l1_wo) &&
                    alike_figures(x.theta, y.theta))
            << a.spec << " step " << s << " head " << h << ": " << x.compress_rel_l2 << " and " << y.compress_rel_l2;
        EXPECT_TRUE(std::ranges::equal(x.attention, y.attention, alike_figures)) << a.spec << " step " << s << " head " << h;
      }
      EXPECT_TRUE(std::ranges::equal(a.steps[s]->hidden_rel_l2, b.steps[s]->hidden_rel_l2, alike_figures)) << a.spec << " step " << s;
    }
    apart += !same;
  }
  std::printf("%zu lanes, %d heads of steps with the same slots; %d lanes part at a near tie; largest difference of a logit %.1e\n",
              got.lanes.size(), compared, apart, worst);
  EXPECT_LE(apart, 1);
}

TEST_P(Steps, DecideWhatTheCpuDecidesAfterAPrompt) { compare(PromptMode::prefill, GetParam(), Detail::why); }
TEST_P(Steps, DecideWhatTheCpuDecidesTokenByToken) { compare(PromptMode::stream, GetParam(), Detail::why); }
// without captures for people
TEST_P(Steps, DecideTheSameWhereOnlyEventsAreRecorded) { compare(PromptMode::prefill, GetParam(), Detail::events); }
TEST_P(Steps, DecideTheSameTokenByTokenWhereOnlyEventsAreRecorded) { compare(PromptMode::stream, GetParam(), Detail::events); }

/// Of a step that evicts, after the first ones.
struct StepCounts {
  long waits = 0;   // of the host for all of the device's work
  long alone = 0;   // kernels that were started by themselves
  long graphs = 0;  // that were started
};
StepCounts counts_of_a_step(const Variant& variant, const std::string& policy, int n_layers, bool captures = true) {
  ModelConfig config = config_of(3, 3, 32);
  config.n_layers = n_layers;
  config.hidden_dim = config.vocab_size = 64;
  const auto backend = variant.make(config, 1);
  const Model model = synthetic_model(config, DType::f32, *backend);
  Forward forward(*backend, model);
  Lane lane(*backend, model,
            {.spec = parse_lane_spec(policy + ":slots=4"),
             .mode = PromptMode::stream,
             .n_prompt = 16,
             .seed = 0,
             .record = {.captures = captures, .measures = MeasureSet::none(), .slots = captures, .history = captures}},
            Policy::make({.spec = parse_lane_spec(policy + ":slots=4"), .model = &config, .n_prompt = 16, .mode = PromptMode::stream}));
  StepCounts counts;
  for (int position = 0; position < 16; ++position) {
    const StepCounts before{emulator::waits(), emulator::launches(), emulator::graph_launches()};
    Lane* const lanes[] = {&lane};
    run_step(*backend, forward, lanes, std::vector<int>{position}, position, CancelToken());
    lane.steps.push_back(lane.take_record());
    counts = {emulator::waits() - before.waits, emulator::launches() - before.alone, emulator::graph_launches() - before.graphs};
  }
  EXPECT_LT(lane.steps.back()->heads.front().pos.size(), 16u) << policy;
  return counts;
}

TEST(StepsOfAnEmulatedDevice, WaitForAllOfItAtMostOnceHoweverManyLayersAndHeadsThereAre) {
  const Variant host = variants().front();
  if (!host.why_not.empty()) GTEST_SKIP() << host.why_not;
  EXPECT_EQ(counts_of_a_step(host, "h2o", 2).waits, 0) << "what it reads comes by itself";
  EXPECT_EQ(counts_of_a_step(host, "h2o", 7).waits, 0);
  EXPECT_EQ(counts_of_a_step(host, "keepkv", 7).waits, 1) << "for the most similar keys of all heads";
  EXPECT_EQ(counts_of_a_step(host, "zeromerge", 7).waits, 1) << "for the keys of all heads";
}

TEST(StepsOfAnEmulatedDevice, WaitNoMoreOftenForWhatTheStatisticsOfTheHostRead) {
  const Variant host = variants().front();
  if (!host.why_not.empty()) GTEST_SKIP() << host.why_not;
  for (const char* policy : {"h2o", "weightedkv", "roco", "knorm", "tova", "scissorhands", "snapkv", "keepkv"})
    EXPECT_EQ(counts_of_a_step(host, policy, 3, /*captures=*/false).waits, 0) << policy;
  EXPECT_EQ(counts_of_a_step(host, "keepkv", 7, /*captures=*/false).waits, 0) << "merged on the device";
  EXPECT_EQ(counts_of_a_step(host, "zeromerge", 7, /*captures=*/false).waits, 1) << "for the keys of all heads";
  EXPECT_EQ(counts_of_a_step(host, "knorm", 3).waits, 0) << "norms are on their way while the layers go on";
}

TEST(StepsOfAnEmulatedDevice, AreOneGraphForEachLayerAndOneForTheRest) {
  const Variant host = variants().front();
  if (!host.why_not.empty()) GTEST_SKIP() << host.why_not;
  for (const int n_layers : {2, 7}) {
    const StepCounts counts = counts_of_a_step(host, "h2o", n_layers);
    EXPECT_EQ(counts.graphs, n_layers + 1);
    EXPECT_EQ(counts.alone, 0);
  }
  EXPECT_LE(counts_of_a_step(host, "keepkv", 7).alone, 2) << "those that find the most similar keys are too few for a graph";
}

TEST_P(Steps, CountTheHitsOfMoreRowsThanAWordHasBits) {
  const std::string folder = in_checkout("tests/golden/tiny-gqa");
  Session on_cpu(open_model(folder), {.precision = DType::f32, .device = "cpu"});
  ModelFiles files = open_model(folder);
  auto backend = GetParam().make(files.config, 2);
  ASSERT_GT(backend->prompt_rows(), 150);
  Model model = load_model(std::move(files), *backend);
  Session on_cuda(std::move(backend), std::move(model));
  const RunRequest request = request_for({"custom:stat=count,slots=40,window=140"}, PromptMode::prefill, 150, 2);
  const Snapshot expected = on_cpu.run(request, CancelToken()), got = on_cuda.run(request, CancelToken());
  ASSERT_EQ(got.lanes.at(0).steps.size(), expected.lanes.at(0).steps.size());
  for (std::size_t s = 0; s < expected.lanes[0].steps.size(); ++s) {
    const auto &x = expected.lanes[0].steps[s]->heads, &y = got.lanes[0].steps[s]->heads;
    for (std::size_t h = 0; h < x.size(); ++h) EXPECT_EQ(x[h].pos, y[h].pos) << "step " << s << " head " << h;
  }
}

INSTANTIATE_TEST_SUITE_P(On, Steps, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
