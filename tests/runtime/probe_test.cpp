// SPDX-License-Identifier: Apache-2.0
// Probes: tokens that run over the full cache of a prompt to be observed, what they find, and that nothing of them stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "backend/backend.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "runs.h"
#include "runtime/model/model.h"
#include "runtime/prompt/probe_run.h"
#include "runtime/prompt/probe_text.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;
using Probe = StatNeeds::Probe;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A model in doubles, and a prompt run on it.
class Probes : public ::testing::Test {
 protected:
  explicit Probes(const std::string& folder = tiny_model()) : files_(open_model(folder)) {
    backend_ = make_cpu_backend(DType::f64, files_.config, {.n_threads = 1});
    model_ = load_model(std::move(files_), *backend_);
    forward_.emplace(*backend_, model_);
  }
  /// Runs the prompt and what is wanted after it; returns how many layers of passes that took.
  int update(PromptRun& run, ProbeRun& probes, const std::vector<int>& ids, const PromptNeeds& needs) {
    int layers = 0;
    const Forward::LayerDone count = [&](int) { ++layers; };
    run.update(ids, needs, *forward_, CancelToken(), count);
    probes.update(run, needs.probes, *forward_, CancelToken(), count);
    return layers;
  }
  static StatNeeds needing(const Probe& probe) {
    StatNeeds needs;
    needs.probe = probe;
    return needs;
  }
  const ModelConfig& config() const { return model_.config(); }

  ModelFiles files_;
  std::unique_ptr<Backend> backend_;
  Model model_;
  std::optional<Forward> forward_;
};

/// What a probe of tokens [first, end) finds of one head, from the logits of a prompt that has the probe behind it. z [rows, group, n].
std::vector<double> most_of(std::span<const double> z, int n_rows, int group, int n_prompt, int first, int end, int sinks) {
  const int n = n_prompt + n_rows;
  std::vector<double> most(at(end - first), 0.0);
  for (int r = 0; r < n_rows; ++r)
    for (int g = 0; g < group; ++g) {
      const double* row = z.data() + (at(r) * at(group) + at(g)) * at(n);
      double sum = 0;
      for (int i = 0; i < n; ++i)
        if (i < std::min(sinks, first) || (i >= first && i < end) || (i >= n_prompt && i <= n_prompt + r)) sum += std::exp(row[i]);
      for (int i = first; i < end; ++i) most[at(i - first)] = std::max(most[at(i - first)], std::exp(row[i]) / sum);
    }
  return most;
}

TEST_F(Probes, FindTheMostAttentionAmongSinksStretchAndThemselves) {
  constexpr int n = 70, kStretch = 40;
  const std::vector<int> ids = random_ids(n, config().vocab_size, 3);
  PromptRun run(*backend_, model_);
  ProbeRun probes(*backend_, model_);
  const Probe whole{.stretch = 2048}, parts{.stretch = kStretch, .sinks = 3};
  PromptNeeds needs;
  needs.probes = {whole, parts};
  update(run, probes, ids, needs);
  EXPECT_EQ(probes.tokens(needing(whole)), n) << "without a tokenizer there are no words";
  EXPECT_EQ(probes.tokens(needing(parts)), n + 8) << "the second stretch begins with the end of the first";

  const auto expect_found = [&](const Probe& probe, std::vector<int> asked, int first, int end) {
    std::vector<int> both = ids;
    both.insert(both.end(), asked.begin(), asked.end());
    PromptRun beside(*backend_, model_);
    PromptNeeds rows;
    rows.z_rows = static_cast<int>(asked.size());
    beside.update(both, rows, *forward_, CancelToken(), {});
    StatNeeds stats;
    stats.z_rows = rows.z_rows;
    for (int l = 0; l < config().n_layers; ++l)
      for (int h = 0; h < config().n_kv_heads; ++h) {
        const std::vector<double> expected =
            most_of(beside.stats(l, h, stats).last_z, rows.z_rows, config().group(), n, first, end, probe.sinks);
        const std::span<const double> found = probes.found(needing(probe), l, h);
        for (int i = first; i < end; ++i) ASSERT_NEAR(found[at(i)], expected[at(i - first)], 1e-12) << l << ' ' << h << ' ' << i;
      }
  };
  expect_found(whole, ids, 0, n);
  expect_found(parts, {ids.begin(), ids.begin() + kStretch}, 0, kStretch);
  expect_found(parts, {ids.begin() + kStretch - 8, ids.end()}, kStretch, n);
}

TEST_F(Probes, RunOnceForAPrompt) {
  std::vector<int> ids = random_ids(30, config().vocab_size, 3);
  PromptRun run(*backend_, model_);
  ProbeRun probes(*backend_, model_);
  PromptNeeds needs;
  const int layers = config().n_layers;
  EXPECT_EQ(update(run, probes, ids, needs), layers) << "the prompt";
  const std::vector<double> logits = run.logits();
  needs.probes = {{.stretch = 100}, {.stretch = 100, .by_output = true}};
  EXPECT_EQ(update(run, probes, ids, needs), layers) << "both look at the same pass";
  EXPECT_EQ(run.logits(), logits);
  EXPECT_EQ(run.history(0).size(), 30);
  EXPECT_EQ(update(run, probes, ids, needs), 0);
  needs.probes = {{.stretch = 10}};
  EXPECT_EQ(update(run, probes, ids, needs), 3 * layers) << "three stretches, the prompt stays";
  ids.back() = (ids.back() + 1) % config().vocab_size;
  EXPECT_EQ(update(run, probes, ids, needs), 4 * layers) << "another prompt, other probes";
}

