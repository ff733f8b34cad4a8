// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_writer.h"

#include <charconv>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "core/error.h"
#include "core/from_chars.h"
#include "trace/json_text.h"
#include "trace/token_text.h"

namespace kvscope {

namespace {

/// Writes one snapshot. `warnings_` collects sentences about fields that had to be null.
class Writer {
 public:
  Writer(const Snapshot& snapshot, const TraceOptions& options)
      : snapshot_(snapshot), options_(options), shown_(options.for_window || options.detail == Detail::why),
        why_(options.detail == Detail::why) {}

  std::string write();

 private:
  void model();
  void tokens();
  void candidates();
  void lane(const LaneSnapshot& lane);
  void step(const StepRecord& step);
  void logits(const StepRecord& step);
  void head(const HeadRecord& head);
  void head_why(const HeadRecord& head);
  void event(const Event& event);
  void merge(const MergeDetail& merge);

  /// A number that must be there: null and a warning if it is not finite.
  void number(double value, const char* what) {
    if (std::isfinite(value)) {
      json_.value(value);
    } else {
      json_.null();
      warnings_.insert(std::string(what) + " was not measured or not a finite number in at least one place");
    }
  }
  /// A number that may be missing (NaN): then null and no word about it.
  void optional_number(double value, const char* what) {
    if (std::isnan(value)) {
      json_.null();
    } else {
      number(value, what);
    }
  }
  void numbers(std::span<const double> values, const char* what) {
    json_.begin_array();
    for (const double v : values) optional_number(v, what);
    json_.end_array();
  }

