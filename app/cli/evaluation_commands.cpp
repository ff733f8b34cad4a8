// SPDX-License-Identifier: Apache-2.0
// Figures over many runs: hidden numbers, the perplexity of a text.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/haystack.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_number.h"
#include "app/cli/lane_warnings.h"
#include "app/cli/needle_texts.h"
#include "app/cli/progress.h"
#include "app/cli/table.h"
#include "core/error.h"
#include "io/files.h"
#include "runtime/session/session.h"
#include "snapshot/number_text.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

SessionOptions options_of(const Arguments& a) { return {.precision = a.precision, .n_threads = a.threads, .device = a.device}; }

/// Lanes on given tokens after a given prompt, nothing measured but what the distributions say.
RunRequest teacher_forcing(const Arguments& a) {
  RunRequest request;
  request.lanes = a.lanes;
  request.mode = a.prompt_mode;
  request.follow = Follow::file;
  request.n_generate = -1;
  request.seed = a.seed;
  request.detail = Detail::summary;
  request.history = false;
  request.measures = MeasureSet::none();
  return request;
}

/// Step whose distribution is that of the i-th token after the prompt.
const StepRecord& step_before(const Snapshot& snapshot, const LaneSnapshot& lane, int i) {
  const auto step = static_cast<std::size_t>(snapshot.prefill_mode ? i : snapshot.n_prompt - 1 + i);
  if (step >= lane.steps.size())
    throw Error(fmt::format("{}: expected {} steps, got {}: {}", lane.spec, step + 1, lane.steps.size(), snapshot.notice));
  return *lane.steps[step];
}

// ---- needle

bool recalled(const Snapshot& snapshot, const LaneSnapshot& lane, const AskedText& sample) {
  const int n = static_cast<int>(sample.follow_ids.size());
  for (int i = n - sample.n_answer; i < n; ++i)
    if (step_before(snapshot, lane, i).top1 != sample.follow_ids[static_cast<std::size_t>(i)]) return false;
  return true;
}

void write_texts(const std::string& path, const std::string& model, const std::vector<AskedText>& texts) {
  if (path.empty()) return;
  const Interrupt::Critical writing;
  write_atomically(path, asked_texts_json(model, texts));
}

}  // namespace

int needle(const Arguments& a) {
  check_targets(a, {{"--out-texts", a.out_texts}});
  const Interrupt interrupt;
  ModelFiles model = open_model_of(a);
  const std::string name = model.config.name;
  const Haystack haystack(model, prose_of(a, model, "needle"));
  struct Cell {
    int context;
    double depth;
    std::vector<int> recalled = {};  // by lane
  };
  std::vector<Cell> cells;
  for (const int context : a.contexts)
    for (const double depth : a.depths) cells.push_back({context, depth});
  const std::vector<AskedText> samples = haystack.samples(a, a.question_in_prompt, interrupt.token());
  write_texts(a.out_texts, name, samples);
  Session session(open_model_of(a), options_of(a));
  RunRequest request = teacher_forcing(a);
  std::vector<std::string> specs, policies;
  LaneWarnings warnings;
  {
    Progress progress(a.quiet);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      request.prompt_ids = samples[i].prompt_ids;
      request.follow_ids = samples[i].follow_ids;
      const Snapshot snapshot = session.run(request, interrupt.token(), [&](const std::string&, double fraction) {
        progress.show("texts with a hidden number", (static_cast<double>(i) + fraction) / static_cast<double>(samples.size()));
      });
      Cell& cell = cells[i / static_cast<std::size_t>(a.samples)];
      cell.recalled.resize(snapshot.lanes.size());
      specs.clear();
      policies.clear();
      for (std::size_t l = 0; l < snapshot.lanes.size(); ++l) {
        specs.push_back(snapshot.lanes[l].spec);
        policies.push_back(snapshot.lanes[l].policy);
        warnings.add(snapshot.lanes[l].spec, snapshot.lanes[l].warnings);
        cell.recalled[l] += recalled(snapshot, snapshot.lanes[l], samples[i]);
      }
    }
  }
  const char* question = a.question_in_prompt ? "in-prompt" : "after";
  if (a.json) {
    Json list = Json::array();
    for (std::size_t l = 0; l < specs.size(); ++l)
      for (const Cell& cell : cells)
        list.push_back({{"spec", specs[l]},
                        {"policy", policies[l]},
                        {"context", cell.context},
                        {"depth", cell.depth},
                        {"question", question},
                        {"samples", a.samples},
                        {"recall", static_cast<double>(cell.recalled[l]) / a.samples}});
    return print(Json{{"schema", "kvscope.needle/1"}, {"cells", std::move(list)}, {"warnings", warnings.all()}}.dump() + "\n");
  }
  std::vector<std::vector<std::string>> rows = {{"run", "context"}};
  for (const double depth : a.depths) rows[0].push_back(fmt::format("depth {:g}", depth));
  rows[0].push_back("all");
  for (std::size_t l = 0; l < specs.size(); ++l) {
    for (std::size_t c = 0; c < a.contexts.size(); ++c) {
      rows.push_back({specs[l], std::to_string(a.contexts[c])});
      int total = 0;
      for (std::size_t d = 0; d < a.depths.size(); ++d) {
        const int n = cells[c * a.depths.size() + d].recalled[l];
        total += n;
        rows.back().push_back(format_percent(static_cast<double>(n) / a.samples));
      }
      rows.back().push_back(format_percent(total / (a.samples * static_cast<double>(a.depths.size()))));
    }
  }
  std::string text = aligned(rows, 1);
  if (!a.quiet) text = fmt::format("{}, question {}, {} texts per cell: share of whole answers\n", name, question, a.samples) + text;
  for (const std::string& warning : warnings.all()) text += warning + "\n";
  return print(text);
}

