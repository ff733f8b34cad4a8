// SPDX-License-Identifier: Apache-2.0
// What a policy costs beside the model: statistics, decision and merges of one step as a share of a step of the full cache, and the
// compression of a prompt (statistics gathered from its attention included) as a share of its prefill. Both sides of a ratio are measured
// in the same run, in turns.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "io/safetensors_builder.h"
#include "paths.h"
#include "policy/catalog.h"
#include "policy/policy.h"
#include "runtime/model/run_files.h"
#include "runtime/session/session.h"

namespace {

using namespace kvscope;

struct Options {
  std::string model = in_checkout("assets/models/kvmini"), only;
  double ratio = 0.2;
  int context = 512, steps = 32, prompt = 4096, threads = 1, rounds = 2;
};

/// Shares of a step that a policy may take (percent). The exceptions merge many keys in every step.
constexpr double kStepLimit = 15, kMergerStepLimit = 25, kPromptLimit = 20;
/// Of a prefill of the smallest model, where every head solves two least-squares problems with as many unknowns as it keeps slots.
constexpr double kFitLimit = 2500;
double step_limit(const std::string& policy) { return policy == "keepkv" || policy == "d2o" ? kMergerStepLimit : kStepLimit; }

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

/// n ids of running text, without the tokens that stand for nothing.
std::vector<int> prompt_ids(const Session& session, int n) {
  std::ifstream file(in_checkout("assets/prompts/prose.txt"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::vector<int> ids = session.tokenizer().encode(text);
  std::vector<int> out{session.config().bos_id};
  for (std::size_t i = 0; static_cast<int>(out.size()) < n; ++i) out.push_back(ids[i % ids.size()]);
  return out;
}

Session open(const Options& options) {
  ModelFiles files = open_model(options.model);
  files.config.max_positions =
      std::max({files.config.max_positions, options.prompt, options.context + options.steps});  // time does not depend on sense
  return {std::move(files), {.precision = DType::f32, .n_threads = options.threads}};
}

RunRequest request(std::vector<int> ids, const std::string& lane) {
  RunRequest out;
  out.prompt_ids = std::move(ids);
  if (!lane.empty()) out.lanes = {parse_lane_spec(lane)};
  out.detail = Detail::summary;
  out.history = false;
  out.measures = MeasureSet::none();  // what is left is the policy's own work
  return out;
}

struct Cost {
  double work_ms = 0, full_ms = 0;
  double share() const { return 100 * work_ms / full_ms; }
};

/// Medians over the steps: the lane's policy work, and a step of the full cache alone.
Cost step_cost(const Options& options, const std::string& lane) {
  Session full = open(options), both = open(options);
  const CancelToken never;
  const int n_prompt = options.context - options.steps / 2;
  RunRequest alone = request(prompt_ids(full, n_prompt), ""), beside = request(prompt_ids(full, n_prompt), lane);
  full.run(alone, never);
  double before = both.run(beside, never).lanes.back().compress_ms;
  std::vector<double> work, whole;
  for (int s = 1; s <= options.steps; ++s) {
    alone.n_generate = beside.n_generate = s;
    whole.push_back(full.run(alone, never).lanes[0].steps.back()->ms);
    const double now = both.run(beside, never).lanes.back().compress_ms;
    work.push_back(now - before);
    before = now;
  }
  return {median(work), median(whole)};
}

/// The same of a lane from which nothing goes, whose work is not all the policy's by name (choosing what to read): what its step takes
/// beside a lane that keeps all its slots and does nothing.
Cost kept_step_cost(const Options& options, const std::string& lane) {
  Session full = open(options), idle = open(options), both = open(options);
  const CancelToken never;
  const int n_prompt = options.context - options.steps / 2;
  RunRequest alone = request(prompt_ids(full, n_prompt), ""), nothing = request(prompt_ids(full, n_prompt), "local:ratio=9"),
             beside = request(prompt_ids(full, n_prompt), lane);
  for (const auto& [session, asked] : {std::pair(&full, &alone), std::pair(&idle, &nothing), std::pair(&both, &beside)})
    session->run(*asked, never);
  std::vector<double> added, whole;
  for (int s = 1; s <= options.steps; ++s) {
    alone.n_generate = nothing.n_generate = beside.n_generate = s;
    whole.push_back(full.run(alone, never).lanes[0].steps.back()->ms);
    const double without = idle.run(nothing, never).lanes.back().steps.back()->ms;
    added.push_back(both.run(beside, never).lanes.back().steps.back()->ms - without);
  }
  return {median(added), median(whole)};
}

/// Fastest of the rounds: the prefill of the full cache alone, and what the lane adds to it.
Cost prompt_cost(const Options& options, const std::string& lane, double& decide_ms) {
  double alone = 1e300, beside = 1e300;
  decide_ms = 1e300;
  for (int round = 0; round < options.rounds; ++round) {
    for (const bool with_lane : {false, true}) {
      Session session = open(options);
      const Snapshot out = session.run(request(prompt_ids(session, options.prompt), with_lane ? lane : ""), CancelToken());
      double& best = with_lane ? beside : alone;
      best = std::min(best, out.total_ms);
      if (with_lane) decide_ms = std::min(decide_ms, out.lanes.back().compress_ms);
    }
  }
  return {std::max(decide_ms, beside - alone), alone};  // never less than what was timed inside
}

/// Every row of the catalog as it is by default, then the other forms that work in every step.
std::vector<std::string> lanes(const Options& options, const Session& session) {
  const ModelConfig& c = session.config();
  const auto scores = std::filesystem::temp_directory_path() / "kvscope_bench_scores.json";
  std::ofstream(scores) << "[" << [&] {
    std::string rows;
    for (int l = 0; l < c.n_layers; ++l) {
      rows += l ? ",[" : "[";
      for (int g = 0; g < c.n_heads; ++g) rows += fmt::format("{}{}", g ? "," : "", 1 + (l + g) % 3);
      rows += "]";
    }
    return rows;
  }() << "]";
  const auto filters = std::filesystem::temp_directory_path() / "kvscope_bench_filters.safetensors";
  const std::size_t n_bytes = 4 * static_cast<std::size_t>(c.n_layers * c.n_kv_heads * c.head_dim);
  std::ofstream(filters, std::ios::binary) << test::safetensors(
                                                  fmt::format(
                                                      R"({{"q_filters":{{"dtype":"F32","shape":[{},{},{}],"data_offsets":[0,{}]}}}})",
                                                      c.n_layers, c.n_kv_heads, c.head_dim, n_bytes),
                                                  0)
                                           << std::string(n_bytes, '\x3d');
  const std::filesystem::path maps = std::filesystem::path(options.model) / "less_maps.safetensors";
  const auto lane = [&](const std::string& name, const std::string& keys) {
    return fmt::format("{}:ratio={:g}{}", name, options.ratio, keys);
  };
  std::vector<std::string> out;
  for (const PolicyInfo& p : policies()) {
    if (!p.takes_budget) continue;
    if (p.name == "less" && !std::filesystem::exists(maps)) continue;  // they are trained for one model
    if (std::ranges::any_of(p.params, [&](const ParamInfo& key) {      // so are these
          return (key.file_holds == FileHolds::scorer || key.file_holds == FileHolds::curves) && !p.keys_follow_choices &&
                 !std::filesystem::exists(std::filesystem::path(options.model) / key.file_of_model);
        }))
      continue;
    out.push_back(lane(p.name, p.name == "headkv"    ? ",scores=" + scores.string()
                               : p.name == "qfilter" ? ",file=" + filters.string()
                               : p.name == "less"    ? ",maps=" + maps.string()
                                                     : ""));
  }
  for (const char* form : {"plus=1", "layerwise=1"}) out.push_back(lane("kvzip", fmt::format(",{}", form)));
  out.emplace_back("duo:fly=1,sparsity=0.5,slots=256,recent=64");
  out.emplace_back("dms:recent=64");
  for (const char* whole : {"kivi", "kivi:bits=2", "turboquant", "think", "quest"}) out.emplace_back(whole);
  out.emplace_back("prefill_decode");
  for (const char* now_and_then : {"tri", "rkv"}) out.push_back(lane(now_and_then, ",every=1"));  // what one of its compressions costs
  for (const char* once : {"snapkv", "adakv", "criticalkv"}) out.push_back(lane(once, ",refresh=1"));
  out.push_back(lane("cam", ",base=h2o"));
  out.push_back(lane("keepkv", ",base=h2o"));
  out.push_back(lane("keepkv", ",form=zip,predict=window"));
  out.push_back(lane("d2o", ",alloc=variance"));
  return out;
}

std::unique_ptr<Policy> policy_of(const Session& session, const std::string& lane) {
  const LaneSpec spec = parse_lane_spec(lane);
  return Policy::make({.spec = spec, .model = &session.config(), .n_prompt = 512, .files = RunFiles("").of(spec)});
}

bool looks_ahead(const Session& session, const std::string& lane) { return policy_of(session, lane)->needs().coming_queries > 0; }

bool probes(const Session& session, const std::string& lane) { return policy_of(session, lane)->needs().probe.has_value(); }

/// Percent of a prefill that a lane may add: for one that runs the prompt over the full cache again, what as many tokens more cost, and a
/// tenth.
double prompt_limit(const Options& options, const Session& session, const std::string& lane) {
  if (lane.starts_with("refit")) return kFitLimit;
  if (!probes(session, lane)) return kPromptLimit;
  Options twice = options;
  twice.prompt *= 2;
  double decide_ms = 0;
  const double once_ms = prompt_cost(options, reference_policy(), decide_ms).full_ms;
  return 110 * (prompt_cost(twice, reference_policy(), decide_ms).full_ms - once_ms) / once_ms;
}

void print(const Cost& cost, double limit) {
  fmt::print("  {:8.3f} {:9.3f} {:6.1f} % {:4.0f} % {:5.2f}{}", cost.work_ms, cost.full_ms, cost.share(), limit, cost.share() / limit,
             cost.share() > limit ? " over" : "     ");
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Cost of every policy beside the full cache");
  app.add_option("--model", options.model);
  app.add_option("--only", options.only, "lanes whose specification, with a $ behind it, contains this");
  app.add_option("--ratio", options.ratio);
  app.add_option("--context", options.context, "tokens in the full cache, in the middle of the timed steps");
  app.add_option("--steps", options.steps, "timed steps");
  app.add_option("--prompt", options.prompt, "tokens of the prefill; 0: no prefill");
  app.add_option("--rounds", options.rounds, "of the prefill");
  app.add_option("--threads", options.threads);
  CLI11_PARSE(app, argc, argv);

  const Session session = open(options);
  fmt::print("{}, {}, f32; step: {} slots in the full cache, ratio {:g}, medians of {} steps; prefill: {} tokens, fastest of {}\n",
             session.config().name, session.device_name(), options.context, options.ratio, options.steps, options.prompt, options.rounds);
  if (options.prompt > open_model(options.model).config.max_positions)
    fmt::print("the prefill is longer than the model was made for: its text is senseless, its time is not\n");
  fmt::print("{:<42}  {:^42}  {:^42}\n", "", "step: policy ms, full ms, share, limit, ratio",
             "prefill: added ms, full ms, share, limit, ratio");
  int over = 0;
  for (const std::string& lane : lanes(options, session)) {
    if ((lane + "$").find(options.only) == std::string::npos) continue;
    const std::string name = lane.substr(0, lane.find(':'));
    const auto slash = lane.find('/');
    fmt::print("{:<42}", slash == std::string::npos ? lane : lane.substr(0, slash) + "FILE");
    std::fflush(stdout);
    if (options.only.empty() && looks_ahead(session, lane)) {
      fmt::print("  looks ahead, so that it is no policy for use: no limit (--only times it)\n");
      continue;
    }
    const Cost step = find_policy(name).takes_budget ? step_cost(options, lane) : kept_step_cost(options, lane);
    print(step, step_limit(name));
    over += step.share() > step_limit(name);
    if (options.prompt > 0) {
      double decide_ms = 0;
      const Cost prompt = prompt_cost(options, lane, decide_ms);
      const double limit = prompt_limit(options, session, lane);
      print(prompt, limit);
      fmt::print("  of it decision and merges {:.2f} ms", decide_ms);
      over += prompt.share() > limit;
    }
    fmt::print("\n");
  }
  fmt::print("{} over their limit\n", over);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "policy_bench: {}\n", e.what());
  return 1;
}
