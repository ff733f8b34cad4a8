// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "snapshot/figures.h"
#include "trace/sweep_contents.h"
#include "trace/sweep_item.h"

namespace kvscope {

/// What a run of a sweep comes to over texts and seeds.
struct SweepBand {
  std::array<Statistics, kSweepFigures.size()> figures;  // of the items that have the figure
  std::size_t n = 0;                                     // items
  // Item by item beside another run on the same text with the same seed: by score, where both have one, else by KL. An item in which they
  // are alike is in neither; compared 0: nothing to compare with.
  std::size_t better = 0, worse = 0, compared = 0;

  const Statistics& figure(std::string_view name) const { return figures[sweep_figure(name)]; }
};

/// results: texts × seeds × runs, the run fastest; nullopt: not there (yet). beside: of each run, the run that it is paired with; itself:
/// none. Items that are not there are in no band and in no pair. One band per run.
std::vector<SweepBand> sweep_bands(std::span<const std::size_t> beside, std::span<const std::optional<SweepResult>> results);

inline constexpr std::size_t kSweepDepths = 5;
/// The fifth of the context in which a text's answer stands; nullopt: that is not known.
std::optional<std::size_t> sweep_depth_of(const SweepContents::Text& text);
/// The score of each run by how deep in the context the answer stands: [run][fifth of the context]; of the texts whose depth is known.
std::vector<std::array<Statistics, kSweepDepths>> sweep_depths(const SweepContents& contents,
                                                               std::span<const std::optional<SweepResult>> results);

}  // namespace kvscope
