// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/snapshot_builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "core/whole_characters.h"
#include "policy/catalog.h"
#include "policy/policy_words.h"
#include "policy/run_title.h"
#include "policy/text/lane_edits.h"
#include "snapshot/hand_events.h"

namespace kvscope {

std::shared_ptr<const std::vector<TokenInfo>> make_vocabulary(const Tokenizer& tokenizer) {
  auto out = std::make_shared<std::vector<TokenInfo>>();
  out->reserve(tokenizer.vocab_size());
  for (int id = 0; id < tokenizer.vocab_size(); ++id) {
    out->push_back({.id = id, .bytes = tokenizer.bytes_of(id), .piece = tokenizer.piece(id), .special = tokenizer.is_special(id)});
  }
  return out;
}

std::vector<TokenInfo> describe_tokens(std::span<const int> ids, std::span<const TextToken> prompt,
                                       const std::vector<TokenInfo>& vocabulary) {
  std::vector<TokenInfo> out;
  out.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    TokenInfo token = ids[i] < static_cast<int>(vocabulary.size()) ? vocabulary[ids[i]] : TokenInfo{.id = ids[i]};
    if (i < prompt.size()) {
      token.text_begin = static_cast<int>(prompt[i].begin);
      token.text_end = static_cast<int>(prompt[i].end);
    }
    out.push_back(std::move(token));
  }
  return out;
}

void find_forks(std::vector<LaneSnapshot>& lanes) {
  for (LaneSnapshot& lane : lanes) {
    const LaneEdits edits = edits_of(lane.spec);
    std::size_t most = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (policy_part(lanes[i].spec) != policy_part(lane.spec)) continue;
      const LaneEdits other = edits_of(lanes[i].spec);
      const std::size_t n = other.what_ifs.size();
      const bool begins_it = n < edits.what_ifs.size() && std::ranges::equal(other.what_ifs, std::span(edits.what_ifs).first(n));
      if (other.budgets != edits.budgets || !begins_it || (lane.fork_of >= 0 && n <= most)) continue;
      lane.fork_of = static_cast<int>(i);
      most = n;
    }
  }
}

/// The first parameter that is a word or a formula and in which another run of the same name differs; empty: there is none.
std::string telling_word(const std::vector<LaneSnapshot>& lanes, const LaneSnapshot& lane) {
  for (const ParamText& own : lane.params) {
    if (own.value.empty() || (std::isalpha(static_cast<unsigned char>(own.value[0])) == 0 && own.value[0] != '(')) continue;
    for (const LaneSnapshot& twin : lanes) {
      const std::string* other = twin.param(own.key);
      if (twin.title == lane.title && other != nullptr && *other != own.value) return own.value;
    }
  }
  return {};
}

/// Runs of one policy with other formulas are not called the same.
void name_twins(std::vector<LaneSnapshot>& lanes) {
  constexpr std::size_t kLongest = 18;  // bytes
  std::vector<std::string> words;
  for (const LaneSnapshot& lane : lanes) words.push_back(telling_word(lanes, lane));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty()) continue;
    lanes[i].title += ": " + (word.size() <= kLongest ? word : std::string(whole_characters(word, kLongest - 1)) + "…");
  }
}

void name_forks(std::vector<LaneSnapshot>& lanes) {
  find_forks(lanes);
  name_twins(lanes);
  for (LaneSnapshot& lane : lanes)
    if (!edits_of(lane.spec).what_ifs.empty()) lane.title += "′";
}

/// Edits that nothing came of so far: nobody would tell them from those whose effect is nil. edits: those that are on, by step.
int n_idle(std::span<const WhatIf> edits, const WarningWatch& watch) {
  return static_cast<int>(std::ranges::count_if(edits, [&](const WhatIf& edit) {
    if (edit.kind == WhatIf::Kind::pin) return edit.step >= watch.step() || edit.positions.front() > watch.position();
    const auto which = static_cast<std::size_t>(&edit - edits.data());
    return std::ranges::none_of(watch.by_hand(edit.step), [&](const WarningWatch::ByHand& head) {
      return edit.heads.has(head.layer, head.kv_head) && slots_changed(std::span(head.events), head.layer, head.kv_head, edits, which) > 0;
    });
  }));
}

/// The layers for which a budget, a key or a pin was set by hand: what tells a policy something.
std::set<int> layers_set_by_hand(const Lane& lane) {
  std::set<int> layers;
  const LaneEdits& edits = lane.setup().spec.edits;
  for (const BudgetOverride& budget : edits.budgets)
    if (budget.on) layers.insert(budget.heads.layers.begin(), budget.heads.layers.end());
  for (const WhatIf& edit : edits.what_ifs)
    if (edit.on && edit.kind == WhatIf::Kind::pin) layers.insert(edit.heads.layers.begin(), edit.heads.layers.end());
  for (const HeadKey& key : lane.policy().head_keys()) layers.insert(key.layer);
  return layers;
}

/// Sizes and work of a run that has gone on, or was cancelled, past the steps that are told of: as their records have them.
struct ToldWork {
  CacheSizes sizes;
  double compress_ms = 0;
};

