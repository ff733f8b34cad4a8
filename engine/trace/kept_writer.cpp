// SPDX-License-Identifier: Apache-2.0
#include "trace/kept_writer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/policy_pair.h"
#include "trace/json_text.h"
#include "trace/token_text.h"

namespace kvscope {
namespace {

/// Calls `value` for every head, in a list of layers.
template <class Value>
void write_heads(JsonText& json, std::size_t n_heads, std::size_t n_kv_heads, Value value) {
  json.begin_array();
  for (std::size_t h = 0; h < n_heads; ++h) {
    if (h % n_kv_heads == 0) json.begin_array();
    value(h);
    if (h % n_kv_heads == n_kv_heads - 1) json.end_array();
  }
  json.end_array();
}

/// Where its keys stand, in the words of the key `positions`; a run of two policies says it in each of them, alike.
std::string positions_of(const LaneSnapshot& lane) {
  if (const std::string* said = lane.param("positions")) return *said;
  const std::optional<PolicyPair> pair = pair_of(lane_spec_of_result(lane.spec));
  if (!pair) return "original";
  for (const auto& [key, value] : pair->prefill.given)
    if (key == "positions") return value;
  for (const ParamInfo& param : params_of(pair->prefill))
    if (param.key == "positions") return param.default_text;
  return "original";
}

/// Of a run in the file, which is written into specifications between double quotes.
std::string name_of(const LaneSnapshot& lane) {
  std::string name = lane.spec;
  std::ranges::replace(name, '"', '\'');
  return name;
}

}  // namespace

void KeptWriter::take(int lane, const StepRecord& record) {
  if (static_cast<int>(lanes_.size()) <= lane) lanes_.resize(static_cast<std::size_t>(lane) + 1);
  std::vector<Step>& steps = lanes_[static_cast<std::size_t>(lane)];
  const bool first = steps.empty();
  Step step{.step = record.step, .heads = {}};
  bool something_left = first;
  for (const HeadRecord& from : record.heads) {
    if (static_cast<int>(from.pos.size()) != from.n_slots)
      throw Error("kept tokens: the records hold only how many slots there are; record at least the slots");
    Head head{.kept = from.pos, .scores = from.score, .merged = {}};
    if (std::ranges::none_of(head.scores, [](double x) { return std::isfinite(x); })) head.scores.clear();
    for (const Event& event : from.events)
      if (event.kind == Event::Kind::merge) head.merged.emplace_back(event.pos, event.into);
    something_left = something_left || !from.events.empty();
    step.heads.push_back(std::move(head));
  }
  if (something_left) steps.push_back(std::move(step));
}

std::string KeptWriter::text(const Snapshot& s) const {
  JsonText json;
  const auto n_kv_heads = static_cast<std::size_t>(s.model.n_kv_heads);
  json.begin_object().member("schema", "kvscope.kept/1").key("model").begin_object().member("name", s.model.name);
  json.member("n_layers", s.model.n_layers).member("n_kv_heads", s.model.n_kv_heads).end_object();
  json.member("n_prompt", s.n_prompt).key("tokens").begin_array();
  for (const TokenInfo& token : s.tokens) {
    json.begin_object().member("id", token.id).key("text");
    write_token_text(json, token);
    json.end_object();
  }
  json.end_array().key("runs").begin_array(/*lines=*/true);
  for (std::size_t l = 1; l < std::min(s.lanes.size(), lanes_.size()); ++l) {
    json.begin_object().member("name", name_of(s.lanes[l]));
    if (const std::string positions = positions_of(s.lanes[l]); positions != "original") json.member("positions", positions);
    json.key("steps").begin_array(/*lines=*/true);
    for (const Step& step : lanes_[l]) {
      const auto any = [&](auto has) { return std::ranges::any_of(step.heads, has); };
      json.begin_object().member("step", step.step).key("kept");
      write_heads(json, step.heads.size(), n_kv_heads, [&](std::size_t h) { json.values(step.heads[h].kept); });
      if (any([](const Head& h) { return !h.scores.empty(); })) {
        json.key("scores");
        write_heads(json, step.heads.size(), n_kv_heads, [&](std::size_t h) {
          json.begin_array();
          for (std::size_t i = 0; i < step.heads[h].kept.size(); ++i) {
            const double score = step.heads[h].scores.empty() ? kNotAvailable : step.heads[h].scores[i];
            std::isfinite(score) ? json.value(score) : json.null();
          }
          json.end_array();
        });
      }
      if (any([](const Head& h) { return !h.merged.empty(); })) {
        json.key("merged");
        write_heads(json, step.heads.size(), n_kv_heads, [&](std::size_t h) {
          json.begin_array();
          for (const auto& [from, into] : step.heads[h].merged) json.begin_array().value(from).value(into).end_array();
          json.end_array();
        });
      }
      json.end_object();
    }
    json.end_array().end_object();
  }
  return json.end_array().end_object().take() + '\n';
}

std::vector<std::string> KeptWriter::merging(const Snapshot& s) const {
  std::vector<std::string> out;
  const auto merges = [](const Step& step) { return std::ranges::any_of(step.heads, [](const Head& h) { return !h.merged.empty(); }); };
  for (std::size_t l = 1; l < std::min(s.lanes.size(), lanes_.size()); ++l)
    if (std::ranges::any_of(lanes_[l], merges)) out.push_back(name_of(s.lanes[l]));
  return out;
}

std::string KeptWriter::text_of(const Snapshot& snapshot) {
  KeptWriter writer;
  for (std::size_t l = 0; l < snapshot.lanes.size(); ++l)
    for (const StepPtr& step : snapshot.lanes[l].steps) writer.take(static_cast<int>(l), *step);
  return writer.text(snapshot);
}

}  // namespace kvscope
