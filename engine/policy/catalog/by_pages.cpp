// SPDX-License-Identifier: Apache-2.0
// A named policy where only whole pages can go, as in engines with paged caches: its parts, with such a selection.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "policy/catalog/preset.h"
#include "policy/policy_row.h"
#include "policy/text/params.h"

namespace kvscope {

namespace {
constexpr std::string_view kBlock = "block";
}  // namespace

std::optional<LaneSpec> by_pages(const LaneSpec& spec) {
  const auto row = std::ranges::find_if(policy_rows(), [&](const PolicyRow& r) { return r.listed && r.info.name == spec.name; });
  const auto gives = [&](std::string_view key) { return std::ranges::any_of(spec.given, [&](const auto& g) { return g.first == key; }); };
  if (row == policy_rows().end() || !gives(kBlock)) return std::nullopt;
  const bool own = std::ranges::find(row->info.params, kBlock, &ParamInfo::key) != row->info.params.end();
  if (row->compose ? gives("select") : own) return std::nullopt;
  std::optional<LaneSpec> out = in_parts(spec);
  if (!out)
    throw UsageError(fmt::format("run {}: {}: expected a policy whose own selection can go by pages, got {}, {}", quoted(spec.text), kBlock,
                                 spec.name, row->has_budget ? "which selects as others do" : "which lets no token go"));
  const auto select = std::ranges::find(out->given, "select", [](const auto& g) { return std::string_view(g.first); });
  if (select != out->given.end())
    throw UsageError(fmt::format("run {}: {}: expected a policy that frees slots one by one, got {}, which has select={}",
                                 quoted(spec.text), kBlock, spec.name, select->second));
  set_key(*out, "select", "pages");
  set_key(*out, "unit", "layer");
  out->text = join_lane_spec(*out);
  return out;
}

}  // namespace kvscope
