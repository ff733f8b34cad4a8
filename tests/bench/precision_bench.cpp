// SPDX-License-Identifier: Apache-2.0
// How many decisions come out otherwise in float32 than in float64, policy by policy, on texts that the embedded model wrote itself.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "paths.h"
#include "policy/catalog.h"
#include "runtime/session/session.h"
#include "tests/runtime/decisions.h"

namespace {

using namespace kvscope;

/// n ids after BOS, drawn from the model itself.
std::vector<int> written_text(Session& session, int n, std::uint64_t seed) {
  RunRequest request;
  request.prompt_ids = {session.config().bos_id};
  request.n_generate = n;
  request.temperature = 1;
  request.seed = seed;
  request.detail = Detail::summary;
  request.measures = MeasureSet::none();
  request.history = false;
  const Snapshot out = session.run(request, CancelToken());
  std::vector<int> ids;
  for (const TokenInfo& t : out.tokens) ids.push_back(t.id);
  return ids;
}

}  // namespace

int main(int argc, char** argv) try {
  int n_prompts = 50, n_prompt = 160, n_after = 24;
  double ratio = 0.25;
  std::string model = in_checkout("assets/models/kvmini");
  CLI::App app("Decisions in float32 against float64");
  app.add_option("--model", model);
  app.add_option("--prompts", n_prompts);
  app.add_option("--tokens", n_prompt, "of each prompt");
  app.add_option("--after", n_after, "tokens fed after the prompt");
  app.add_option("--ratio", ratio);
  CLI11_PARSE(app, argc, argv);

  Session exact(open_model(model), {.precision = DType::f64}), single(open_model(model), {.precision = DType::f32});
  RunRequest request;
  for (const PolicyInfo& p : policies()) {
    if (p.takes_budget) request.lanes.push_back(parse_lane_spec(fmt::format("{}:ratio={:g}", p.name, ratio)));
  }
  std::erase_if(request.lanes, [&](const LaneSpec& spec) {
    RunRequest alone = request;
    alone.lanes = {spec};
    alone.prompt_ids = {1, 2, 3};
    try {
      exact.run(alone, CancelToken());
      return false;
    } catch (const std::exception& e) {  // wants a file, or cannot run in this build
      fmt::print("left out: {}\n", e.what());
      return true;
    }
  });
  request.follow = Follow::file;
  request.n_generate = -1;
  request.detail = Detail::why;
  request.measures = {.local = false, .runner_ups = true};
  request.history = false;
  std::map<std::string, testing::DecisionCount> counts;
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    for (int i = 0; i < n_prompts; ++i) {
      const std::vector<int> ids = written_text(single, n_prompt + n_after, static_cast<std::uint64_t>(i));
      request.mode = mode;
      request.prompt_ids.assign(ids.begin(), ids.begin() + std::min<std::ptrdiff_t>(n_prompt, std::ssize(ids)));
      request.follow_ids.assign(ids.begin() + std::ssize(request.prompt_ids), ids.end());
      RunRequest usable = request;
      if (mode == PromptMode::stream) {  // allocators that look at the whole prompt
        std::erase_if(usable.lanes, [&](const LaneSpec& spec) { return spec.name == "duo"; });
      }
      const Snapshot a = exact.run(usable, CancelToken()), b = single.run(usable, CancelToken());
      for (std::size_t lane = 1; lane < a.lanes.size(); ++lane)
        counts[a.lanes[lane].policy].add(testing::compare_decisions(a.lanes[lane], b.lanes[lane]));
    }
  }
  fmt::print("{}, {} prompts of {} tokens and {} after, both prompt modes, ratio {:g}; a lane counts up to its first difference\n",
             exact.config().name, n_prompts, n_prompt, n_after, ratio);
  fmt::print("{:<14} {:>10} {:>10} {:>12} {:>12} {:>12} {:>14}\n", "policy", "decisions", "different", "gap <= 1e-5", "gap > 1e-5",
             "no one gap", "widest gap");
  testing::DecisionCount all;
  for (const auto& [policy, n] : counts) {
    fmt::print("{:<14} {:>10} {:>10} {:>12} {:>12} {:>12} {:>14.2e}\n", policy, n.compared, n.different, n.close, n.wide, n.unknown,
               n.widest);
    all.add(n);
  }
  fmt::print("{:<14} {:>10} {:>10} {:>12} {:>12} {:>12} {:>14.2e}  {}\n", "all", all.compared, all.different, all.close, all.wide,
             all.unknown, all.widest, all.where);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "precision_bench: {}\n", e.what());
  return 1;
}
