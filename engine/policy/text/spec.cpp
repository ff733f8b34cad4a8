// SPDX-License-Identifier: Apache-2.0
// The specification of a lane, checked against the catalog.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/most_runs.h"
#include "policy/policy_row.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

constexpr std::string_view kSlots = "slots", kRatio = "ratio", kBytes = "bytes", kRound = "round", kBase = "base";

/// Beside a ratio.
const ParamInfo& round_param() {
  static const ParamInfo round{.key = std::string(kRound),
                               .kind = ParamInfo::Kind::choice,
                               .default_text = "nearest",
                               .choices = {"nearest", "down"},
                               .help = "how a ratio of the prompt becomes a number of slots; down: as kvpress counts"};
  return round;
}

}  // namespace

std::span<const ParamInfo> budget_params() {
  using Kind = ParamInfo::Kind;
  static const std::array params = {
      ParamInfo{.key = std::string(kSlots), .kind = Kind::count, .min = 0, .max = 1e8, .help = "budget in slots"},
      ParamInfo{.key = std::string(kRatio), .kind = Kind::number, .min = 0, .max = 1000, .help = "budget, share of the prompt"},
      ParamInfo{.key = std::string(kBytes),
                .kind = Kind::number,
                .min = 0,
                .max = 1,
                .help = "budget, share of the bytes of the prompt's keys and values in full precision"}};
  return params;
}

namespace {

bool takes(const PolicyRow& row, std::string_view budget_key) {
  return row.has_budget || (budget_key == kBytes && !row.key_of_bytes.empty());
}

/// Of the run, or of a head.
const ParamInfo* find_param(const ResolvedRow& parts, std::string_view key) {
  key = key.substr(0, key.find('['));
  if (is_budget_key(key) && takes(*parts.row, key)) return &*std::ranges::find(budget_params(), key, &ParamInfo::key);
  if (key == kRound && parts.row->has_budget) return &round_param();
  const auto place = std::ranges::find(parts.params, key, &ParamInfo::key);
  return place == parts.params.end() ? nullptr : &*place;
}

/// The row's keys, its base's values first, for the base that was given or the default.
ResolvedRow parts_of(const LaneSpec& spec, const std::string& where) {
  const PolicyRow& row = find_row(spec.name);
  if (row.compose) {
    const auto composed = std::make_shared<const PolicyRow>(row.compose(spec, where));
    ResolvedRow out = resolve_row(*composed, {});
    out.composed = composed;
    return out;
  }
  std::string_view base = row.bases.empty() ? std::string_view{} : row.bases.front();
  for (const auto& [key, value] : spec.given)
    if (key == kBase && !row.bases.empty()) {
      const auto known = std::ranges::find(row.bases, value);
      if (known == row.bases.end())
        throw UsageError(fmt::format("{}: base: expected one of {}, got {}", where, fmt::join(row.bases, ", "), quoted(value)));
      base = *known;
    }
  return resolve_row(row, base);
}

void check_key(const ResolvedRow& parts, std::string_view key, std::string_view value, const std::string& where) {
  const ParamInfo* param = find_param(parts, key);
  if (!param) {
    if (is_budget_key(key) && takes(*parts.row, kBytes))
      throw UsageError(fmt::format("{}: {}: expected bytes=r, because {} lets no token go, got {}", where, quoted(key),
                                   parts.row->info.name, quoted(value)));
    std::vector<std::string> known;
    for (const ParamInfo& p : budget_params())
      if (takes(*parts.row, p.key)) known.push_back(p.key);
    for (const ParamInfo& p : parts.params) known.push_back(p.key);
    if (parts.composed) {
      const PolicyInfo& all = find_policy(parts.row->info.name);
      const auto other = std::ranges::find(all.params, key, &ParamInfo::key);
      if (other != all.params.end())
        throw UsageError(fmt::format("{}: key {} goes with other parts{}{}; these know: {}", where, quoted(key),
                                     other->only_with.empty() ? "" : ", with ", other->only_with, fmt::join(known, " ")));
    }
    throw UsageError(fmt::format("{}: unknown key {}; {} knows: {}", where, quoted(key), parts.row->info.name, fmt::join(known, " ")));
  }
  if (const auto own = split_head_key(key, where)) {
    const auto& keys = parts.row->head_keys;
    if (std::ranges::find(keys, own->key) == keys.end())
      throw UsageError(fmt::format("{}: {}: expected a key that {} takes for single heads ({}), got {}", where, quoted(key),
                                   parts.row->info.name, keys.empty() ? "it takes none" : fmt::format("{}", fmt::join(keys, " ")),
                                   quoted(own->key)));
  }
  check_value(*param, value, where);
}

/// Where keys choose parts: without the keys that the chosen ones do not know, `except` one.
void drop_unknown_keys(LaneSpec& spec, std::string_view except, const std::string& where) {
  if (!find_row(spec.name).compose) return;
  const ResolvedRow parts = parts_of(spec, where);
  std::erase_if(spec.given, [&](const auto& g) { return g.first != except && !find_param(parts, g.first); });
}

std::string where_of(std::string_view spec) { return "run " + quoted(spec); }

}  // namespace

