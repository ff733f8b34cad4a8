// SPDX-License-Identifier: Apache-2.0
#include "trace/step_writer.h"

#include <cmath>
#include <limits>

namespace kvscope {

void TraceJson::number(double number, const char* what) {
  if (std::abs(number) <= std::numeric_limits<float>::max()) {  // more is read nowhere: pictures and pages hold it in 32 bits
    value(number);
  } else {
    null();
    warnings.insert(std::string(what) + " was not measured, or not a number that 32 bits can hold, in at least one place");
  }
}

void TraceJson::optional_number(double value, const char* what) {
  if (std::isnan(value)) {
    null();
  } else {
    number(value, what);
  }
}

void TraceJson::numbers(std::span<const double> values, const char* what) {
  begin_array();
  for (const double v : values) optional_number(v, what);
  end_array();
}

void StepWriter::write(const StepRecord& step) {
  json_.begin_object().member("step", step.step).member("position", step.position).key("next_token");
  if (step.next_token < 0) {
    json_.null().key("nll").null();
  } else {
    json_.value(step.next_token).key("nll");
    json_.number(step.nll, "nll");
  }
  json_.key("kl");
  json_.number(step.kl, "kl");
  json_.member("top1_same", step.top1_same);
  if (step.probe_tokens > 0) json_.member("probe_tokens", step.probe_tokens);
  logits(step);
  if (!step.hidden_rel_l2.empty()) {
    json_.key("hidden_rel_l2");
    json_.numbers(step.hidden_rel_l2, "hidden_rel_l2");
  }
  if (detail_ != Detail::summary) {
    json_.key("heads").begin_array(/*lines=*/true);
    for (const HeadRecord& h : step.heads) head(h);
    json_.end_array();
  }
  json_.end_object();
}

void StepWriter::logits(const StepRecord& step) {
  json_.key("logits_top").begin_array();
  for (const auto& [token, logit] : step.logits_top) {
    json_.begin_array().value(token);
    json_.number(logit, "logits_top");
    if (why_) {
      const TopToken* known = nullptr;
      for (const TopToken& t : step.top_tokens) {
        if (t.id == token) known = &t;
      }
      json_.optional_number(known ? known->p : kNotAvailable, "logits_top");
      json_.optional_number(known ? known->p_reference : kNotAvailable, "logits_top");
    }
    json_.end_array();
  }
  json_.end_array();
  json_.member("top1", step.top1).member("top1_reference", step.top1_reference).key("top_tokens").begin_array();
  for (const TopToken& t : step.top_tokens) {
    json_.begin_object().member("id", t.id);
    json_.key("p");
    json_.number(t.p, "top_tokens");
    json_.key("p_reference");
    json_.number(t.p_reference, "top_tokens");
    json_.key("logit");
    json_.number(t.logit, "top_tokens");
    json_.key("logit_reference");
    json_.number(t.logit_reference, "top_tokens");
    json_.member("rank", t.rank).member("rank_reference", t.rank_reference).end_object();
  }
  json_.end_array();
}

void StepWriter::head(const HeadRecord& head) {
  json_.begin_object().member("layer", head.layer).member("kv_head", head.kv_head).key("budget");
  if (head.budget < 0) {
    json_.null();
  } else {
    json_.value(head.budget);
  }
  if (detail_ != Detail::events) {
    json_.key("slots").begin_array();
    for (std::size_t i = 0; i < head.pos.size(); ++i) {
      json_.begin_array().value(head.pos[i]).value(i < head.votes.size() ? head.votes[i] : 1);
      json_.optional_number(i < head.score.size() ? head.score[i] : kNotAvailable, "score");
      json_.end_array();
    }
    json_.end_array();
    if (head.pos.empty() && head.n_slots > 0) json_.member("n_slots", head.n_slots);  // a record that keeps only figures
  }
  json_.key("events").begin_array();
  for (const Event& e : head.events) event(e);
  json_.end_array();
  if (head.overridden) json_.member("overridden", true);
  if (!head.pinned.empty()) json_.key("pinned").values(head.pinned);
  if (!std::isnan(head.merge_theta)) {
    json_.key("merge_theta");
    json_.number(head.merge_theta, "merge_theta");
  }
  if (!std::isnan(head.kv_bytes)) {
    json_.key("kv_bytes");
    json_.number(head.kv_bytes, "kv_bytes");
  }
  if (!std::isnan(head.read_bytes)) {
    json_.key("read_bytes");
    json_.number(head.read_bytes, "read_bytes");
  }
  if (!head.unread.empty()) json_.key("unread").values(head.unread);
  if (!head.residual.empty()) json_.key("residual").values(head.residual);
  if (!head.to_residual.empty()) json_.key("to_residual").values(head.to_residual);
  if (head.pooled_tokens > 0) json_.member("pooled_tokens", head.pooled_tokens);
  if (!std::isnan(head.pooled_share)) {
    json_.key("pooled_share");
    json_.number(head.pooled_share, "pooled_share");
  }
  json_.key("compress_rel_l2");
  json_.number(head.compress_rel_l2, "compress_rel_l2");
  json_.key("local_rel_l2");
  json_.number(head.local_rel_l2, "local_rel_l2");
  json_.key("local_l1_wo");
  json_.number(head.local_l1_wo, "local_l1_wo");
  json_.key("attention_loss");
  json_.number(head.attention_loss, "attention_loss");
  if (theta_) {
    json_.key("theta");
    json_.optional_number(head.theta, "theta");
  }
  if (!std::isnan(head.predictor_error)) {
    json_.key("predictor_error");
    json_.number(head.predictor_error, "predictor_error");
    json_.key("predictor_rel_error");
    json_.number(head.predictor_rel_error, "predictor_rel_error");
  }
  json_.member("recent", head.recent).member("evicted_votes", head.evicted_votes).key("cutoff");
  json_.optional_number(head.cutoff, "cutoff");
  if (why_) head_why(head);
  json_.end_object();
}

void StepWriter::head_why(const HeadRecord& head) {
  json_.key("stats").begin_object().key("value");
  json_.numbers(head.statistic, "stats.value");
  json_.key("bias");
  json_.numbers(head.bias, "stats.bias");
  json_.end_object().key("attended").values(head.attended);
  const auto floats = [this](const std::vector<float>& values, const char* what) {
    json_.key(what).begin_array();
    for (const float v : values) {
      if (std::isfinite(v)) {
        json_.value(v);
      } else {
        json_.number(v, what);
      }
    }
    json_.end_array();
  };
  if (!head.page_scores.empty()) {
    json_.member("page", head.page).key("page_scores");
    json_.numbers(head.page_scores, "page_scores");
  }
  if (!head.stored_block.empty()) {
    json_.key("stored").begin_object().key("block").values(head.stored_block);
    json_.key("key_error");
    json_.numbers(head.key_error, "stored.key_error");
    json_.key("value_error");
    json_.numbers(head.value_error, "stored.value_error");
    json_.end_object();
  }
  if (!head.parts.parts.empty()) score_parts(head.parts);
  floats(head.attention, "attention");
  floats(head.reference_attention, "reference_attention");
  if (!head.agreement.empty()) json_.key("agreement").values(std::vector<int>(head.agreement.begin(), head.agreement.end()));
  json_.key("merges").begin_array();
  for (const MergeDetail& m : head.merges) merge(m);
  json_.end_array();
}

void StepWriter::score_parts(const ScoreParts& parts) {
  json_.key("score_parts").begin_object().key("pos").values(parts.pos).key("terms").begin_array();
  for (const ScoreParts::Part& part : parts.parts) {
    json_.begin_object().member("name", part.name).key("values").begin_array();
    for (const float v : part.values) {
      if (std::isfinite(v))
        json_.value(v);
      else
        json_.optional_number(v, "score_parts");  // a protected slot has none
    }
    json_.end_array().end_object();
  }
  json_.end_array().end_object();
}

void StepWriter::event(const Event& e) {
  if (!e.spread.empty()) {  // the value lives on in others, then the token goes
    json_.begin_object().member("kind", "spread").member("pos", e.pos).key("into").values(e.spread).key("weights").begin_array();
    json_.value(1.0 / static_cast<double>(e.spread.size())).value(1.0).end_array().end_object();
  }
  constexpr const char* kKinds[] = {"evict", "merge", "restore"};
  json_.begin_object().member("kind", kKinds[static_cast<int>(e.kind)]).member("pos", e.pos);
  if (e.kind == Event::Kind::merge) {
    json_.member("into", e.into).key("weights").begin_array();
    json_.number(e.w_removed, "weights");
    json_.number(e.w_target, "weights");
    json_.end_array();
  }
  const auto when_known = [this](double value, const char* name) {
    if (std::isnan(value)) return;
    json_.key(name);
    json_.number(value, name);
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
      json_.number(cos, "runner_ups");
      json_.end_array();
    }
    json_.end_array();
  }
  if (e.by_hand) json_.member("by", "hand");
  json_.end_object();
}

void StepWriter::merge(const MergeDetail& m) {
  json_.begin_object().member("into", m.into).key("members").values(m.members).key("votes").values(m.votes);
  json_.key("mu");
  json_.numbers(m.mu, "mu");
  json_.key("weights");
  json_.numbers(m.weights, "weights");
  json_.key("log_scores");
  json_.numbers(m.log_scores, "log_scores");
  json_.key("T");
  json_.numbers(m.T, "T");
  json_.key("m");
  json_.numbers(m.m, "m");
  json_.key("extra");
  json_.number(m.extra, "extra");
  json_.key("gamma");
  json_.optional_number(m.gamma, "gamma");
  if (!std::isnan(m.value_change)) {
    json_.key("fit").begin_array();
    for (const double x : {m.value_change, m.error_before, m.error_after}) json_.optional_number(x, "fit");
    json_.end_array();
  }
  json_.end_object();
}

}  // namespace kvscope