static ToldWork told_work(const Lane& lane, const std::vector<StepPtr>& told) {
  ToldWork out{lane.sizes(), lane.compress_ms};
  const bool all = told.size() == lane.steps.size() && !lane.broken;
  if (all || told.empty() || told.back()->heads.empty() || !(out.sizes.slots > 0)) return out;
  const std::vector<HeadRecord>& heads = told.back()->heads;
  const double row = out.sizes.in_full / (out.sizes.slots * static_cast<double>(heads.size()));
  double slots = 0;
  out.sizes.kv_bytes = 0;
  for (const HeadRecord& head : heads) {
    slots += head.n_slots;
    out.sizes.kv_bytes += std::isnan(head.kv_bytes) ? row * head.n_slots : head.kv_bytes;
  }
  out.sizes.slots = slots / static_cast<double>(heads.size());
  out.sizes.in_full = slots * row;
  out.compress_ms = 0;
  for (const StepPtr& step : told) out.compress_ms += std::isnan(step->policy_ms) ? 0 : step->policy_ms;
  return out;
}

LaneSnapshot describe_lane(Lane& lane, const ModelConfig& model, int n_steps, bool ended) {
  const Policy& policy = lane.policy();
  const PolicyInfo& info = policy.info();
  LaneSnapshot out;
  out.spec = lane.setup().spec.text;
  out.policy = policy.name();
  out.title = title_of(lane.setup().spec);
  for (const ResolvedParam& p : policy.params()) {
    out.params.push_back({p.key, p.is_text ? p.text : p.is_count ? fmt::format("{:.0f}", p.number) : fmt::format("{}", p.number)});
    if (p.key == "slots" && !p.is_text) out.slots_asked = static_cast<int>(p.number);
  }
  if (out.slots_asked < 0) out.slots_asked = policy.slots_requested();  // of a pair, whose budgets are keys of its halves
  for (const HeadKey& own : policy.head_keys()) out.head_params.push_back({own.layer, own.kv_head, own.key, own.value});
  out.sinks = policy.sinks();
  out.sees_question = info.sees_question_in_prefill && lane.setup().mode == PromptMode::prefill;
  out.looks_at = policy.compresses() ? looks_at(policy) : std::string();
  out.statistic = info.statistic;
  if (policy.needs().ema) out.half_life = std::log(0.5) / std::log(policy.needs().ema_alpha);
  n_steps = std::min<int>(n_steps, static_cast<int>(lane.steps.size()));
  const int n_heads = n_steps > 0 ? static_cast<int>(lane.steps[0]->heads.size()) : 0;
  out.steps.assign(lane.steps.begin(), lane.steps.begin() + n_steps);
  // What was fed after the last of them is no part of what is asked for, unless the text ends with it.
  const bool open = !ended && n_steps > 0 && n_steps < static_cast<int>(lane.steps.size());
  if (open) {
    auto last = std::make_shared<StepRecord>(*out.steps.back());
    last->next_token = -1;
    last->nll = kNotAvailable;
    out.steps.back() = std::move(last);
  }
  if (n_steps == static_cast<int>(lane.steps.size())) {
    if (lane.n_fates_steps != n_steps || !lane.fates) {
      const bool extend = lane.fates && lane.n_fates_steps > 0 && lane.n_fates_steps < n_steps;
      lane.fates = std::make_shared<LaneFates>(extend ? extend_fates(*lane.fates, lane.n_fates_steps, lane.steps)
                                                      : derive_fates(lane.steps, n_heads));
      lane.n_fates_steps = n_steps;
    }
    out.fates = lane.fates;
  } else {
    out.fates = std::make_shared<LaneFates>(derive_fates(out.steps, n_heads));
  }
  WarningWatch cut;  // of a prefix only: watched anew
  WarningWatch& watch =
      n_steps == static_cast<int>(lane.steps.size()) && lane.warning_watch.n_steps() <= n_steps ? lane.warning_watch : cut;
  while (watch.n_steps() < n_steps) watch.add(*lane.steps[watch.n_steps()]);
  const auto [sizes, compress_ms] = told_work(lane, out.steps);
  const std::vector<WhatIf> edits = active_what_ifs(lane.setup().spec.edits);
  const std::set<int> layers = layers_set_by_hand(lane);
  out.warnings =
      watch.warnings({.slots_requested = policy.slots_requested(),
                      .slots_asked = out.slots_asked,
                      .nan_scores = policy.nan_scores(),
                      .infinite_scores = policy.infinite_scores(),
                      .bytes_as_if_stored = policy.storage() ? sizes.kv_bytes : kNotAvailable,
                      .bytes_in_full = sizes.in_full,
                      .edits = static_cast<int>(edits.size()),
                      .edits_idle = n_idle(edits, watch),
                      .layers_set = static_cast<int>(layers.size()),
                      .layers_with_window = static_cast<int>(std::ranges::count_if(layers, [&](int l) { return model.window(l) > 0; }))});
  out.fed.assign(lane.fed.begin(), lane.fed.begin() + std::min<std::size_t>(lane.fed.size(), open ? n_steps - 1 : n_steps));
  if (policy.limits()) out.score_equation = score_equation(policy);
  if (policy.storage()) out.stored_as = policy.storage()->equation();
  out.kv_bytes = sizes.kv_bytes;
  out.bytes = sizes.allocated;
  out.slots = sizes.slots;
  out.compress_ms = compress_ms;
  out.prompt_compress_ms = lane.prompt_compress_ms;
  return out;
}

}  // namespace kvscope
