// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include <fmt/core.h>

#include "core/error.h"
#include "core/from_chars.h"
#include "io/spill_file.h"
#include "trace/step_writer.h"
#include "trace/token_text.h"

namespace kvscope {

namespace {

/// What became of steps before the rest of their trace was written.
struct WrittenSteps {
  std::deque<SpillFile> lanes;  // the value of "steps" of each
  std::set<int> candidates;
  std::set<std::string> warnings;
};

constexpr std::size_t kPiece = std::size_t{1} << 20;

/// Writes one snapshot.
class Writer {
 public:
  /// steps: nullptr: the snapshot has them.
  Writer(const Snapshot& snapshot, const TraceOptions& options, const WrittenSteps* steps, const TakesText& take)
      : snapshot_(snapshot), options_(options), written_(steps), take_(take) {
    if (steps != nullptr) json_.warnings = steps->warnings;
  }

  void write();

 private:
  void model();
  void tokens();
  void candidates();
  std::set<int> candidate_ids() const;
  void lane(std::size_t index);
  void steps(std::size_t lane);
  /// What is written so far goes out, so that it does not have to be held.
  void write_out() { take_(json_.take()); }

  const Snapshot& snapshot_;
  const TraceOptions& options_;
  const WrittenSteps* const written_;
  const TakesText& take_;
  TraceJson json_;
};

std::string device_kind(const std::string& device) { return device.substr(0, device.find(',')); }

void Writer::write() {
  const Snapshot& s = snapshot_;
  json_.begin_object().member("schema", "kvscope.trace/1");
  model();
  json_.member("device", device_kind(s.device))
      .member("precision", s.precision)
      .member("prompt_mode", s.prefill_mode ? "prefill" : "stream");
  json_.member("follow", s.follow).member("seed", static_cast<unsigned long long>(options_.seed));
  if (!std::isnan(s.temperature)) json_.member("temperature", s.temperature);
  tokens();
  if (options_.detail == Detail::why) json_.member("detail", "why");
  json_.member("shadow", s.history).member("prompt", s.prompt);
  json_.key("lanes").begin_array(/*lines=*/true);
  for (std::size_t l = 0; l < s.lanes.size(); ++l) lane(l);
  json_.end_array();
  if (!s.notice.empty()) json_.warnings.insert(s.notice);
  for (std::size_t l = 0; l < s.lanes.size(); ++l) {
    for (const LaneWarning& w : s.lanes[l].warnings) json_.warnings.insert(fmt::format("run {} ({}): {}", l, s.lanes[l].spec, text_of(w)));
  }
  if (!json_.warnings.empty()) {
    json_.key("warnings").begin_array();
    for (const std::string& w : json_.warnings) json_.value(w);
    json_.end_array();
  }
  json_.end_object();
  write_out();
  take_("\n");
}

void Writer::model() {
  const ModelConfig& m = snapshot_.model;
  json_.key("model")
      .begin_object()
      .member("name", m.name)
      .member("arch", m.arch)
      .member("n_layers", m.n_layers)
      .member("n_heads", m.n_heads);
  json_.member("n_kv_heads", m.n_kv_heads).member("head_dim", m.head_dim).member("vocab_size", m.vocab_size);
  if (std::ranges::any_of(m.layers, [](const LayerConfig& l) { return l.window > 0; })) {
    json_.key("windows").begin_array();
    for (const LayerConfig& layer : m.layers) json_.value(layer.window);
    json_.end_array();
  }
  json_.member("dim", m.dim).member("hidden_dim", m.hidden_dim).member("max_positions", m.max_positions).member("bos_id", m.bos_id);
  json_.member("eos_id", m.eos_id);
  json_.key("weight_bytes");
  json_.number(snapshot_.weight_bytes, "weight_bytes");
  json_.end_object();
}

void Writer::tokens() {
  json_.key("tokens").begin_array();
  for (const TokenInfo& t : snapshot_.tokens) json_.value(t.id);
  json_.end_array().member("n_prompt", snapshot_.n_prompt);
  json_.key("token_texts").begin_array();
  for (const TokenInfo& t : snapshot_.tokens) write_token_text(json_, t);
  json_.end_array().key("token_ranges").begin_array();
  for (const TokenInfo& t : snapshot_.tokens) json_.begin_array().value(t.text_begin).value(t.text_end).end_array();
  json_.end_array();
  candidates();
}

std::set<int> Writer::candidate_ids() const {
  if (written_ != nullptr) return written_->candidates;
  std::set<int> ids;
  for (const LaneSnapshot& l : snapshot_.lanes) {
    for (const StepPtr& s : l.steps) {
      for (const TopToken& t : s->top_tokens) ids.insert(t.id);
      ids.insert({s->next_token, s->top1});
    }
  }
  return ids;
}

/// Texts of the tokens that were likely somewhere or that a run was fed, for readers without the tokenizer: [id, text], ids ascending.
void Writer::candidates() {
  if (snapshot_.vocabulary == nullptr) return;
  json_.key("candidate_texts").begin_array();
  for (const int id : candidate_ids()) {
    if (id < 0 || id >= static_cast<int>(snapshot_.vocabulary->size())) continue;
    const TokenInfo& token = (*snapshot_.vocabulary)[static_cast<std::size_t>(id)];
    if (token.id != id) continue;  // not known here either
    json_.begin_array().value(id);
    write_token_text(json_, token);
    json_.end_array();
  }
  json_.end_array();
}

void Writer::lane(std::size_t index) {
  const LaneSnapshot& lane = snapshot_.lanes[index];
  json_.begin_object().member("spec", lane.spec).member("policy", lane.policy).key("params").begin_object();
  for (const ParamText& p : lane.params) {
    json_.key(p.key);
    if (const auto whole = number_from<int>(p.value)) {
      json_.value(*whole);
    } else if (const auto real = number_from<double>(p.value); real && std::isfinite(*real)) {
      json_.value(*real);
    } else {
      json_.value(p.value);
    }
  }
  json_.end_object();
  json_.member("title", lane.title).member("sinks", lane.sinks).member("slots_asked", lane.slots_asked);
  if (!lane.looks_at.empty()) json_.member("looks_at", lane.looks_at);
  json_.member("sees_question", lane.sees_question).member("statistic", lane.statistic).key("half_life");
  json_.optional_number(lane.half_life, "half_life");
  if (!lane.head_params.empty()) {
    json_.key("head_params").begin_array();
    for (const HeadParam& p : lane.head_params)
      json_.begin_object().member("layer", p.layer).member("kv_head", p.kv_head).member("key", p.key).member("value", p.value).end_object();
    json_.end_array();
  }
  if (!lane.score_equation.empty()) json_.member("score_equation", lane.score_equation);
  if (!lane.stored_as.empty()) json_.member("stored_as", lane.stored_as);
  json_.key("kv_bytes");
  json_.number(lane.kv_bytes, "kv_bytes");
  json_.key("bytes");
  json_.number(lane.bytes, "bytes");
  json_.key("slots");
  json_.number(lane.slots, "slots");
  json_.key("warnings").begin_array();
  for (const LaneWarning& w : lane.warnings) {
    json_.begin_object().member("kind", name_of(w.kind)).member("count", w.count).member("asked", w.asked).member("got", w.got);
    json_.member("n_heads", w.n_heads).end_object();
  }
  json_.end_array();
  json_.key("steps");
  steps(index);
  json_.end_object();
}

void Writer::steps(std::size_t lane) {
  const auto check = [this] {
    if (options_.cancel != nullptr) options_.cancel->check();
  };
  if (written_ != nullptr) {
    json_.elsewhere();
    write_out();
    written_->lanes[lane].read([&](std::string_view piece) {
      check();
      take_(piece);
    });
    return;
  }
  StepWriter step(json_, options_.detail, snapshot_.measures.theta);
  json_.begin_array(/*lines=*/true);
  for (const StepPtr& s : snapshot_.lanes[lane].steps) {
    check();
    step.write(*s);
    if (json_.text().size() >= kPiece) write_out();
  }
  json_.end_array();
}

}  // namespace

std::string trace_text(const Snapshot& snapshot, const TraceOptions& options) {
  std::string text;
  write_trace(snapshot, options, [&text](std::string_view piece) { text += piece; });
  return text;
}

void write_trace(const Snapshot& snapshot, const TraceOptions& options, const TakesText& take) {
  Writer(snapshot, options, nullptr, take).write();
}

struct TraceStream::Impl {
  TraceOptions options;
  MeasureSet measures;
  std::string folder;
  WrittenSteps steps;
  std::deque<TraceJson> open;  // of every lane
};

TraceStream::TraceStream(const TraceOptions& options, const MeasureSet& measures, std::string folder)
    : impl_(std::make_unique<Impl>(Impl{.options = options, .measures = measures, .folder = std::move(folder), .steps = {}, .open = {}})) {}
TraceStream::~TraceStream() = default;

void TraceStream::take(int lane, const StepRecord& step) {
  Impl& d = *impl_;
  while (static_cast<int>(d.open.size()) <= lane) {
    d.steps.lanes.emplace_back(d.folder);
    d.open.emplace_back().begin_array(/*lines=*/true);
  }
  const auto l = static_cast<std::size_t>(lane);
  TraceJson& json = d.open[l];
  StepWriter(json, d.options.detail, d.measures.theta).write(step);
  for (const TopToken& t : step.top_tokens) d.steps.candidates.insert(t.id);
  d.steps.candidates.insert({step.next_token, step.top1});
  if (json.text().size() >= kPiece) d.steps.lanes[l].append(json.take());
}

void TraceStream::finish(const Snapshot& snapshot, const TakesText& take) {
  Impl& d = *impl_;
  KVSCOPE_ASSERT(snapshot.lanes.size() == d.open.size());
  for (std::size_t l = 0; l < d.open.size(); ++l) {
    d.steps.lanes[l].append(d.open[l].end_array().take());
    d.steps.warnings.merge(d.open[l].warnings);
  }
  Writer(snapshot, d.options, &d.steps, take).write();
}

std::string name_of(Detail detail) {
  switch (detail) {
    case Detail::summary:
      return "summary";
    case Detail::events:
      return "events";
    case Detail::slots:
      return "slots";
    case Detail::why:
      return "why";
  }
  KVSCOPE_ASSERT(false);
}

}  // namespace kvscope
