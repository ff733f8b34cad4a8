// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/custom.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "policy/catalog/geometry_parts.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/rows.h"
#include "policy/rankings/expression_ranking.h"

namespace kvscope {
namespace {

std::size_t place_of(std::string_view key) {
  const auto place = std::ranges::find(part_keys(), key, &PartKey::key);
  return static_cast<std::size_t>(place - part_keys().begin());
}

/// The key as the parser checks it; default_text is filled in by the composition.
ParamInfo info_of(const PartKey& part) {
  ParamInfo info{.key = part.key, .kind = ParamInfo::Kind::choice, .help = part.help};
  for (const PartChoice& c : part.choices) {
    info.choices.push_back(c.value);
    info.described.emplace_back(c.value, c.help);
  }
  info.default_text = info.choices.front();
  return info;
}

ParamInfo score_key() {
  ParamInfo score{.key = "score", .kind = ParamInfo::Kind::text, .default_text = "mean * wo_norm"};
  score.help = fmt::format("+ - * / ^ ( ), comparisons and {} over these quantities, higher stays", Expression::functions());
  for (const QuantityInfo& q : quantities()) score.described.emplace_back(std::string(q.name), std::string(q.help));
  return score;
}

/// Several runs of this kind on one screen would all be called alike.
ParamInfo name_key() { return {.key = "name", .kind = ParamInfo::Kind::text, .help = "what the run is called (default: Custom)"}; }

/// A key that another part has brought already stays as it is, with the choices of both.
void add(std::vector<ParamInfo>& params, const ParamInfo& param) {
  const auto known = std::ranges::find(params, param.key, &ParamInfo::key);
  if (known == params.end()) {
    params.push_back(param);
    return;
  }
  for (const std::string& c : param.choices)
    if (std::ranges::find(known->choices, c) == known->choices.end()) known->choices.push_back(c);
}

/// The keys that the composition of a user's score brings: what starts the EMA, if it names one.
void put_score(PolicyRow& row, const std::string& text, const std::string& where) {
  try {
    const ScoreExpression score(text);
    row.takes_group = row.takes_group || score.reads_attention();
    row.info.sees_question_in_prefill = score.uses(Quantity::last) || score.uses(Quantity::ema);
    if (!score.reads_rows() && row.info.statistic.empty()) row.info.statistic = "score";
    row.info.ranking = fmt::format("your own score: {}", text);
    if (!score.uses(Quantity::ema)) return;
    add(row.info.params, number("ema_alpha", "0.9", 0, 0.999999, "weight of the past in the EMA of exp(logit)"));
    add(row.info.params, window("32", "last queries of the prompt that start the EMA", 1));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: score: {}", where, e.what()));
  }
}

PolicyInfo words() {
  return {.name = "custom",
          .title = "Custom",
          .idea =
              "Your own: any statistic with any split of the budget, any merge and any bias, or a score that you write. "
              "No parts: Quest's pages (slots must stay), LESS's state (trained per base).",
          .ranking = "as chosen",
          .merging = "as chosen",
          .statistic = "as chosen",
          .keys_follow_choices = true};
}

}  // namespace

PolicyRow compose(const LaneSpec& given, const std::string& where) {
  for (const PartKey& key : part_keys())
    for (const auto& [name, value] : given.given)
      if (name == key.key) check_value(info_of(key), value, where);
  const Composition parts(given);
  if (const std::string reason = objection(parts); !reason.empty()) throw UsageError(fmt::format("{}: {}", where, reason));

  PolicyRow row;
  row.info = words();
  row.info.statistic.clear();
  row.takes_group = false;
  std::vector<ParamInfo>& params = row.info.params;
  for (const PartKey& key : part_keys()) {
    const PartChoice& choice = parts.choice(key);
    if (choice.put) choice.put(row);
    params.push_back(info_of(key));
    params.back().default_text = Composition(given, key.key).at(key.key);
  }
  row.info.ranking = parts.is("select", "random") ? "none: drawn at random" : parts.choice(part_keys()[place_of("stat")]).help;
  if (parts.is("reweight", "critical")) row.info.ranking += "; " + parts.choice(part_keys()[place_of("reweight")]).help;
  row.info.merging = parts.choice(part_keys()[place_of("merge")]).help;

  const Protects& protects = parts.choice(part_keys()[place_of("stat")]).protects;
  params.push_back(sinks(protects.sinks));
  // positions keep the newest by themselves, exactly as many as there is room for; an observation window is kept anyway
  const bool by_position_alone = parts.is("stat", "none") && !parts.is("alloc", "duo") && !parts.is("select", "random");
  if (!by_position_alone && !row.observes) params.push_back(recent(parts.is("select", "threshold") ? "128" : protects.recent));
  if (parts.is("stat", "score")) {
    params.push_back(score_key());
    const std::string text(parts.given("score"));
    put_score(row, text.empty() ? params.back().default_text : text, where);
  }
  // by position exactly what there is room for stays; two stages have no such thing; heads that compete would not be filled up again
  const bool drops = !parts.is("stat", "none") && !parts.is("reweight", "critical") && !parts.is_any("alloc", "ada flat");
  for (const PartKey& key : part_keys())
    for (const ParamInfo& p : parts.choice(key).params)
      if (p.key != "drop" || drops) add(params, p);
  if (const auto safe = std::ranges::find(params, "safeguard", &ParamInfo::key); safe != params.end() && !protects.safeguard.empty())
    safe->default_text = protects.safeguard;
  if (parts.is("stat", "count")) params.push_back(group_of_hits());
  if (parts.is("unit", "layer") || parts.is("stat", "count")) row.takes_group = false;
  params.push_back(name_key());
  return row;
}

Composition::Composition(const LaneSpec& given, std::string_view except) : spec_(&given), except_(except), values_(part_keys().size()) {
  const auto fill = [this](std::string_view key, std::string_view otherwise) {
    const std::string_view value = this->given(key);
    values_[place_of(key)] = value.empty() ? otherwise : value;
  };
  const bool by_place = this->given("alloc") == "duo" || this->given("select") == "random" || this->given("positions") == "ceiling";
  fill("stat", !this->given("score").empty() ? "score" : by_place ? "none" : "sum");
  fill("reweight", "none");
  fill("unit", this->given("select") == "chunks" || this->given("select") == "pages" ? "layer" : "head");
  fill("alloc", "uniform");
  fill("merge", this->given("select") == "context" ? "zeromerge" : this->given("select") == "heavy" ? "kvmerger" : "none");
  fill("select", is("reweight", "critical")  ? "top"
                 : is("merge", "zeromerge")  ? "context"
                 : is("merge", "kvmerger")   ? "heavy"
                 : is("merge", "weightedkv") ? "in_turn"
                                             : "top");
  fill("bias", is_any("merge", "keepkv refit") ? "votes" : is("merge", "zeromerge") ? "scaled" : "none");
  fill("positions", "original");
  fill("storage", "full");
  fill("cadence", !this->given("every").empty() || is_any("stat", kRankedNowAndThen)                        ? "every"
                  : is_any("stat", kRankedOnce) || is_any("select", "heavy chunks") || is("merge", "refit") ? "once"
                                                                                                            : "every_step");
}

const std::string& Composition::at(std::string_view key) const { return values_[place_of(key)]; }

bool Composition::is_any(std::string_view key, std::string_view values) const {
  const std::string padded = fmt::format(" {} ", values);
  return padded.find(fmt::format(" {} ", at(key))) != std::string::npos;
}

std::string_view Composition::given(std::string_view key) const {
  if (key == except_) return {};
  const auto place = std::ranges::find(spec_->given, key, [](const auto& g) -> std::string_view { return g.first; });
  return place == spec_->given.end() ? std::string_view{} : std::string_view(place->second);
}

const PartChoice& Composition::choice(const PartKey& key) const { return *std::ranges::find(key.choices, at(key.key), &PartChoice::value); }

std::vector<PolicyRow> custom_rows() {
  PolicyRow row{.info = words(), .compose = compose};
  std::vector<ParamInfo>& params = row.info.params;
  for (const PartKey& key : part_keys()) params.push_back(info_of(key));
  params.push_back(sinks("4"));
  params.push_back(recent("0.5"));
  add(params, score_key());
  params.back().only_with = "stat=score";
  for (const PartKey& key : part_keys())
    for (const PartChoice& choice : key.choices)
      for (const ParamInfo& p : choice.params) {
        add(params, p);
        std::string& with = std::ranges::find(params, p.key, &ParamInfo::key)->only_with;
        with += fmt::format("{}{}={}", with.empty() ? "" : ", ", key.key, choice.value);
      }
  params.push_back(group_param());
  params.push_back(name_key());
  std::vector<PolicyRow> rows;
  rows.push_back(std::move(row));
  return rows;
}

}  // namespace kvscope
