// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/metrics.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

using Kind = MetricColumn::Kind;

/// The value that all lanes share, or -1.
template <class Get>
int common(const std::vector<LaneMetrics>& lanes, Get get) {
  std::set<int> values;
  for (const LaneMetrics& lane : lanes) {
    if (lane.step >= 0) values.insert(get(lane));
  }
  return values.size() == 1 ? *values.begin() : -1;
}

}  // namespace

std::vector<MetricColumn> metric_columns(const Snapshot& snapshot, const std::vector<LaneMetrics>& lanes, float room, float scale,
                                         const WantedMetrics& wanted, std::vector<std::string>* left_out) {
  const int step = common(lanes, [](const LaneMetrics& m) { return m.step; });
  const int decode = common(lanes, [](const LaneMetrics& m) { return m.means.n_steps; });
  const int compared = common(lanes, [](const LaneMetrics& m) { return m.means.compared; });
  const int fed = common(lanes, [](const LaneMetrics& m) { return m.next_token; });
  const std::string at_step = step >= 0 ? fmt::format("step {}", step) : "this step";
  std::string mean_unit = "no step yet";
  const int first = common(lanes, [](const LaneMetrics& m) { return m.means.first; });
  if (decode > 0) mean_unit = decode == 1 ? fmt::format("step {}", first) : fmt::format("steps {}–{}", first, first + decode - 1);
  if (decode < 0) mean_unit = snapshot.prefill_mode ? "after prompt" : "all steps";
  // Of runs that read their own texts, the steps of one text are compared: not as many as the others' means have.
  const bool part = std::any_of(lanes.begin(), lanes.end(), [](const LaneMetrics& l) { return l.means.compared < l.means.n_steps; });
  const bool ranged = std::any_of(lanes.begin(), lanes.end(), [](const LaneMetrics& m) { return m.range.has_value(); });
  std::string fed_unit = "next token";
  if (fed >= 0) {
    const std::string text = text_of_id(snapshot, fed);
    if (utf8_length(text) <= 9) fed_unit = quoted(text);
  }
  if (ranged) fed_unit = "mean";
  std::vector<MetricColumn> all = {
      {Kind::answer, "answer", "top choices", 102},
      {Kind::differs, "first differs", "at token", 80},
      {Kind::kl, "KL, nats", at_step, 58},
      {Kind::mean_kl, "mean KL", part ? "of one text" : mean_unit, 78},
      {Kind::top1, "top-1 same",
       compared >= 0 ? fmt::format("of {}", compared)
       : part        ? "of one text"
       : ranged      ? "of range"
                     : "of its steps",
       70},
      {Kind::nll, "−ln p", fed_unit, 66},
      {Kind::attention, "attention lost", ranged ? "range mean" : at_step, 92},
      {Kind::slots, "slots", at_step, 62},
      {Kind::bytes, "KV bytes", at_step, 76},
      {Kind::read, "bytes read", at_step, 76},
      {Kind::policy, "policy work", "ms a step", 76},
  };
  const auto in_set = [&wanted](Kind kind) {
    if (wanted.set == MetricSet::lecture) return kind == Kind::answer || kind == Kind::mean_kl || kind == Kind::slots;
    const bool cost = kind == Kind::slots || kind == Kind::bytes || kind == Kind::read || kind == Kind::policy;
    return wanted.set == MetricSet::all || kind == Kind::kl || kind == wanted.sorted_by || cost == (wanted.set == MetricSet::cost);
  };
  std::erase_if(all, [&](const MetricColumn& c) { return !in_set(c.kind); });
  if (std::ranges::all_of(lanes, [](const LaneMetrics& m) { return std::isnan(m.read); }))  // every run reads all it has
    std::erase_if(all, [](const MetricColumn& c) { return c.kind == Kind::read; });
  // Least important first. Only with their slots beside them can runs be compared.
  for (const Kind kind : {Kind::policy, Kind::differs, Kind::read, Kind::bytes, Kind::nll, Kind::top1, Kind::attention, Kind::slots,
                          Kind::mean_kl, Kind::answer}) {
    if (total_width(all, scale) <= room) break;
    if (kind == wanted.sorted_by) continue;  // an order of the rows by what nobody sees would be a riddle
    std::erase_if(all, [&](const MetricColumn& c) {
      if (c.kind == kind && left_out) left_out->push_back(c.title);
      return c.kind == kind;
    });
  }
  return all;
}

float total_width(const std::vector<MetricColumn>& columns, float scale) {
  float width = 0;
  for (const MetricColumn& c : columns) width += c.width * scale;
  return width;
}

std::string metric_text(const Snapshot& snapshot, const LaneMetrics& m, MetricColumn::Kind kind) {
  if (m.step < 0) return "–";
  switch (kind) {
    case Kind::answer: {
      std::string out = m.answer_before > 0 ? "…" : "";
      for (const AnswerToken& token : m.answer)
        out += fmt::format("{}{}{}", out.empty() ? "" : " ", text_of_id(snapshot, token.id), token.same ? "" : "*");
      return out.empty() ? "–" : out;
    }
    case Kind::differs:
      if (m.split.compared == 0) return std::string(kNotAvailableText);
      return m.split.position < 0 ? "none" : format_count(m.split.position);
    case Kind::kl:
      return format_number(m.kl);
    case Kind::mean_kl:
      return format_number(m.means.kl.mean());
    case Kind::top1:
      return m.means.compared > 0 ? format_count(m.means.top1_same) : std::string(kNotAvailableText);
    case Kind::nll:
      return format_number(m.nll);
    case Kind::attention:
      return format_percent(m.attention_loss);
    case Kind::slots:
      return format_mean(m.slots);
    case Kind::bytes:
      return format_bytes(m.bytes);
    case Kind::read:
      return std::isnan(m.read) ? "all" : format_bytes(m.read);
    case Kind::policy:
      return format_number(m.work.ms, 1);  // the clock of a shared machine knows no more
  }
  return {};
}

}  // namespace kvscope::viz
