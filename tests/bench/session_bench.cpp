// SPDX-License-Identifier: Apache-2.0
// Live loop of the explorer on the embedded model: edits, added lanes, steps of many lanes. Prints each figure with its limit.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "paths.h"
#include "policy/catalog.h"
#include "runtime/lane/lane.h"
#include "runtime/session/runner.h"
#include "runtime/session/session.h"
#include "runtime/session/step_batch.h"

namespace {

using namespace kvscope;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

double quantile(std::vector<double> x, double q) {
  std::sort(x.begin(), x.end());
  return x[std::min(x.size() - 1, static_cast<std::size_t>(q * static_cast<double>(x.size())))];
}

void report(const std::string& name, const std::vector<double>& ms, double limit_ms) {
  const double p95 = quantile(ms, 0.95);
  fmt::print("{:<58} p50 {:7.2f} ms   p95 {:7.2f} ms   min {:7.2f} ms", name, quantile(ms, 0.5), p95, quantile(ms, 0));
  if (limit_ms > 0) fmt::print("   limit {:g} ms, p95/limit {:.2f}", limit_ms, p95 / limit_ms);
  fmt::print("\n");
}

std::string text_of(const Tokenizer& tokenizer, int n_tokens) {
  std::string text;
  const std::string sentence =
      "The old man walked slowly along the shore and looked at the grey water, thinking of the ship that had left. ";
  while (static_cast<int>(tokenizer.encode(text).size()) < n_tokens) text += sentence;
  return text;
}

/// The first n lanes of a fixed list at a ratio, beside the full cache.
std::vector<std::string> lanes(int n, const std::string& ratio) {
  std::vector<std::string> out;
  for (const char* name : {"streaming", "h2o", "keepkv", "snapkv", "weightedkv", "zeromerge", "kvmerger", "d2o"}) {
    if (static_cast<int>(out.size()) < n) out.push_back(std::string(name) + ":ratio=" + ratio);
  }
  return out;
}

/// Keystrokes in a 512-token prompt, the full cache and these lanes, history kept, everything recorded.
void bench_edits(Session& session, const std::vector<std::string>& specs) {
  RunRequest request;
  request.lanes = parse_lane_specs(specs);
  const std::string text = text_of(session.tokenizer(), 505);
  request.prompt = text;
  const CancelToken never;
  auto started = Clock::now();
  Snapshot first = session.run(request, never);
  fmt::print("{} prompt tokens, {} lanes, from nothing: {:.1f} ms\n", first.n_prompt, first.lanes.size(), ms_since(started));
  std::vector<double> ms;
  for (int i = 0; i < 40; ++i) {
    request.prompt = text;
    request.prompt.insert(text.size() / 2, 1, static_cast<char>('a' + i % 26));
    started = Clock::now();
    session.run(request, never);
    ms.push_back(ms_since(started));
  }
  report(fmt::format("key in the middle of a 512-token prompt, {} lanes", first.lanes.size()), ms, 100);
  ms.clear();
  for (int i = 0; i < 40; ++i) {
    request.prompt = text;
    request.prompt.push_back(static_cast<char>('a' + i % 26));
    started = Clock::now();
    session.run(request, never);
    ms.push_back(ms_since(started));
  }
  report("key at its end", ms, 100);
  ms.clear();
  if (!find_policy(request.lanes.back().name).takes_budget) return;
  for (int i = 0; i < 40; ++i) {
    request.lanes.back() = with_param(request.lanes.back(), "slots", std::to_string(50 + 10 * i));
    started = Clock::now();
    session.run(request, never);
    ms.push_back(ms_since(started));
  }
  report("budget of one lane moved", ms, 33);
}

constexpr int kTokens = 480, kSteps = 64, kProfileSteps = 500;

/// Adds what each step took: the full cache, which every session has, and these lanes.
void time_session(const std::string& folder, const std::vector<std::string>& specs, std::vector<double>& ms) {
  const CancelToken never;
  Session fresh(open_model(folder), {.precision = DType::f32});
  RunRequest request;
  request.prompt = text_of(fresh.tokenizer(), kTokens);
  request.lanes = parse_lane_specs(specs);
  request.detail = Detail::slots;
  request.measures = MeasureSet::none();
  fresh.run(request, never);
  request.n_generate = kSteps;
  const Snapshot out = fresh.run(request, never);
  for (std::size_t s = 2; s < out.lanes[0].steps.size(); ++s) ms.push_back(out.lanes[0].steps[s]->ms);
}

/// The same without the full cache, and so without what is held against it.
void time_lanes(const std::string& folder, const std::vector<std::string>& specs, std::vector<double>& ms, int steps = kSteps) {
  const CancelToken never;
  ModelFiles files = open_model(folder);
  const std::unique_ptr<Backend> backend = make_cpu_backend(DType::f32, files.config);
  const Model model = load_model(std::move(files), *backend);
  Forward forward(*backend, model);
  PromptRun prompt(*backend, model);
  const std::vector<int> ids = model.files.tokenizer->encode(text_of(*model.files.tokenizer, kTokens));
  PromptNeeds needs;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<Lane*> batch;
  for (const std::string& spec : specs) {
    const Lane::Setup setup{.spec = parse_lane_spec(spec),
                            .mode = PromptMode::prefill,
                            .n_prompt = static_cast<int>(ids.size()),
                            .record = {.captures = false, .measures = MeasureSet::none(), .history = true}};
    lanes.push_back(std::make_unique<Lane>(*backend, model, setup,
                                           Policy::make({.spec = setup.spec, .model = &model.config(), .n_prompt = setup.n_prompt})));
    batch.push_back(lanes.back().get());
    needs.add(batch.back()->policy().needs());
    needs.value_norms |= batch.back()->wants_value_norms();
  }
  prompt.update(ids, needs, forward, never, {});
  const auto record = [&] {
    for (Lane* lane : batch) lane->steps.push_back(lane->take_record());
  };
  for (Lane* lane : batch) {
    lane->begin_step(prompt.size() - 1);
    lane->load_prompt(prompt, ProbeRun(*backend, model), [] {});
  }
  record();
  for (int s = 0; s < steps; ++s) {
    const std::vector<int> tokens(batch.size(), ids[static_cast<std::size_t>(s) % ids.size()]);
    const auto started = Clock::now();
    run_step(*backend, forward, batch, tokens, prompt.size() + s, never);
    record();
    if (s > 0) ms.push_back(ms_since(started));
  }
}

/// Decode steps at 480 tokens: eight lanes against one, the mean of the eight, with the full cache beside them and without. In turns, so
/// that all meet the same machine.
void bench_steps(const std::string& folder, int rounds) {
  const std::vector<std::string> eight = lanes(8, "0.2");
  struct {
    std::vector<double> full, all;
    std::vector<double> one[8];
  } with, without;
  for (int round = 0; round < rounds; ++round) {
    time_session(folder, {}, with.full);
    time_session(folder, eight, with.all);
    time_lanes(folder, eight, without.all);
    for (std::size_t i = 0; i < eight.size(); ++i) {
      time_session(folder, {eight[i]}, with.one[i]);
      time_lanes(folder, {eight[i]}, without.one[i]);
    }
  }
  report("step of the full cache alone, 480 tokens", with.full, 0);
  report("step of it and 8 lanes at ratio 0.2", with.all, 0);
  report("step of the 8 lanes without it", without.all, 0);
  for (const double q : {0.5, 0.0}) {
    const auto mean_of_one = [q](const std::vector<double>(&one)[8]) {
      double sum = 0;
      for (const std::vector<double>& ms : one) sum += quantile(ms, q);
      return sum / 8;
    };
    const double one_with = mean_of_one(with.one), one_without = mean_of_one(without.one);
    const double a = quantile(with.all, q) / one_with, b = quantile(without.all, q) / one_without;
    fmt::print("{}: one lane (mean of the 8) {:.3f} ms with the full cache, {:.3f} ms without it\n", q > 0 ? "medians" : "minima", one_with,
               one_without);
    fmt::print("  8 lanes and the full cache over one lane and the full cache {:.2f}x; 8 lanes over one lane {:.2f}x (limit 3)\n", a, b);
    fmt::print("  8 lanes and the full cache over the full cache alone {:.2f}x\n", quantile(with.all, q) / quantile(with.full, q));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string folder = in_checkout("assets/models/kvmini"), only;
  std::vector<std::string> specs;
  int rounds = 5;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--model") {
      folder = value;
    } else if (key == "--only" && (value == "edits" || value == "steps" || value == "lanes")) {
      only = value;
    } else if (key == "--lane") {
      specs.push_back(value);
    } else if (key == "--rounds" && std::atoi(value.c_str()) > 0) {
      rounds = std::atoi(value.c_str());
    } else {
      fmt::print(stderr, "session_bench [--model FOLDER] [--only edits|steps|lanes] [--lane SPEC] [--rounds N]; got {} {}\n", key, value);
      return 1;
    }
  }
  const auto started = Clock::now();
  Session session(open_model(folder), {.precision = DType::f32});
  fmt::print("{} on {}; model opened in {:.1f} ms\n", session.config().name, session.device_name(), ms_since(started));
  if (only.empty() || only == "edits") bench_edits(session, specs.empty() ? lanes(3, "0.25") : specs);
  if (only.empty() || only == "steps") bench_steps(folder, rounds);
  if (only == "lanes") {  // nothing else, for a profiler
    std::vector<double> ms;
    for (int round = 0; round < rounds; ++round) time_lanes(folder, specs.empty() ? lanes(8, "0.2") : specs, ms, kProfileSteps);
    report(fmt::format("step of {}", specs.empty() ? "8 lanes at ratio 0.2" : specs.front()), ms, 0);
  }
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "session_bench: {}\n", e.what());
  return 1;
}
