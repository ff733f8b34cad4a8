// SPDX-License-Identifier: Apache-2.0
#include "policy/text/lane_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/from_chars.h"
#include "policy/rules.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

constexpr int kMaxPosition = 100'000'000;
constexpr int kMaxListed = 1'000'000;  // numbers that a range may stand for
constexpr std::array<std::string_view, 4> kKinds = {"pin", "evict", "merge", "restore"};
constexpr std::string_view kKnown = "pin evict merge restore (of token positions), slots factor (of a budget); step layers heads into on";

struct Field {
  std::string key;
  std::vector<std::string> values;
};

std::string_view full_name(std::string_view key) { return key == "layer" ? "layers" : key == "head" ? "heads" : key; }

/// `key=value,value,key=value`: what has no '=' belongs to the key before it.
std::vector<Field> split_fields(std::string_view text, const std::string& where) {
  std::vector<Field> fields;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos)
      fields.push_back({std::string(full_name(item.substr(0, equals))), {std::string(item.substr(equals + 1))}});
    else if (fields.empty())
      throw UsageError(fmt::format("{}: expected key=value, got {}", where, quoted(item)));
    else
      fields.back().values.emplace_back(item);
    begin = end + 1;
  }
  for (std::size_t i = 0; i < fields.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (fields[i].key == fields[j].key) throw UsageError(fmt::format("{}: {} is given twice", where, quoted(fields[i].key)));
  return fields;
}

