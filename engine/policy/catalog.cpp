// SPDX-License-Identifier: Apache-2.0
// The table of named policies, collected from its families. Only they know the names: a policy is a row, what it does is its parts.
#include "policy/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/rows.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

std::vector<PolicyRow> make_rows() {
  std::vector<PolicyRow> rows;
  for (const auto family : {position_rows, hindsight_rows, score_rows, geometry_rows, learned_rows, probing_rows, observation_rows,
                            merging_rows, keepkv_rows, refit_rows, storing_rows, pair_rows, given_rows, custom_rows})
    for (PolicyRow& row : family()) rows.push_back(std::move(row));
  std::stable_partition(rows.begin(), rows.end(), [](const PolicyRow& row) { return row.listed; });
  return rows;
}

/// The keys with the default base first, then what other bases add.
std::vector<ParamInfo> params_with_any_base(const PolicyRow& row) {
  if (row.compose) return row.info.params;
  if (row.bases.empty()) return resolve_row(row, {}).params;
  std::vector<ParamInfo> params;
  for (const std::string_view base : row.bases)
    for (ParamInfo& p : resolve_row(row, base).params)
      if (std::ranges::find(params, p.key, &ParamInfo::key) == params.end()) params.push_back(std::move(p));
  return params;
}

std::vector<PolicyInfo> make_infos() {
  std::vector<PolicyInfo> infos;
  for (const PolicyRow& row : policy_rows()) {
    if (!row.listed || row.from_file) continue;
    infos.push_back(row.info);
    infos.back().params = params_with_any_base(row);
    infos.back().takes_budget = row.has_budget;
    infos.back().takes_bytes = row.has_budget || !row.key_of_bytes.empty();
    if (row.info.statistic.empty() || !row.reads_attention)
      std::erase_if(infos.back().params, [](const ParamInfo& p) { return p.key == "group"; });  // without effect there
  }
  return infos;
}

/// Letters to put in, take out or change to make one word of the other, small and capital ones alike.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
      before = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, before + (same ? 0U : 1U)}));
    }
  }
  return row.back();
}

/// The known name that a mistyped one was probably meant to be; empty: none.
std::string meant_by(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 2, kLongest = 64;
  if (name.size() > kLongest) return {};
  const auto nearest = std::ranges::min_element(known, {}, [name](const std::string& k) { return distance(name, k); });
  return distance(name, *nearest) <= std::min(kMost, name.size() / 2) ? *nearest : std::string();
}

}  // namespace

ParamInfo group_param() {
  return choice("group", {"mean", "max", "sum"}, "how the query heads that share a KV head become one attention row");
}

std::span<const PolicyRow> policy_rows() {
  static const std::vector<PolicyRow> rows = make_rows();
  return rows;
}

const PolicyRow& find_row(std::string_view name, bool with_bases) {
  for (const PolicyRow& row : policy_rows())
    if (row.info.name == name && (row.listed || with_bases)) return row;
  std::vector<std::string> known;
  for (const PolicyInfo& info : policies()) known.push_back(info.name);
  known.push_back(given_policy().name);
  const std::string meant = meant_by(name, known);
  throw UsageError(fmt::format("unknown policy {}{}; known: {}", quoted(name),
                               meant.empty() ? "" : fmt::format(", did you mean {}?", meant), fmt::join(known, " ")));
}

std::span<const PolicyInfo> policies() {
  static const std::vector<PolicyInfo> infos = make_infos();
  return infos;
}

const PolicyInfo& given_policy() { return std::ranges::find_if(policy_rows(), &PolicyRow::from_file)->info; }

std::string given_spec(const std::string& file, const std::string& run) {
  LaneSpec spec{.text = {}, .name = given_policy().name, .given = {{"file", file}}};
  if (!run.empty()) spec.given.emplace_back("run", run);
  return join_lane_spec(spec);
}

std::string own_score_spec(int slots) { return parse_lane_spec(fmt::format("custom:slots={},stat=score", slots)).text; }

const std::string& reference_policy() {
  static const std::string name = [] {
    const auto unlimited_row = std::ranges::find_if(policy_rows(), [](const PolicyRow& row) { return row.listed && !row.has_budget; });
    return unlimited_row->info.name;
  }();
  return name;
}

const PolicyInfo& find_policy(std::string_view name) {
  for (const PolicyInfo& info : policies())
    if (info.name == name) return info;
  if (given_policy().name == name) return given_policy();
  find_row(name);  // throws, naming the known ones
  KVSCOPE_ASSERT(false);
}

}  // namespace kvscope
