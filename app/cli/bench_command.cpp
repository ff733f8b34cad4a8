// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress.h"
#include "app/cli/table.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "runtime/model/devices.h"
#include "runtime/model/synthetic_model.h"
#include "runtime/session/session.h"
#include "runtime/speed.h"
#include "snapshot/number_text.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

/// One line of the result. of_limit: share of the copy bandwidth (decode) or of the rate of matrix products (prefill).
struct Row {
  std::string name, lane;
  int batch = 1, context = 0;
  double ms = 0, tokens_per_s = 0, bytes_per_token = 0, of_limit = 0;
};

constexpr int kFirstSteps = 4;  // after the prompt, not measured: memory is found in them, and a device's launches become graphs
constexpr int kSteps = 16;      // after those

struct Subject {
  std::unique_ptr<Backend> backend;
  Model model;
  std::string weights;  // types of the matrices, as the backend has them
};

std::string types_of(const Model& model) {
  std::set<DType> types = {model.lm_head.dtype};
  for (const LayerWeights& layer : model.layers)
    layer.for_each([&](const Weight& w) {
      if (w.out > 1) types.insert(w.dtype);
    });
  std::vector<std::string_view> names;
  for (const DType type : types) names.push_back(name_of(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

Subject subject_of(const Arguments& a) {
  Subject s;
  if (a.shape.empty()) {
    ModelFiles files = open_model_of(a);
    s.backend = choose_backend({.precision = a.precision, .n_threads = a.threads, .device = a.device}, files).backend;
    s.model = load_model(std::move(files), *s.backend);
    s.weights = types_of(s.model);
    return s;
  }
  ModelFiles files;
  files.config = shape_of(a.shape);
  // half the bytes where the device computes with them, or with --precision bf16; the CPU reads them as they are
  const DType type = a.weights.value_or(a.precision == DType::f16 ? DType::f16 : DType::bf16);
  const ModelConfig& c = files.config;
  files.weight_bytes = bytes_of(type, static_cast<std::size_t>(products_per_token(c) + 2.0 * c.vocab_size * c.dim));
  s.backend = choose_backend({.precision = a.precision, .n_threads = a.threads, .device = a.device}, files).backend;
  s.model = synthetic_model(c, type, *s.backend);
  s.weights = types_of(s.model);
  return s;
}

struct Contexts {
  std::vector<int> measured, left_out;
};

/// Contexts that the shape has positions for: those asked for, or a short, a middle and a long one.
Contexts contexts_of(const Arguments& a, const ModelConfig& c) {
  Contexts out;
  for (const int n : a.cache_sizes.empty() ? std::vector<int>{128, 4096, 32768} : a.cache_sizes) {
    (c.max_positions <= 0 || n < c.max_positions ? out.measured : out.left_out).push_back(n);
  }
  if (out.measured.empty()) throw UsageError(fmt::format("--context: expected fewer than the {} positions of {}", c.max_positions, c.name));
  return out;
}

std::string name_of_lanes(std::size_t n) { return n == 1 ? "1 run" : fmt::format("{} runs", n); }

/// operations: of its products.
Row row_of_prompt(std::string name, std::string lane, int context, double ms, double operations, double limit_tflops) {
  return {.name = std::move(name),
          .lane = std::move(lane),
          .context = context,
          .ms = ms,
          .tokens_per_s = context / ms * 1e3,
          .of_limit = operations / ms * 1e-9 / limit_tflops};
}

/// Of a run: those that are not measured, then those that are.
struct Steps {
  int first = 0, measured = 0;
};

/// Prompt and steps as a run has them: policies, their statistics, the records of a summary; then the steps with all that the window shows
/// of them (attention, statistics, scores, merges; no uncompressed history).
void measure_run(Session& session, std::vector<LaneSpec> lanes, int context, Steps steps, double limit_tflops, double operations,
                 int vocab_size, const CancelToken& cancel, std::vector<Row>& rows) {
  RunRequest request{.prompt_ids = measured_prompt(context, vocab_size),
                     .lanes = std::move(lanes),
                     .n_generate = 0,
                     .detail = Detail::summary,
                     .history = false,
                     .measures = MeasureSet::none()};
  const Snapshot prompt = session.run(request, cancel);
  const std::string what = name_of_lanes(prompt.lanes.size());
  rows.push_back(row_of_prompt("prefill", what, context, prompt.total_ms, operations, limit_tflops));
  const auto measure_steps = [&](const char* name) {
    request.n_generate = steps.first;
    session.run(request, cancel);
    request.n_generate += steps.measured;
    const Snapshot done = session.run(request, cancel);
    rows.push_back({.name = name,
                    .lane = what,
                    .batch = static_cast<int>(done.lanes.size()),
                    .context = context,
                    .ms = done.total_ms / steps.measured,
                    .tokens_per_s = done.tokens_per_s});
  };
  measure_steps("run");
  request.detail = Detail::why;
  request.n_generate = 0;
  session.run(request, cancel);  // the prompt again, with its records
  measure_steps("recorded run");
}

Json to_json(const std::vector<Row>& rows) {
  const auto known = [](double x) { return x > 0 ? Json(x) : Json(nullptr); };
  Json list = Json::array();
  for (const Row& r : rows)
    list.push_back({{"name", r.name},
                    {"lane", r.lane},
                    {"batch", r.batch},
                    {"context", r.context},
                    {"ms", r.ms},
                    {"tokens_per_s", r.tokens_per_s},
                    {"bytes_per_token", known(r.bytes_per_token)},
                    {"of_limit", known(r.of_limit)}});
  return list;
}

std::string to_text(const Json& j, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {{"measured", "runs", "batch", "context", "ms", "tokens/s", "bytes/token", "of limit"}};
  for (const Row& r : rows)
    cells.push_back({r.name, r.lane, std::to_string(r.batch), std::to_string(r.context), format_number(r.ms), format_number(r.tokens_per_s),
                     r.bytes_per_token > 0 ? format_bytes(r.bytes_per_token) : "", r.of_limit > 0 ? format_percent(r.of_limit) : ""});
  const auto left_out = j.at("contexts_left_out").get<std::vector<int>>();
  const std::string too_long =
      left_out.empty() ? "" : fmt::format("left out, because there are fewer positions: contexts of {}\n", fmt::join(left_out, ", "));
  return fmt::format(
      "{}, {}, weights {}, computed in {}\nlimits: copy {} GB/s (read and written), matrix products {} TFLOP/s\n{}{}"
      "decode: a step of a full cache alone, of the copy's bytes per second; reading: the prompt alone, then with sums of every kind over\n"
      "its attention; prefill, run: with runs as kvscope-cli run has them; all of the rate of matrix products; ms of run: one step of all\n"
      "runs, with a summary of it or with all that the window shows (recorded)\n",
      j.at("shape").get<std::string>(), j.at("device").get<std::string>(), j.at("weights").get<std::string>(),
      j.at("precision").get<std::string>(), format_number(j.at("limits").at("copy_GBps").get<double>()),
      format_number(j.at("limits").at("gemm_TFLOPs").get<double>()), aligned(cells, 2), too_long);
}

}  // namespace

int bench(const Arguments& a) {
  const Interrupt interrupt;
  Progress progress(a.quiet);
  progress.show("weights", 0);
  Subject s = subject_of(a);
  const ModelConfig c = s.model.config();
  const auto [contexts, left_out] = contexts_of(a, c);
  progress.show("limits", 0.1);
  const SpeedLimits limits = measure_limits(*s.backend, s.model);
  std::vector<Row> rows;
  for (const int context : contexts) {
    progress.show(fmt::format("decode at {}", context), 0.2);
    const StepSpeed speed = measure_steps(*s.backend, s.model, a.batch, context, interrupt.token());
    rows.push_back({.name = "decode",
                    .lane = "full",
                    .batch = a.batch,
                    .context = context,
                    .ms = speed.ms,
                    .tokens_per_s = speed.tokens_per_s,
                    .bytes_per_token = speed.bytes / a.batch,
                    .of_limit = speed.bytes / (speed.ms * 1e-3) * 1e-9 / limits.copy_gb_per_s});
  }
  Json document{{"schema", "kvscope.bench/1"},
                {"device", s.backend->name()},
                {"shape", a.shape.empty() ? c.name : a.shape},
                {"precision", name_of(s.backend->dtype())},
                {"weights", s.weights},
                {"limits", {{"copy_GBps", limits.copy_gb_per_s}, {"gemm_TFLOPs", limits.products_tflops}}}};
  document["contexts_left_out"] = left_out;
  // with lanes: the middle context, or the only one; as many steps as there are positions for
  const int context = std::min(contexts[contexts.size() / 2], 4096);
  const int room = c.max_positions > 0 ? c.max_positions - context : kFirstSteps + kSteps;
  const int first_steps = std::clamp(room - 1, 0, kFirstSteps);
  const Steps steps{first_steps, std::min(kSteps, room - first_steps)};
  const double operations = reading_operations(s.model, context);
  for (const auto& [name, statistics] : {std::pair{"reading", ReadingSums::none}, std::pair{"with statistics", ReadingSums::of_columns}}) {
    progress.show(name, 0.4);
    const double ms = measure_reading(*s.backend, s.model, context, statistics, interrupt.token());
    rows.push_back(row_of_prompt(name, "none", context, ms, operations, limits.products_tflops));
  }
  Session session(std::move(s.backend), std::move(s.model));
  progress.show("one run", 0.5);
  measure_run(session, parse_lane_specs({reference_policy()}), context, steps, limits.products_tflops, operations, c.vocab_size,
              interrupt.token(), rows);
  if (!a.lanes.empty()) {
    progress.show("all runs", 0.7);
    measure_run(session, a.lanes, context, steps, limits.products_tflops, operations, c.vocab_size, interrupt.token(), rows);
  }
  document["rows"] = to_json(rows);
  return print(a.json ? document.dump() + "\n" : to_text(document, rows));
}

}  // namespace kvscope::cli
