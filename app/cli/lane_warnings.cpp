// SPDX-License-Identifier: Apache-2.0
#include "app/cli/lane_warnings.h"

#include <algorithm>

#include <fmt/core.h>

namespace kvscope::cli {

void LaneWarnings::add(const std::string& spec, std::span<const LaneWarning> warnings) {
  const auto [place, is_new] = runs_.try_emplace(spec);
  if (is_new) specs_.push_back(spec);
  OfRun& run = place->second;
  ++run.n_texts;
  for (const LaneWarning& warning : warnings) {
    const auto same = std::ranges::find_if(run.warnings, [&](const auto& known) { return known.first.kind == warning.kind; });
    if (same == run.warnings.end())
      run.warnings.emplace_back(warning, 1);
    else
      ++same->second;
  }
}

std::vector<std::string> LaneWarnings::of(const std::string& spec) const {
  std::vector<std::string> out;
  const auto run = runs_.find(spec);
  if (run == runs_.end()) return out;
  for (const auto& [warning, n] : run->second.warnings)
    out.push_back(run->second.n_texts == 1
                      ? text_of(warning)
                      : fmt::format("{} (so in the first of {} of {} {})", text_of(warning), n, run->second.n_texts, of_));
  return out;
}

std::vector<std::string> LaneWarnings::all() const {
  std::vector<std::string> out;
  for (const std::string& spec : specs_)
    for (const std::string& sentence : of(spec)) out.push_back(fmt::format("{}: {}", spec, sentence));
  return out;
}

}  // namespace kvscope::cli
