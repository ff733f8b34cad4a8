// SPDX-License-Identifier: Apache-2.0
// Memory of recorded results: bytes per (token, KV head, step) as measured on the embedded model, and what that comes to, computed, for the
// shapes of published models.
#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/byte_size.h"
#include "memory/counted_new.h"
#include "paths.h"
#include "policy/catalog.h"
#include "runtime/runs.h"
#include "runtime/session/run_memory.h"
#include "snapshot/held_bytes.h"

namespace {

using namespace kvscope;

constexpr double kRatio = 0.2;

void measure(Detail detail, const char* name, int n_tokens) {
  Session session = kvscope::testing::open_session(kvscope::testing::embedded_model(), DType::f32, 0);
  RunRequest request;
  request.prompt_ids = kvscope::testing::random_ids(n_tokens, session.config().vocab_size, 1);
  request.lanes = parse_lane_specs({fmt::format("h2o:ratio={}", kRatio)});
  request.mode = PromptMode::stream;
  request.detail = detail;
  const long long before = kvscope::testing::live_bytes;
  const Snapshot out = kvscope::testing::run(session, request);
  const double all = static_cast<double>(kvscope::testing::live_bytes - before);
  const int n_heads = session.config().n_layers * session.config().n_kv_heads;
  const double seen = 0.5 * n_tokens * (n_tokens + 1) * n_heads;
  double records = 0;
  for (const LaneSnapshot& lane : out.lanes) {
    const bool full = lane.slots_asked < 0;
    const double computed = record_bytes({.n_heads = n_heads,
                                          .first = 1,
                                          .last = n_tokens,
                                          .slots = full ? -1 : kRatio * n_tokens,
                                          .compresses = !full,
                                          .statistic = !full,
                                          .agreement = request.measures.agreement,
                                          .detail = detail});
    const double held = held_bytes(std::span(&lane, 1));
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} |\n", name, n_tokens, lane.policy, held / seen, computed / seen);
    records += held;
  }
  fmt::print("| {} | {} | all that lives, of it not records | {} | {} |\n", name, n_tokens, size_text(all), size_text(all - records));
}

struct Shape {
  const char* name;
  int n_layers, n_kv_heads, head_dim;
};

void compute(const Shape& shape) {
  const int n_heads = shape.n_layers * shape.n_kv_heads;
  for (const int n : {2048, 8192, 32768}) {
    const auto of = [&](bool compresses, Detail detail, int first) {
      return record_bytes({.n_heads = n_heads,
                           .first = first,
                           .last = n,
                           .slots = compresses ? kRatio * n : -1,
                           .compresses = compresses,
                           .statistic = compresses,
                           .agreement = false,
                           .detail = detail});
    };
    const auto both = [&](Detail detail, int first) { return of(false, detail, first) + of(true, detail, first); };
    const double cache = 2.0 * 2 * n * n_heads * shape.head_dim;
    fmt::print("| {} | {}K | {} | {} | {} | {} |\n", shape.name, n / 1024, size_text((1 + kRatio) * cache),
               size_text(both(Detail::why, n - 255)), size_text(both(Detail::why, 1)), size_text(both(Detail::events, 1)));
  }
}

}  // namespace

int main() {
  fmt::print("| records | tokens, stream | run | measured, bytes per (token, KV head, step) | computed |\n|---|---:|---|---:|---:|\n");
  for (const int n : {200, 400, 800}) measure(Detail::why, "why", n);
  measure(Detail::slots, "slots", 400);
  measure(Detail::events, "events", 400);
  fmt::print("\nThe full cache beside h2o at ratio {}; keys and values of 16 bits.\n\n", kRatio);
  fmt::print(
      "| shape | text | keys and values | records, 256 steps after a prompt | records of every step | of these, figures only |\n"
      "|---|---:|---:|---:|---:|---:|\n");
  for (const Shape& shape : {Shape{"TinyLlama 1.1B", 22, 4, 64}, Shape{"Llama 3.2 1B", 16, 8, 64}, Shape{"Llama 3.1 8B", 32, 8, 128}})
    compute(shape);
  return 0;
}