ResolvedRow resolve_row(const PolicyRow& row, std::string_view base) {
  ResolvedRow out;
  out.row = &row;
  out.selecting = base.empty() ? &row : &find_row(base, true);
  if (out.selecting != &row)
    for (const ParamInfo& p : out.selecting->info.params) {
      const auto renamed = std::ranges::find(row.renamed_keys, p.key, &std::pair<std::string_view, std::string_view>::first);
      if (std::ranges::find(row.own_keys, p.key) != row.own_keys.end()) continue;
      out.params.push_back(p);
      if (renamed != row.renamed_keys.end()) out.params.back().key = renamed->second;
    }
  for (const ParamInfo& p : row.info.params) {
    const auto place = std::ranges::find(out.params, p.key, &ParamInfo::key);
    if (place == out.params.end())
      out.params.push_back(p);
    else
      *place = p;
  }
  if (row.takes_group) out.params.push_back(group_param());
  return out;
}

ResolvedLane resolve_lane(const LaneSpec& spec) {
  const std::string where = where_of(spec.text);
  ResolvedLane lane;
  lane.parts = parts_of(spec, where);
  const PolicyRow& row = *lane.parts.row;
  for (const ParamInfo& p : lane.parts.params) lane.params.set(p.key, p.default_text);
  std::vector<std::string> budgets;
  for (const auto& [key, value] : spec.given) {
    // what a trace says of a run that has no choice there can be given back
    const bool says_nothing = (key == "group" && value == "mean") || (key == "refresh" && value == "0");
    if (says_nothing && std::ranges::find(lane.parts.params, key, &ParamInfo::key) == lane.parts.params.end()) continue;
    check_key(lane.parts, key, value, where);
    if (std::optional<HeadKey> own = split_head_key(key, where)) {
      own->value = value;
      lane.head_keys.push_back(std::move(*own));
      continue;
    }
    lane.params.set(key, value);
    if (is_budget_key(key)) budgets.push_back(key);
    if (key == row.key_of_bytes) budgets.push_back(fmt::format("{}, which stands for it", key));
  }
  if (budgets.empty() && !row.default_ratio.empty()) {
    lane.params.set(kRatio, row.default_ratio);
    budgets.emplace_back(kRatio);
  }
  if (lane.params.has(kRound) && !lane.params.has(kRatio)) throw UsageError(fmt::format("{}: round: expected ratio=r beside it", where));
  const bool may_lack = row.budget_may_lack || !row.has_budget;
  if (budgets.size() > 1 || (budgets.empty() && !may_lack))
    throw UsageError(fmt::format("{}: expected exactly one of slots=N, ratio=r and bytes=r, got {}", where,
                                 budgets.empty() ? "none" : fmt::format("{}", fmt::join(budgets, " and "))));
  return lane;
}

std::vector<std::string> split_policies(std::string_view text) {
  std::vector<std::string> out;
  std::string part;
  const auto take = [&] {
    const std::size_t first = part.find_first_not_of(' '), last = part.find_last_not_of(' ');
    if (first != std::string::npos) {
      part = part.substr(first, last + 1 - first);
      if (!out.empty() && part.find('=') < part.find_first_of(":("))
        out.back() += "," + part;
      else
        out.push_back(part);
    }
    part.clear();
  };
  bool in_quotes = false;
  int brackets = 0;
  for (const char c : text) {
    if (c == '"') in_quotes = !in_quotes;
    if (!in_quotes) brackets += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && !in_quotes && brackets <= 0)
      take();
    else
      part += c;
  }
  take();
  return out;
}