constexpr int kWindow = 1024;  // of ppl, and half of it counts; less where the model was made for less

int ppl(const Arguments& a) {
  const Interrupt interrupt;
  ModelFiles model = open_model_of(a);
  const std::string text = prose_of(a, model, "ppl"), name = model.config.name;
  const int bos = model.config.bos_id;
  const int most = model.config.max_positions > 0 ? model.config.max_positions : std::numeric_limits<int>::max();
  const int window = a.window > 0 ? a.window : std::min(kWindow, most), stride = a.stride > 0 ? a.stride : window / 2;
  if (window > most)
    throw UsageError(fmt::format("ppl: --window {}: {} was made for {} positions; take a window of at most {}", window, name, most, most));
  if (stride >= window) throw UsageError(fmt::format("ppl: expected a --stride below the --window of {} tokens, got {}", window, stride));
  std::vector<int> ids =
      a.tokens > 0 ? ids_of(model.tokenizer->tokens_up_to(text, static_cast<std::size_t>(a.tokens))) : model.tokenizer->encode(text);
  if (a.tokens > 0 && ids.size() > static_cast<std::size_t>(a.tokens)) ids.resize(static_cast<std::size_t>(a.tokens));
  const int n_ids = static_cast<int>(ids.size()), n_first = bos >= 0 ? 1 : 0;
  const int n_prompt = window - stride - n_first;  // tokens of the text in the prompt
  const int windows = n_prompt > 0 ? (n_ids - n_prompt) / stride : n_ids / stride;
  if (windows < 1)
    throw UsageError(
        fmt::format("ppl: expected a text of at least one window of {} tokens, got {} tokens; take a longer text or a smaller --window",
                    window, n_ids));
  if (n_prompt + n_first < 1) throw UsageError("ppl: expected a prompt of at least one token, got none; make --stride smaller");
  Session session(std::move(model), options_of(a));
  RunRequest request = teacher_forcing(a);
  std::vector<double> nll;
  std::vector<std::string> specs, policies;
  LaneWarnings warnings;
  {
    Progress progress(a.quiet);
    for (int w = 0; w < windows; ++w) {
      const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(w) * stride, middle = begin + std::max(n_prompt, 0);
      request.prompt_ids.assign(begin, middle);
      if (bos >= 0) request.prompt_ids.insert(request.prompt_ids.begin(), bos);
      request.follow_ids.assign(middle, middle + stride);
      const Snapshot snapshot = session.run(request, interrupt.token(), [&](const std::string&, double fraction) {
        progress.show(fmt::format("window {} of {}", w + 1, windows), (w + fraction) / windows);
      });
      nll.resize(snapshot.lanes.size());
      specs.clear();
      policies.clear();
      for (std::size_t l = 0; l < snapshot.lanes.size(); ++l) {
        specs.push_back(snapshot.lanes[l].spec);
        policies.push_back(snapshot.lanes[l].policy);
        warnings.add(snapshot.lanes[l].spec, snapshot.lanes[l].warnings);
        for (int i = 0; i < stride; ++i) nll[l] += step_before(snapshot, snapshot.lanes[l], i).nll;
      }
    }
  }
  const double tokens = static_cast<double>(windows) * stride;
  for (double& x : nll) x /= tokens;
  if (a.json) {
    Json list = Json::array();
    for (std::size_t l = 0; l < specs.size(); ++l)
      list.push_back({{"spec", specs[l]},
                      {"policy", policies[l]},
                      {"tokens", std::int64_t(windows) * stride},
                      {"nll", number(nll[l])},
                      {"ppl", number(std::exp(nll[l]))},
                      {"warnings", warnings.of(specs[l])}});
    return print(Json{{"schema", "kvscope.ppl/1"}, {"lanes", std::move(list)}}.dump() + "\n");
  }
  std::vector<std::vector<std::string>> rows = {{"run", "tokens", "nll", "ppl"}};
  for (std::size_t l = 0; l < specs.size(); ++l)
    rows.push_back({specs[l], format_count(static_cast<std::int64_t>(tokens)), format_number(nll[l]), format_number(std::exp(nll[l]))});
  std::string out = aligned(rows, 1);
  if (!a.quiet) out = fmt::format("{}, windows of {} tokens, of which {} count\n", name, window, stride) + out;
  for (const std::string& warning : warnings.all()) out += warning + "\n";
  return print(out);
}

}  // namespace kvscope::cli