  const Snapshot& snapshot_;
  const TraceOptions& options_;
  const bool shown_;  // what read_trace() needs to give back what the window shows of texts, lanes and steps
  const bool why_;    // and of single slots
  JsonText json_;
  std::set<std::string> warnings_;
};

std::string device_kind(const std::string& device) { return device.substr(0, device.find(',')); }

std::string Writer::write() {
  const Snapshot& s = snapshot_;
  json_.begin_object().member("schema", "kvscope.trace/1");
  model();
  json_.member("device", device_kind(s.device))
      .member("precision", s.precision)
      .member("prompt_mode", s.prefill_mode ? "prefill" : "stream");
  json_.member("follow", s.follow).member("seed", static_cast<unsigned long long>(options_.seed));
  tokens();
  if (why_) json_.member("detail", "why");
  if (shown_) json_.member("shadow", s.shadow).member("prompt", s.prompt);
  json_.key("lanes").begin_array(/*lines=*/true);
  for (const LaneSnapshot& l : s.lanes) lane(l);
  json_.end_array();
  if (!s.notice.empty()) warnings_.insert(s.notice);
  for (std::size_t l = 0; l < s.lanes.size(); ++l) {
    for (const LaneWarning& w : s.lanes[l].warnings) warnings_.insert(fmt::format("run {} ({}): {}", l, s.lanes[l].spec, text_of(w)));
  }
  if (!warnings_.empty()) {
    json_.key("warnings").begin_array();
    for (const std::string& w : warnings_) json_.value(w);
    json_.end_array();
  }
  json_.end_object();
  return json_.take() + "\n";
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
  if (shown_) {
    json_.member("dim", m.dim).member("hidden_dim", m.hidden_dim).member("max_positions", m.max_positions).member("bos_id", m.bos_id);
    json_.member("eos_id", m.eos_id);
    json_.key("weight_bytes");
    number(snapshot_.weight_bytes, "weight_bytes");
  }
  json_.end_object();
}

void Writer::tokens() {
  json_.key("tokens").begin_array();
  for (const TokenInfo& t : snapshot_.tokens) json_.value(t.id);
  json_.end_array().member("n_prompt", snapshot_.n_prompt);
  if (!shown_) return;
  json_.key("token_texts").begin_array();
  for (const TokenInfo& t : snapshot_.tokens) write_token_text(json_, t);
  json_.end_array().key("token_ranges").begin_array();
  for (const TokenInfo& t : snapshot_.tokens) json_.begin_array().value(t.text_begin).value(t.text_end).end_array();
  json_.end_array();
  candidates();
}

/// Texts of the tokens that were likely somewhere, for readers without the tokenizer: [id, text], ids ascending.
void Writer::candidates() {
  if (snapshot_.vocabulary == nullptr) return;
  std::set<int> ids;
  for (const LaneSnapshot& l : snapshot_.lanes) {
    for (const StepPtr& s : l.steps) {
      for (const TopToken& t : s->top_tokens) ids.insert(t.id);
    }
  }
  json_.key("candidate_texts").begin_array();
  for (const int id : ids) {
    if (id < 0 || id >= static_cast<int>(snapshot_.vocabulary->size())) continue;
    const TokenInfo& token = (*snapshot_.vocabulary)[static_cast<std::size_t>(id)];
    if (token.id != id) continue;  // not known here either
    json_.begin_array().value(id);
    write_token_text(json_, token);
    json_.end_array();
  }
  json_.end_array();
}

void Writer::lane(const LaneSnapshot& lane) {
  json_.begin_object().member("spec", lane.spec).member("policy", lane.policy).key("params").begin_object();
  for (const ParamText& p : lane.params) {
    json_.key(p.key);
    const char* end = p.value.data() + p.value.size();
    int whole = 0;
    double real = 0;
    if (const auto [stop, error] = std::from_chars(p.value.data(), end, whole); error == std::errc() && stop == end) {
      json_.value(whole);
    } else if (const auto [stop2, error2] = from_chars(p.value.data(), end, real);
               error2 == std::errc() && stop2 == end && std::isfinite(real)) {
      json_.value(real);
    } else {
      json_.value(p.value);
    }
  }
  json_.end_object();
  if (shown_) {
    json_.member("title", lane.title).member("sinks", lane.sinks).member("slots_asked", lane.slots_asked);
    json_.member("sees_question", lane.sees_question).member("statistic", lane.statistic).key("half_life");
    optional_number(lane.half_life, "half_life");
    if (!lane.head_params.empty()) {
      json_.key("head_params").begin_array();
      for (const HeadParam& p : lane.head_params)
        json_.begin_object().member("layer", p.layer).member("kv_head", p.kv_head).member("key", p.key).member("value", p.value).end_object();
      json_.end_array();
    }
    json_.key("kv_bytes");
    number(lane.kv_bytes, "kv_bytes");
    json_.key("bytes");
    number(lane.bytes, "bytes");
    json_.key("slots");
    number(lane.slots, "slots");
    json_.key("warnings").begin_array();
    for (const LaneWarning& w : lane.warnings) {
      json_.begin_object().member("kind", name_of(w.kind)).member("count", w.count).member("asked", w.asked).member("got", w.got);
      json_.member("n_heads", w.n_heads).end_object();
    }
    json_.end_array();
  }
  json_.key("steps").begin_array(/*lines=*/true);
  for (const StepPtr& s : lane.steps) {
    if (options_.cancel != nullptr) options_.cancel->check();
    step(*s);
  }
  json_.end_array().end_object();
}

void Writer::step(const StepRecord& step) {
  json_.begin_object().member("step", step.step).member("position", step.position).key("next_token");
  if (step.next_token < 0) {
    json_.null().key("nll").null();
  } else {
    json_.value(step.next_token).key("nll");
    number(step.nll, "nll");
  }
  json_.key("kl");
  number(step.kl, "kl");
  json_.member("top1_same", step.top1_same);
  logits(step);
  if (!step.hidden_rel_l2.empty()) {
    json_.key("hidden_rel_l2");
    numbers(step.hidden_rel_l2, "hidden_rel_l2");
  }
  if (options_.detail != Detail::summary) {
    json_.key("heads").begin_array(/*lines=*/true);
    for (const HeadRecord& h : step.heads) head(h);
    json_.end_array();
  }
  json_.end_object();
}

void Writer::logits(const StepRecord& step) {
  json_.key("logits_top").begin_array();
  for (const auto& [token, logit] : step.logits_top) {
    json_.begin_array().value(token);
    number(logit, "logits_top");
    if (why_) {
      const TopToken* known = nullptr;
      for (const TopToken& t : step.top_tokens) {
        if (t.id == token) known = &t;
      }
      optional_number(known ? known->p : kNotAvailable, "logits_top");
      optional_number(known ? known->p_reference : kNotAvailable, "logits_top");
    }
    json_.end_array();
  }
  json_.end_array();
  if (!shown_) return;
  json_.member("top1", step.top1).member("top1_reference", step.top1_reference).key("top_tokens").begin_array();
  for (const TopToken& t : step.top_tokens) {
    json_.begin_object().member("id", t.id);
    json_.key("p");
    number(t.p, "top_tokens");
    json_.key("p_reference");
    number(t.p_reference, "top_tokens");
    json_.key("logit");
    number(t.logit, "top_tokens");
    json_.key("logit_reference");
    number(t.logit_reference, "top_tokens");
    json_.member("rank", t.rank).member("rank_reference", t.rank_reference).end_object();
  }
  json_.end_array();
}

void Writer::head(const HeadRecord& head) {
  json_.begin_object().member("layer", head.layer).member("kv_head", head.kv_head).key("budget");
  if (head.budget < 0) {
    json_.null();
  } else {
    json_.value(head.budget);
  }
  if (options_.detail != Detail::events) {
    json_.key("slots").begin_array();
    for (std::size_t i = 0; i < head.pos.size(); ++i) {
      json_.begin_array().value(head.pos[i]).value(i < head.votes.size() ? head.votes[i] : 1);
      optional_number(i < head.score.size() ? head.score[i] : kNotAvailable, "score");
      json_.end_array();
    }
    json_.end_array();
  }
  json_.key("events").begin_array();
  for (const Event& e : head.events) event(e);
  json_.end_array();
  if (head.overridden) json_.member("overridden", true);
  if (!head.pinned.empty()) json_.key("pinned").values(head.pinned);
  if (!std::isnan(head.merge_theta)) {
    json_.key("merge_theta");
    number(head.merge_theta, "merge_theta");
  }
  json_.key("compress_rel_l2");
  number(head.compress_rel_l2, "compress_rel_l2");
  json_.key("local_rel_l2");
  number(head.local_rel_l2, "local_rel_l2");
  json_.key("local_l1_wo");
  number(head.local_l1_wo, "local_l1_wo");
  json_.key("attention_loss");
  number(head.attention_loss, "attention_loss");
  if (snapshot_.measures.theta) {
    json_.key("theta");
    optional_number(head.theta, "theta");
  }
  if (!std::isnan(head.predictor_error)) {
    json_.key("predictor_error");
    number(head.predictor_error, "predictor_error");
    json_.key("predictor_rel_error");
    number(head.predictor_rel_error, "predictor_rel_error");
  }
  if (shown_) {
    json_.member("recent", head.recent).member("evicted_votes", head.evicted_votes).key("cutoff");
    optional_number(head.cutoff, "cutoff");
  }
  if (why_) head_why(head);
  json_.end_object();
}

void Writer::head_why(const HeadRecord& head) {
  json_.key("stats").begin_object().key("value");
  numbers(head.statistic, "stats.value");
  json_.key("bias");
  numbers(head.bias, "stats.bias");
  json_.end_object().key("attended").values(head.attended);
  const auto floats = [this](const std::vector<float>& values, const char* what) {
    json_.key(what).begin_array();
    for (const float v : values) {
      if (std::isfinite(v)) {
        json_.value(v);
      } else {
        number(v, what);
      }
    }
    json_.end_array();
  };
  floats(head.attention, "attention");
  floats(head.reference_attention, "reference_attention");
  if (!head.agreement.empty()) json_.key("agreement").values(std::vector<int>(head.agreement.begin(), head.agreement.end()));
  json_.key("merges").begin_array();
  for (const MergeDetail& m : head.merges) merge(m);
  json_.end_array();
}

void Writer::event(const Event& e) {
  if (!e.spread.empty()) {  // the value lives on in others, then the token goes
    json_.begin_object().member("kind", "spread").member("pos", e.pos).key("into").values(e.spread).key("weights").begin_array();
    json_.value(1.0 / static_cast<double>(e.spread.size())).value(1.0).end_array().end_object();
  }
  constexpr const char* kKinds[] = {"evict", "merge", "restore"};
  json_.begin_object().member("kind", kKinds[static_cast<int>(e.kind)]).member("pos", e.pos);
  if (e.kind == Event::Kind::merge) {
    json_.member("into", e.into).key("weights").begin_array();
    number(e.w_removed, "weights");
    number(e.w_target, "weights");
    json_.end_array();
  }
  const auto when_known = [this](double value, const char* name) {
    if (std::isnan(value)) return;
    json_.key(name);
    number(value, name);
  };
  when_known(e.score, "score");
  if (!e.form.empty()) json_.member("form", e.form);
  when_known(e.cos, "cos");
  when_known(e.gamma, "gamma");
  if (e.fallback) json_.member("fallback", true);
  if (why_ && !e.runner_ups.empty()) {
    json_.key("runner_ups").begin_array();
    for (const auto& [pos, cos] : e.runner_ups) {
      json_.begin_array().value(pos);
      number(cos, "runner_ups");
      json_.end_array();
    }
    json_.end_array();
  }
  if (e.by_hand) json_.member("by", "hand");
  json_.end_object();
}

void Writer::merge(const MergeDetail& m) {
  json_.begin_object().member("into", m.into).key("members").values(m.members).key("votes").values(m.votes);
  json_.key("mu");
  numbers(m.mu, "mu");
  json_.key("weights");
  numbers(m.weights, "weights");
  json_.key("log_scores");
  numbers(m.log_scores, "log_scores");
  json_.key("T");
  numbers(m.T, "T");
  json_.key("m");
  numbers(m.m, "m");
  json_.key("extra");
  number(m.extra, "extra");
  json_.key("gamma");
  optional_number(m.gamma, "gamma");
  json_.end_object();
}

}  // namespace

std::string trace_text(const Snapshot& snapshot, const TraceOptions& options) { return Writer(snapshot, options).write(); }

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
