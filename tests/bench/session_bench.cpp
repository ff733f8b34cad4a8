// SPDX-License-Identifier: Apache-2.0
// Live loop of the explorer on the embedded model: edits, added lanes, steps of many lanes. Prints each figure with its limit.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "policy/catalog.h"
#include "runtime/runner.h"
#include "runtime/session.h"

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

std::string text_of(const Session& session, int n_tokens) {
  std::string text;
  const std::string sentence = "The old man walked slowly along the shore and looked at the grey water, thinking of the ship that had left. ";
  while (static_cast<int>(session.tokenizer().encode(text).size()) < n_tokens) text += sentence;
  return text;
}

/// The first n lanes of a fixed list at a ratio, beside the full cache.
std::vector<std::string> lanes(int n, const std::string& ratio) {
  std::vector<std::string> out;
  for (const char* name : {"streaming", "h2o", "keepkv", "snapkv", "weightedkv", "zeromerge", "kvmerger"}) {
    if (static_cast<int>(out.size()) < n) out.push_back(std::string(name) + ":ratio=" + ratio);
  }
  return out;
}

/// Keystrokes in a 512-token prompt, the full cache and three more lanes, shadow on, everything recorded.
void bench_edits(Session& session) {
  RunRequest request;
  request.lanes = lanes(3, "0.25");
  const std::string text = text_of(session, 505);
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
  report("key in the middle of a 512-token prompt, 4 lanes", ms, 100);
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
  for (int i = 0; i < 40; ++i) {
    request.lanes.back() = with_param(request.lanes.back(), "slots", std::to_string(50 + 10 * i));
    started = Clock::now();
    session.run(request, never);
    ms.push_back(ms_since(started));
  }
  report("budget of one lane moved", ms, 33);
}

/// Decode steps at 480 tokens: the full cache alone, with one more lane, with seven more. Interleaved, so that they meet the same machine.
void bench_steps(const std::string& folder, int rounds) {
  const CancelToken never;
  constexpr int kMore[] = {0, 1, 7};
  std::vector<double> ms[3];
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 3; ++i) {
      Session fresh(open_model(folder), {.precision = DType::f32});
      RunRequest request;
      request.prompt = text_of(fresh, 480);
      request.lanes = lanes(kMore[i], "0.2");
      request.detail = Detail::slots;
      request.measures = MeasureSet::none();
      fresh.run(request, never);
      request.n_generate = 64;
      const Snapshot out = fresh.run(request, never);
      for (std::size_t s = 2; s < out.lanes[0].steps.size(); ++s) ms[i].push_back(out.lanes[0].steps[s]->ms);
    }
  }
  report("step of the full cache alone, 480 tokens", ms[0], 0);
  report("step of it and one lane at ratio 0.2", ms[1], 0);
  report("step of it and 7 lanes at ratio 0.2", ms[2], 0);
  for (const double q : {0.5, 0.0}) {
    fmt::print("{:<58} {:.2f}x of one lane's step, {:.2f}x of two lanes' (limit 3), {}\n", "8 lanes", quantile(ms[2], q) / quantile(ms[0], q),
               quantile(ms[2], q) / quantile(ms[1], q), q > 0 ? "medians" : "minima");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = KVSCOPE_SOURCE_DIR "/assets/models/kvmini", only;
  int rounds = 5;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--model") {
      folder = value;
    } else if (key == "--only" && (value == "edits" || value == "steps")) {
      only = value;
    } else if (key == "--rounds" && std::atoi(value.c_str()) > 0) {
      rounds = std::atoi(value.c_str());
    } else {
      fmt::print(stderr, "session_bench [--model FOLDER] [--only edits|steps] [--rounds N]; got {} {}\n", key, value);
      return 1;
    }
  }
  const auto started = Clock::now();
  Session session(open_model(folder), {.precision = DType::f32});
  fmt::print("{} on {}; model opened in {:.1f} ms\n", session.config().name, session.device_name(), ms_since(started));
  if (only != "steps") bench_edits(session);
  if (only != "edits") bench_steps(folder, rounds);
  return 0;
}
