// SPDX-License-Identifier: Apache-2.0
#include "policy/policy_pair.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "policy/catalog/rows.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

constexpr std::string_view kName = "prefill_decode", kPrefill = "prefill", kDecode = "decode";

ParamInfo part(std::string_view key, const char* otherwise, const char* help) {
  return {.key = std::string(key), .kind = ParamInfo::Kind::text, .default_text = otherwise, .help = help};
}

PolicyInfo words() {
  return {.name = std::string(kName),
          .title = "Two policies",
          .paper = "",
          .idea = "One policy compresses the prompt, another one what is generated.",
          .ranking = "as its two policies do",
          .merging = "as its two policies do",
          .sees_question_in_prefill = true,  // as its default does
          .params = {
              part(kPrefill, "snapkv:ratio=0.5", "policy of the prompt with its keys, in quotes where it has several: it must only evict"),
              part(kDecode, "h2o:ratio=0.5", "policy of the steps after the prompt, likewise: it must compress in steps")}};
}

/// Checked by itself; whether the two go together is seen when they are made (Policy::make).
LaneSpec part_of(const LaneSpec& pair, std::string_view key) {
  const std::string where = fmt::format("run {}: {}", quoted(pair.text), key);
  const auto given = std::ranges::find(pair.given, key, [](const auto& g) { return std::string_view(g.first); });
  const PolicyInfo info = words();
  const std::string& text = given != pair.given.end() ? given->second : std::ranges::find(info.params, key, &ParamInfo::key)->default_text;
  LaneSpec spec;
  try {
    spec = parse_lane_spec(text);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", where, e.what()));
  }
  if (spec.name == kName) throw UsageError(where + ": expected one policy, got two");
  if (!spec.edits.empty()) throw UsageError(where + ": expected no edits by hand inside: they belong behind the pair");
  return spec;
}

/// Each of the two has its own budget.
PolicyRow row() { return {.info = words(), .has_budget = false, .takes_group = false, .reads_attention = false}; }

}  // namespace

std::optional<PolicyPair> pair_of(const LaneSpec& spec) {
  if (spec.name != kName) return std::nullopt;
  return PolicyPair{part_of(spec, kPrefill), part_of(spec, kDecode)};
}

std::vector<PolicyRow> pair_rows() {
  PolicyRow pair = row();
  pair.compose = [](const LaneSpec& given, const std::string&) {
    (void)pair_of(given);
    return row();
  };
  return {std::move(pair)};
}

}  // namespace kvscope