RunRequest request(std::vector<int> ids, const std::vector<std::string>& lanes) {
  return {.prompt_ids = std::move(ids), .lanes = parse_lane_specs(lanes), .n_generate = 4, .measures = MeasureSet()};
}

TEST(ProbedRun, ShowsTheAttentionOfEveryTokenKeptOrNotWhateverItsValueCounts) {
  Session session = open_session(tiny_model());
  const Snapshot s = run(session, request(random_ids(40, 64, 9), {"full", "kvzip:slots=12", "kvzip:slots=12,plus=1"}));
  const std::vector<std::vector<float>>&plain = s.lanes[1].steps[0]->probed, &plus = s.lanes[2].steps[0]->probed;
  EXPECT_TRUE(s.lanes[0].steps[0]->probed.empty() && s.lanes[1].steps[1]->probed.empty());
  ASSERT_EQ(plain.size(), s.lanes[1].steps[0]->heads.size());
  ASSERT_EQ(plus.size(), plain.size());
  int scored_otherwise = 0;
  for (std::size_t h = 0; h < plain.size(); ++h) {
    ASSERT_EQ(plain[h].size(), 40u);
    for (std::size_t i = 0; i < plain[h].size(); ++i) EXPECT_FLOAT_EQ(plus[h][i], plain[h][i]);
    const HeadRecord &kept = s.lanes[1].steps[0]->heads[h], &by_output = s.lanes[2].steps[0]->heads[h];
    for (std::size_t i = 0; i < kept.pos.size(); ++i) EXPECT_FLOAT_EQ(static_cast<float>(kept.statistic[i]), plain[h][at(kept.pos[i])]);
    for (const Event& event : kept.events) EXPECT_FLOAT_EQ(static_cast<float>(event.score), plain[h][at(event.pos)]) << "of what went, too";
    for (std::size_t i = 0; i < by_output.pos.size(); ++i)
      scored_otherwise += std::abs(by_output.statistic[i] - static_cast<double>(plus[h][at(by_output.pos[i])])) > 1e-3 ? 1 : 0;
  }
  EXPECT_GT(scored_otherwise, 20) << "times norms";
}

TEST(ProbedRun, LeavesNothingBehindAndSaysWhatItTook) {
  Session session = open_session(tiny_model());
  const Snapshot s = run(session, request(random_ids(40, 64, 9), {"full", "kvzip:ratio=1", "kvzip:slots=12", "kvzip:slots=12,plus=1"}));
  for (const StepPtr& step : s.lanes[1].steps) EXPECT_EQ(step->kl, 0) << "nothing was removed, and the probe is not seen";
  EXPECT_EQ(s.lanes[0].steps[0]->probe_tokens, 0);
  for (std::size_t lane = 1; lane < 4; ++lane) {
    EXPECT_EQ(s.lanes[lane].steps[0]->probe_tokens, 40);
    EXPECT_EQ(s.lanes[lane].steps[1]->probe_tokens, 0);
    EXPECT_GT(s.lanes[lane].steps[0]->probe_ms, 0);
    EXPECT_GE(s.lanes[lane].prompt_compress_ms, s.lanes[lane].steps[0]->probe_ms) << "it is part of what the prompt took";
  }
  for (const std::size_t lane : {2u, 3u}) {
    int slots = 0;
    for (const HeadRecord& head : s.lanes[lane].steps[0]->heads) {
      slots += head.n_slots;
      EXPECT_EQ(head.budget, head.n_slots);
      for (int sink = 0; sink < 4; ++sink) EXPECT_EQ(head.pos[at(sink)], sink);
      ASSERT_EQ(head.statistic.size(), head.pos.size());
      for (std::size_t i = 4; i < head.score.size(); ++i) EXPECT_EQ(head.score[i], head.statistic[i]);
      for (const Event& event : head.events) EXPECT_LE(event.score, head.cutoff);
    }
    EXPECT_EQ(slots, 12 * static_cast<int>(s.lanes[lane].steps[0]->heads.size()));
  }
}

TEST(ProbedRun, IsTheSameAfterAnEdit) {
  const std::vector<std::string> lanes = {"kvzip:slots=12,repeat=30", "kvzip:slots=12,plus=1,layerwise=1", "duo:fly=1,slots=12",
                                          "dms:threshold=-3.5,recent=8"};
  std::vector<int> ids = random_ids(90, 64, 9);
  Session edited = open_session(tiny_model());
  run(edited, request(ids, lanes));
  ids[70] = (ids[70] + 1) % 64;
  Session fresh = open_session(tiny_model());
  expect_same_run(run(edited, request(ids, lanes)), run(fresh, request(ids, lanes)));
}

