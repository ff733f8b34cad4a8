// SPDX-License-Identifier: Apache-2.0
// What the host does in a decode step on a CUDA device: the whole engine with its CUDA backend, on an emulation that runs no kernel. Its
// results are zeros, so a policy's decisions mean nothing; how many there are is as in a real run. Prints ms a step beside a limit.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "backend/cuda/factory.h"
#include "emulator.h"
#include "policy/catalog.h"
#include "runtime/model/synthetic_model.h"
#include "runtime/session/session.h"

namespace {

using namespace kvscope;
using Clock = std::chrono::steady_clock;

/// As many layers and heads as Llama-2-7B; all else is small: the host never sees it.
ModelConfig shape(int n_layers, int n_kv_heads) {
  ModelConfig c;
  c.name = "host bench";
  c.arch = "llama";
  c.n_layers = n_layers;
  c.n_heads = 32;
  c.n_kv_heads = n_kv_heads;
  c.head_dim = 32;
  c.dim = 1024;
  c.hidden_dim = 16;
  c.vocab_size = 64;
  c.max_positions = 1 << 20;
  return c;
}

struct Cost {
  double wall_ms = 0, cpu_ms = 0;  // a step
  double prompt_ms = 0;            // the whole prompt, read when memory has been found
};

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

Cost cost_of(const std::vector<std::string>& lanes, const ModelConfig& config, int n_prompt, int n_steps, int n_threads) {
  auto backend = cuda::make(DType::bf16, config, {.n_threads = n_threads});
  Model model = synthetic_model(config, DType::bf16, *backend);
  Session session(std::move(backend), std::move(model));
  RunRequest request;
  for (int i = 0; i < n_prompt; ++i) request.prompt_ids.push_back(i % 60);
  request.lanes = parse_lane_specs(lanes);
  request.detail = Detail::summary;
  request.shadow = false;
  request.measures = MeasureSet::none();
  session.run(request, CancelToken());
  request.prompt_ids[0] = 61;
  const auto prompt = Clock::now();
  session.run(request, CancelToken());
  const double prompt_ms = ms_since(prompt);
  constexpr int kFirst = 10;  // memory is found in these
  request.n_generate = kFirst;
  session.run(request, CancelToken());
  request.n_generate += n_steps;
  const std::clock_t cpu = std::clock();
  const auto start = Clock::now();
  session.run(request, CancelToken());
  return {ms_since(start) / n_steps, static_cast<double>(std::clock() - cpu) * 1e3 / CLOCKS_PER_SEC / n_steps, prompt_ms};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What the host does in a decode step on a CUDA device");
  int n_steps = 90, n_threads = 0, n_prompt = 1000, slots = 820, n_layers = 32, n_kv_heads = 32;
  std::vector<std::string> policies = {"streaming", "h2o", "keepkv", "zeromerge", "weightedkv", "roco", "tova", "knorm"};
  app.add_option("--steps", n_steps, "steps that are measured")->capture_default_str();
  app.add_option("--threads", n_threads, "0: one per core")->capture_default_str();
  app.add_option("--prompt", n_prompt, "tokens")->capture_default_str();
  app.add_option("--slots", slots, "of every head")->capture_default_str();
  app.add_option("--layers", n_layers)->capture_default_str();
  app.add_option("--kv-heads", n_kv_heads)->capture_default_str();
  app.add_option("--policies", policies)->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  emulator::set_idle(true);
  emulator::set_memory(std::size_t{1} << 40);
  const ModelConfig config = shape(n_layers, n_kv_heads);
  constexpr double kLimit = 13.5e9 / 4.8e12 * 1e3;  // the weights of Llama-2-7B in bf16, once, at the bandwidth of an H200
  fmt::print("{} layers, {} KV heads, {} slots; limit: {:.1f} ms, in which a device reads the weights of Llama-2-7B once\n", n_layers,
             n_kv_heads, slots, kLimit);
  const auto report = [&](const std::string& name, const Cost& c, const Cost& base) {
    fmt::print("{:<12} {:7.2f} ms a step, {:7.2f} ms of all threads, {:5.2f} of the limit; {:8.1f} ms the prompt\n", name,
               c.wall_ms - base.wall_ms, c.cpu_ms - base.cpu_ms, (c.wall_ms - base.wall_ms) / kLimit, c.prompt_ms - base.prompt_ms);
    std::fflush(stdout);
  };
  const Cost full = cost_of({}, config, n_prompt, n_steps, n_threads);
  report("full", full, {});
  fmt::print("what a lane adds to that:\n");
  for (const std::string& policy : policies)
    report(policy, cost_of({fmt::format("{}:slots={}", policy, slots)}, config, n_prompt, n_steps, n_threads), full);
}
