// SPDX-License-Identifier: Apache-2.0
#include "app/cli/lane_options.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "core/error.h"
#include "core/from_chars.h"
#include "policy/catalog.h"
#include "policy/text/lane_edits.h"

namespace kvscope::cli {

namespace {

/// Takes `run=N`, or as it was once called `lane=N`, out of an edit's text.
std::size_t take_lane(std::string& text, std::size_t n_lanes, const std::string& where) {
  std::size_t lane = std::min<std::size_t>(1, n_lanes - 1);
  std::string key;
  std::size_t begin = std::string::npos;
  for (const char* name : {"run=", "lane="})
    if (begin == std::string::npos) begin = text.starts_with(key = name) ? 0 : text.find("," + key);
  if (begin == std::string::npos) return lane;
  const std::size_t from = begin == 0 ? key.size() : begin + 1 + key.size();
  const std::size_t end = std::min(text.find(',', from), text.size());
  const std::string given = text.substr(from, end - from);
  lane = number_from<std::size_t>(given).value_or(n_lanes);
  if (lane >= n_lanes) throw UsageError(fmt::format("{}: run: expected 0 (the full cache) to {}, got '{}'", where, n_lanes - 1, given));
  text.erase(begin, begin == 0 && end < text.size() ? end + 1 : end - begin);
  return lane;
}

/// The edits of one option, by lane.
std::map<std::size_t, LaneEdits> edits_by_lane(const std::vector<std::string>& texts, std::size_t n_lanes, const char* option) {
  std::map<std::size_t, LaneEdits> out;
  for (std::string text : texts) {
    const std::string where = fmt::format("{} '{}'", option, text.substr(0, 60));
    const std::size_t lane = take_lane(text, n_lanes, where);
    parse_edit(text, out[lane], where);
  }
  return out;
}

}  // namespace

std::vector<LaneSpec> lanes_of(const std::vector<std::string>& texts, const std::vector<std::string>& budgets,
                               const std::vector<std::string>& what_ifs) {
  std::vector<LaneSpec> lanes = parse_lane_specs(texts);
  if (budgets.empty() && what_ifs.empty()) return lanes;
  if (lanes.empty() || lanes.front().text != reference_policy()) lanes.insert(lanes.begin(), parse_lane_spec(reference_policy()));
  const std::size_t n_lanes = lanes.size();
  for (const auto& [lane, added] : edits_by_lane(budgets, n_lanes, "--budget")) {
    if (!added.what_ifs.empty()) throw UsageError("--budget: expected slots=N or factor=X, got what --what-if takes");
    if (lane == 0) throw UsageError("--budget: run: expected a run with a budget (1 is the first --lane), got 0, the full cache");
    LaneEdits edits = lanes[lane].edits;
    edits.budgets.insert(edits.budgets.end(), added.budgets.begin(), added.budgets.end());
    lanes[lane] = with_edits(lanes[lane], edits);
  }
  for (const auto& [lane, added] : edits_by_lane(what_ifs, n_lanes, "--what-if")) {
    if (!added.budgets.empty()) throw UsageError("--what-if: expected pin, evict, merge or restore, got what --budget takes");
    LaneEdits edits = lanes[lane].edits;
    edits.what_ifs.insert(edits.what_ifs.end(), added.what_ifs.begin(), added.what_ifs.end());
    lanes.push_back(with_edits(lanes[lane], edits));
  }
  return lanes;
}

}  // namespace kvscope::cli