TEST(ProbedRun, LayersWithWindowsTakeNoPart) {
  Session session = open_session(in_checkout("tests/golden/families/gemma2"));
  const Snapshot s = run(session, request(random_ids(30, 32, 7), {"kvzip:slots=10", "custom:stat=sum,alloc=flat,slots=10"}));
  for (std::size_t lane = 1; lane < 3; ++lane) {
    int slots = 0, heads = 0;
    for (const HeadRecord& head : s.lanes[lane].steps[0]->heads) {
      if (s.model.window(head.layer) > 0) {
        EXPECT_EQ(head.n_slots, s.model.window(head.layer) - 1);
      } else {
        slots += head.n_slots;
        ++heads;
      }
    }
    EXPECT_EQ(slots, 10 * heads);
  }
}

TEST(ProbedRun, AThresholdSaysHowMuchStays) {
  Session session = open_session(tiny_model());
  const Snapshot s = run(session, request(random_ids(40, 64, 9), {"dms:threshold=-3.5,recent=6", "dms:threshold=-1000", "knorm:slots=40"}));
  std::map<int, int> sizes;
  for (const HeadRecord& head : s.lanes[1].steps[0]->heads) {
    ++sizes[head.n_slots];
    EXPECT_EQ(head.budget, head.n_slots) << "the outcome";
    EXPECT_EQ(head.recent, 6);
    for (std::size_t i = 0; i + 6 < head.score.size(); ++i) EXPECT_GE(head.score[i], -3.5);
    for (const Event& event : head.events) EXPECT_LT(event.score, -3.5);
  }
  EXPECT_GT(sizes.size(), 1u) << "other heads, other sizes";
  for (const StepPtr& step : s.lanes[1].steps)
    for (const HeadRecord& head : step->heads)
      for (std::size_t i = 0; i + 6 < head.score.size(); ++i) EXPECT_GE(head.score[i], -3.5) << "what leaves the recent ones goes at once";
  for (const StepPtr& step : s.lanes[2].steps) EXPECT_EQ(step->kl, 0);
}

TEST(ProbeText, AsksInWordsWhereThereAreSome) {
  const ModelFiles model = open_model(embedded_model());
  const ProbeText text(model);
  std::vector<int> prompt = model.tokenizer->encode("The lighthouse stands on a cliff above the northern bay, and nobody lives there.");
  const int n = static_cast<int>(prompt.size());
  EXPECT_EQ(text.start(prompt), 0);
  EXPECT_EQ(model.tokenizer->decode(text.tokens(prompt, 0, 0, n)).substr(0, 39), "\n\nRepeat the previous context exactly. ");
  const std::string whole = model.tokenizer->decode(text.tokens(prompt, 0, 0, n));
  EXPECT_TRUE(whole.ends_with("nobody lives there.")) << whole;
  const std::vector<int> second = text.tokens(prompt, 0, 10, n);
  EXPECT_TRUE(std::ranges::search(second, std::span(prompt).subspan(2, 8)).begin() != second.end()) << "the 8 tokens before";
  EXPECT_THAT(model.tokenizer->decode(second), ::testing::StartsWith("\n\nRepeat the part of the previous context exactly, starting with"));
  Session session = open_session(embedded_model(), DType::f32);
  const Snapshot s =
      testing::run(session, {.prompt = "One two three four five six seven eight nine ten.", .lanes = parse_lane_specs({"kvzip:slots=12"})});
  EXPECT_GT(s.lanes[1].steps[0]->probe_tokens, s.n_prompt + 10);
}

TEST(ProbeText, FollowsTheChatTemplate) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "kvscope_probe_chat";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.model"})
    fs::create_symlink(fs::path(embedded_model()) / file, folder / file);
  std::ofstream(folder / "chat_template.jinja")
      << "You:\n{% for m in messages %}{{ m.content }}\nSo far.\n{% endfor %}{% if add_generation_prompt %}It:\n{% endif %}";
  const ModelFiles model = open_model(folder.string());
  const ProbeText text(model);
  const auto ids = [&](const char* words) { return model.tokenizer->encode(words, SpecialNames::tokens); };
  std::vector<int> prompt = ids("You:\n");
  const int opening = static_cast<int>(prompt.size());
  for (const int id : ids("A cliff above the bay.")) prompt.push_back(id);
  EXPECT_EQ(text.start(prompt), opening);
  EXPECT_EQ(text.start(ids("A cliff.")), 0) << "a prompt that is no turn of a chat";
  const std::vector<int> probe = text.tokens(prompt, opening, opening, static_cast<int>(prompt.size())), answer = ids("\nSo far.\nIt:\n");
  EXPECT_TRUE(std::ranges::search(probe, answer).begin() != probe.end());
  EXPECT_TRUE(std::ranges::equal(std::span(probe).last(prompt.size() - at(opening)), std::span(prompt).subspan(at(opening))));
  std::ofstream(folder / "chat_template.jinja") << "{% for m in messages %}{{ m.role }}{% endfor %}";
  try {
    const ProbeText deaf(open_model(folder.string()));
    ADD_FAILURE() << "a template without the user's words was accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("leaves a user's words out"));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kvscope