/// Numbers and ranges a-b, ascending, each once.
std::vector<int> list_of(const Field& field, const std::string& where) {
  std::vector<int> out;
  const auto refuse = [&](const std::string& got) {
    throw UsageError(fmt::format("{}: {}: expected numbers from 0 on and ranges like 3-7, got {}", where, field.key, quoted(got)));
  };
  for (const std::string& value : field.values) {
    const std::size_t dash = value.find('-', 1);
    const auto first = number_from<int>(std::string_view(value).substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_from<int>(std::string_view(value).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMaxPosition) refuse(value);
    if (*last - *first + static_cast<int>(out.size()) >= kMaxListed)
      throw UsageError(fmt::format("{}: {}: expected at most {} numbers in all, got {}", where, field.key, kMaxListed, quoted(value)));
    for (int i = *first; i <= *last; ++i) out.push_back(i);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

int one_number(const Field& field, int min, int max, const std::string& where) {
  const auto value = field.values.size() == 1 ? number_from<int>(field.values.front()) : std::nullopt;
  if (!value || *value < min || *value > max)
    throw UsageError(fmt::format("{}: {}: expected a number from {} to {}, got {}", where, field.key, min, max,
                                 quoted(fmt::format("{}", fmt::join(field.values, ",")))));
  return *value;
}

std::string list_text(const std::vector<int>& list) {
  std::string out;
  for (std::size_t i = 0; i < list.size();) {
    std::size_t j = i;
    while (j + 1 < list.size() && list[j + 1] == list[j] + 1) ++j;
    if (!out.empty()) out += ',';
    out += j == i       ? fmt::format("{}", list[i])
           : j == i + 1 ? fmt::format("{},{}", list[i], list[j])
                        : fmt::format("{}-{}", list[i], list[j]);
    i = j + 1;
  }
  return out;
}

std::string heads_text(const HeadChoice& heads) {
  std::string out;
  if (!heads.layers.empty()) out += ",layers=" + list_text(heads.layers);
  if (!heads.kv_heads.empty()) out += ",heads=" + list_text(heads.kv_heads);
  return out;
}

bool lists(const std::vector<int>& list, int i) { return list.empty() || std::ranges::binary_search(list, i); }

}  // namespace

bool HeadChoice::has(int layer, int kv_head) const { return lists(layers, layer) && lists(kv_heads, kv_head); }

std::optional<int> BudgetOverride::of(std::optional<int> allocated) const {
  if (slots) return slots;
  if (!allocated || !factor) return allocated;
  return std::max(1, round_half_up(std::min(*factor * *allocated, 1e8)));
}

const char* name_of(WhatIf::Kind kind) { return kKinds[static_cast<std::size_t>(kind)].data(); }

std::size_t edits_begin(std::string_view spec) {
  bool in_quotes = false;
  for (std::size_t at = 0; at < spec.size(); ++at) {
    if (spec[at] == '"') in_quotes = !in_quotes;
    if (spec[at] != '@' || in_quotes) continue;
    std::size_t end = at + 1;
    while (end < spec.size() && spec[end] >= 'a' && spec[end] <= 'z') ++end;
    if (end > at + 1 && end < spec.size() && spec[end] == '=') return at;
  }
  return spec.size();
}

std::string policy_part(std::string_view spec) { return std::string(spec.substr(0, edits_begin(spec))); }

LaneEdits edits_of(std::string_view spec) {
  LaneEdits edits;
  const std::string where = "run " + quoted(spec);
  for (std::size_t at = edits_begin(spec); at < spec.size();) {
    const std::size_t end = std::min(spec.find('@', at + 1), spec.size());
    parse_edit(spec.substr(at + 1, end - at - 1), edits, where);
    at = end;
  }
  return edits;
}

std::vector<WhatIf> active_what_ifs(const LaneEdits& edits) {
  std::vector<WhatIf> out = edits.what_ifs;
  std::erase_if(out, [](const WhatIf& w) { return !w.on; });
  std::ranges::stable_sort(out, {}, &WhatIf::step);
  return out;
}

int common_steps(const LaneEdits& a, const LaneEdits& b) {
  if (a.budgets != b.budgets) return 0;
  const std::vector<WhatIf> of_a = active_what_ifs(a), of_b = active_what_ifs(b);
  const auto [x, y] = std::ranges::mismatch(of_a, of_b);
  int step = std::numeric_limits<int>::max();
  if (x != of_a.end()) step = std::min(step, x->step);
  if (y != of_b.end()) step = std::min(step, y->step);
  return std::max(step, 0);
}

std::string with_edits(std::string_view spec, const LaneEdits& edits) { return policy_part(spec) + text_of(edits); }

void parse_edit(std::string_view text, LaneEdits& edits, const std::string& where) {
  WhatIf what_if;
  BudgetOverride budget;
  std::string kind;
  std::optional<int> step, into;
  for (const Field& field : split_fields(text, where)) {
    const auto place = std::ranges::find(kKinds, field.key);
    const bool is_what_if = place != kKinds.end(), is_budget = field.key == "slots" || field.key == "factor";
    if (is_what_if || is_budget) {
      if (!kind.empty()) throw UsageError(fmt::format("{}: expected one change, got {} and {}; write two edits", where, kind, field.key));
      kind = field.key;
    }
    if (is_what_if) {
      what_if.kind = static_cast<WhatIf::Kind>(place - kKinds.begin());
      what_if.positions = list_of(field, where);
    } else if (field.key == "slots") {
      budget.slots = one_number(field, 1, kMaxPosition, where);
    } else if (field.key == "factor") {
      budget.factor = field.values.size() == 1 ? number_from<double>(field.values.front()) : std::nullopt;
      if (!budget.factor || !std::isfinite(*budget.factor) || !(*budget.factor > 0))
        throw UsageError(fmt::format("{}: factor: expected a number above 0, got {}", where, quoted(field.values.front())));
    } else if (field.key == "layers") {
      what_if.heads.layers = list_of(field, where);
    } else if (field.key == "heads") {
      what_if.heads.kv_heads = list_of(field, where);
    } else if (field.key == "step") {
      step = one_number(field, 0, kMaxPosition, where);
    } else if (field.key == "into") {
      into = one_number(field, 0, kMaxPosition, where);
    } else if (field.key == "on") {
      what_if.on = one_number(field, 0, 1, where) == 1;
    } else {
      throw UsageError(fmt::format("{}: unknown key {} of an edit; known: {}", where, quoted(field.key), kKnown));
    }
  }
  if (kind.empty()) throw UsageError(fmt::format("{}: expected what to change, got {}; known: {}", where, quoted(text), kKnown));
  if (budget.slots || budget.factor) {
    if (step || into)
      throw UsageError(fmt::format("{}: {}: a budget holds for the whole run; it takes layers, heads and on, got {}", where, kind,
                                   step ? "step" : "into"));
    budget.heads = what_if.heads;
    budget.on = what_if.on;
    edits.budgets.push_back(budget);
    return;
  }
  if (!step && what_if.kind != WhatIf::Kind::pin)
    throw UsageError(fmt::format("{}: {}: expected step=N, the step after whose compression it is done, got none", where, kind));
  if (into.has_value() != (what_if.kind == WhatIf::Kind::merge))
    throw UsageError(fmt::format("{}: {}: {}", where, kind,
                                 into ? "only a merge has a target, got into" : "expected into=POSITION, the target, got none"));
  if (into && std::ranges::binary_search(what_if.positions, *into))
    throw UsageError(fmt::format("{}: merge: expected tokens other than the target, got {} as both", where, *into));
  what_if.step = step.value_or(-1);
  what_if.into = into.value_or(-1);
  edits.what_ifs.push_back(std::move(what_if));
}

std::string text_of(const WhatIf& edit) {
  std::string out = fmt::format("{}={}", name_of(edit.kind), list_text(edit.positions));
  if (edit.into >= 0) out += fmt::format(",into={}", edit.into);
  if (edit.step >= 0) out += fmt::format(",step={}", edit.step);
  return out + heads_text(edit.heads) + (edit.on ? "" : ",on=0");
}

std::string text_of(const BudgetOverride& edit) {
  return (edit.slots ? fmt::format("slots={}", *edit.slots) : fmt::format("factor={}", edit.factor.value_or(1))) + heads_text(edit.heads) +
         (edit.on ? "" : ",on=0");
}

std::string text_of(const LaneEdits& edits) {
  std::string out;
  const auto add = [&](const auto& edit) {
    out += '@';
    out += text_of(edit);
  };
  for (const BudgetOverride& b : edits.budgets) add(b);
  for (const WhatIf& w : edits.what_ifs) add(w);
  return out;
}

void check_edits(const LaneEdits& edits, const ModelConfig& model, const std::string& where) {
  const auto check = [&](const std::vector<int>& list, const char* key, int n) {
    if (!list.empty() && list.back() >= n)
      throw UsageError(fmt::format("{}: {}: expected 0 to {}, got {}", where, key, n - 1, list.back()));
  };
  const auto check_heads = [&](const HeadChoice& heads) {
    check(heads.layers, "layers", model.n_layers);
    check(heads.kv_heads, "heads", model.n_kv_heads);
  };
  for (const WhatIf& w : edits.what_ifs) check_heads(w.heads);
  for (const BudgetOverride& b : edits.budgets) check_heads(b.heads);
}

}  // namespace kvscope
