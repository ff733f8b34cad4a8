// SPDX-License-Identifier: Apache-2.0
// What the host does in a decode step on a CUDA device: the whole engine with its CUDA backend, on an emulation that runs no kernel. Its
// results are zeros, so a policy's decisions mean nothing; how many there are is as in a real run. Prints ms a step and what was asked of
// the device.
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
  c.vocab_size = 32000;
  c.max_positions = 1 << 20;
  return c;
}

struct Cost {
  double wall_ms = 0, cpu_ms = 0;    // a step
  double prompt_ms = 0;              // the whole prompt, read when memory has been found
  double first_ms = 0;               // the first steps together, beyond as many of the others
  emulator::Requests a_step, first;  // of the last step, of the first ones
};

emulator::Requests since(const emulator::Requests& before) {
  const emulator::Requests now = emulator::requests();
  return {now.alone - before.alone,
          now.graphs - before.graphs,
          now.graphs_made - before.graphs_made,
          now.uploads - before.uploads,
          now.downloads - before.downloads,
          now.waits - before.waits,
          now.event_waits - before.event_waits,
          now.allocations - before.allocations,
          now.pinned - before.pinned};
}

struct Case {
  std::vector<std::string> lanes;
  Detail detail = Detail::summary;
  int n_prompt = 0, n_steps = 0, n_threads = 0;
};

/// Where the device says which slots of full caches went: in every step those of its own token.
void let_newest_go(const ModelConfig& config, int n_prompt) {
  const auto n_heads = static_cast<std::size_t>(config.n_layers) * static_cast<std::size_t>(config.n_kv_heads);
  emulator::set_answer([n_heads, pos = n_prompt](void* data, std::size_t bytes) mutable {
    if (bytes != n_heads * sizeof(Displaced)) return;
    auto* const went = static_cast<Displaced*>(data);
    for (std::size_t h = 0; h < n_heads; ++h) went[h].pos = pos;
    ++pos;
  });
}

Cost cost_of(const Case& of, const ModelConfig& config) {
  auto backend = cuda::make(DType::bf16, config, {.n_threads = of.n_threads});
  Model model = synthetic_model(config, DType::bf16, *backend);
  Session session(std::move(backend), std::move(model));
  RunRequest request;
  for (int i = 0; i < of.n_prompt; ++i) request.prompt_ids.push_back(i % 60);
  request.lanes = parse_lane_specs(of.lanes);
  request.detail = of.detail;
  request.history = false;
  request.measures = MeasureSet::none();
  session.run(request, CancelToken());
  Cost cost;
  let_newest_go(config, of.n_prompt);
  request.prompt_ids[0] = 61;  // another prompt, with the memory of this one
  const auto prompt = Clock::now();
  session.run(request, CancelToken());
  cost.prompt_ms = std::chrono::duration<double, std::milli>(Clock::now() - prompt).count();
  const auto ms_of = [&](int n) {
    request.n_generate += n;
    const auto start = Clock::now();
    session.run(request, CancelToken());
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  constexpr int kFirst = 10;  // memory is found in these
  emulator::Requests before = emulator::requests();
  const double first_ms = ms_of(kFirst);
  cost.first = since(before);
  const std::clock_t cpu = std::clock();
  cost.wall_ms = ms_of(of.n_steps) / of.n_steps;
  cost.cpu_ms = static_cast<double>(std::clock() - cpu) * 1e3 / CLOCKS_PER_SEC / of.n_steps;
  cost.first_ms = first_ms - kFirst * cost.wall_ms;
  before = emulator::requests();
  ms_of(1);
  cost.a_step = since(before);
  return cost;
}

std::string with_slots(const std::string& spec, int slots) {
  return fmt::format("{}{}slots={}", spec, spec.find(':') == std::string::npos ? ":" : ",", slots);
}

void print(const std::string& name, const Cost& c, const Cost& base) {
  const auto requests = [](const emulator::Requests& r) {
    return fmt::format("{} launches, {} graphs, {} uploads, {} downloads, {} + {} waits", r.alone, r.graphs, r.uploads, r.downloads,
                       r.waits, r.event_waits);
  };
  fmt::print("{:<12} {:6.2f} ms, {:6.2f} of all threads; {}\n", name, c.wall_ms - base.wall_ms, c.cpu_ms - base.cpu_ms, requests(c.a_step));
  fmt::print("{:>22.2f} ms more in the first ten; {}, {} graphs made, {} allocations, {} page-locked; {:.1f} ms the prompt\n", c.first_ms,
             requests(c.first), c.first.graphs_made, c.first.allocations, c.first.pinned, c.prompt_ms - base.prompt_ms);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What the host does in a decode step on a CUDA device");
  bool why = false;
  int together = 0, n_steps = 90, n_threads = 0, n_prompt = 1000, slots = 820, n_layers = 32, n_kv_heads = 32;
  std::vector<std::string> policies = {"streaming", "h2o", "keepkv:threshold=0", "zeromerge", "weightedkv", "roco", "tova", "knorm"};
  app.add_option("--steps", n_steps, "steps that are measured")->capture_default_str();
  app.add_option("--threads", n_threads, "0: one per core")->capture_default_str();
  app.add_option("--prompt", n_prompt, "tokens")->capture_default_str();
  app.add_option("--slots", slots, "of every head")->capture_default_str();
  app.add_option("--layers", n_layers)->capture_default_str();
  app.add_option("--kv-heads", n_kv_heads)->capture_default_str();
  app.add_option("--policies", policies)->delimiter(',');
  app.add_option("--together", together, "runs at the same time, of these policies in turn")->capture_default_str();
  app.add_flag("--why", why, "the full cache with all records, too");
  CLI11_PARSE(app, argc, argv);
  emulator::set_idle(true);
  emulator::set_memory(std::size_t{1} << 40);
  const ModelConfig config = shape(n_layers, n_kv_heads);
  fmt::print(
      "{} layers, {} KV heads, {} slots of {} tokens; a step on the host, waits for the stream + for events; a device would read\n"
      "the weights of Llama-2-7B once in 2.8 ms\n",
      n_layers, n_kv_heads, slots, n_prompt);
  Case of{.n_prompt = n_prompt, .n_steps = n_steps, .n_threads = n_threads};
  const Cost full = cost_of(of, config);
  print("full", full, {});
  of.detail = Detail::why;
  if (why) print("full, why", cost_of(of, config), {});
  of.detail = Detail::summary;
  fmt::print("what a run adds to that:\n");
  for (const std::string& policy : policies) {
    of.lanes = {with_slots(policy, slots)};
    print(policy, cost_of(of, config), full);
  }
  of.lanes.clear();
  for (int i = 0; i < together; ++i) of.lanes.push_back(with_slots(policies[static_cast<std::size_t>(i) % policies.size()], slots + i));
  if (together > 0) print(fmt::format("{} runs", together), cost_of(of, config), full);
}