LaneSpec parse_lane_spec(std::string_view text) {
  const auto checked = [](std::string_view own) {
    LaneSpec spec = split_lane_spec(own);
    check_lane_spec(spec);
    return spec;
  };
  const std::optional<std::string> own = in_own_words(text);
  if (!own) return checked(text);
  try {
    return checked(*own);
  } catch (const UsageError& e) {  // which names a run that nobody wrote
    const std::string why = e.what(), begin = where_of(*own) + ": ";
    throw UsageError(
        fmt::format("{}, read as {}: {}", where_of(text), quoted(*own), why.starts_with(begin) ? why.substr(begin.size()) : why));
  }
}

std::vector<LaneSpec> parse_lane_specs(const std::vector<std::string>& texts) {
  if (texts.size() > kMostRuns) throw UsageError(fmt::format("expected at most {} runs, got {}", kMostRuns, texts.size()));
  std::vector<LaneSpec> out;
  for (const std::string& text : texts) out.push_back(parse_lane_spec(text));
  return out;
}

void check_lane_spec(const LaneSpec& spec) { resolve_lane(spec); }

std::string reason_for(std::string_view key, std::string_view message) {
  const std::string place = fmt::format(": {}: ", key);
  const std::size_t at = message.find(place);
  return std::string(at == std::string_view::npos ? message : message.substr(at + place.size()));
}

LaneSpec lane_spec_of_result(std::string_view text) {
  try {
    return parse_lane_spec(text);
  } catch (const UsageError&) {  // a policy, key or edit of another build
    return {.text = std::string(text), .name = {}};
  }
}

LaneSpec with_edits(const LaneSpec& spec, const LaneEdits& edits) {
  LaneSpec out = spec;
  out.edits = edits;
  out.text = with_edits(std::string_view(spec.text), edits);
  return out;
}

std::vector<ParamInfo> params_of(const LaneSpec& spec) { return parts_of(spec, where_of(spec.text)).params; }

PolicyInfo info_of(const LaneSpec& spec) {
  PolicyInfo info = find_policy(spec.name);
  if (info.keys_follow_choices) {
    const ResolvedRow parts = parts_of(spec, where_of(spec.text));
    info = parts.row->info;
    info.params = parts.params;
  }
  return info;
}

std::optional<PolicyInfo> info_of_result(std::string_view policy, std::string_view spec) {
  if (const LaneSpec read = lane_spec_of_result(spec); read.name == policy) return info_of(read);
  const auto all = policies();  // a key or a part that this build does not know: the words for any choice
  const auto it = std::ranges::find(all, policy, &PolicyInfo::name);
  return it == all.end() ? std::nullopt : std::optional(*it);
}

std::optional<LaneSpec> with_question(const LaneSpec& spec, int n_tokens) {
  const std::vector<ParamInfo> params = params_of(spec);
  const auto key = std::ranges::find_if(params, &ParamInfo::of_question);
  if (key == params.end()) return std::nullopt;
  return with_param(spec, key->key, std::to_string(n_tokens));
}

bool is_budget_key(std::string_view key) { return std::ranges::find(budget_params(), key, &ParamInfo::key) != budget_params().end(); }

LaneSpec with_param(const LaneSpec& before, std::string_view key, std::string_view value) {
  LaneSpec spec = before;
  const std::string where = where_of(before.text);
  if (value.find('"') != std::string_view::npos)
    throw UsageError(fmt::format("{}: {}: expected a value without a quote, got {}", where, quoted(key), quoted(value)));
  const auto same_place = [&](std::string_view k) { return k == key || (!value.empty() && is_budget_key(k) && is_budget_key(key)); };
  const auto place = std::ranges::find_if(spec.given, [&](const auto& g) { return same_place(g.first); });
  if (value.empty()) {
    if (place != spec.given.end()) spec.given.erase(place);
    drop_unknown_keys(spec, {}, where);
    spec.text = join_lane_spec(spec);
    return spec;
  }
  if (place == spec.given.end())
    spec.given.emplace_back(key, value);
  else
    *place = {std::string(key), std::string(value)};
  if (is_budget_key(key) && key != kRatio) std::erase_if(spec.given, [](const auto& g) { return g.first == kRound; });
  drop_unknown_keys(spec, key, where);
  check_key(parts_of(spec, where), key, value, where);
  spec.text = join_lane_spec(spec);
  return spec;
}

std::string with_param(std::string_view text, std::string_view key, std::string_view value) {
  return with_param(split_lane_spec(in_own_words(text).value_or(std::string(text))), key, value).text;
}

}  // namespace kvscope
