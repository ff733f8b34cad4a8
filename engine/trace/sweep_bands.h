// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snapshot/figures.h"
#include "trace/sweep_contents.h"
#include "trace/sweep_item.h"

namespace kvscope {

/// What a run of a sweep comes to over texts and seeds.
struct SweepBand {
  std::array<Statistics, kSweepFigures.size()> figures;  // of the items that have the figure
  std::size_t n = 0;                                     // items
  bool seeds_alike = false;                              // several gave the same on every text: they are one item, several times
  // Item by item beside another run on the same text with the same seed: by score, where both have one, else by KL. An item in which they
  // are alike is in neither; compared 0: nothing to compare with. Where the seeds of both are alike each text counts once.
  std::size_t better = 0, worse = 0, compared = 0;
  bool texts_once = false;
  Statistics own_bytes, other_bytes;  // of keys and values in those items: by this run, and by the one beside it

  const Statistics& figure(std::string_view name) const { return figures[sweep_figure(name)]; }
};

/// results: texts × seeds × runs, the run fastest; nullopt: not there (yet). beside: of each run, the run that it is paired with; itself:
/// none. Items that are not there are in no band and in no pair. One band per run.
std::vector<SweepBand> sweep_bands(std::span<const std::size_t> beside, std::size_t n_seeds,
                                   std::span<const std::optional<SweepResult>> results);
/// "better on 9 of 16, worse on 3", and of what where seeds are alike: "better on 3 of 4 texts (all seeds alike), worse on 1"; empty:
/// nothing to compare with.
std::string words_of_pairs(const SweepBand& band);

inline constexpr std::size_t kSweepDepths = 5;
/// The fifth of the context in which a text's answer stands; nullopt: that is not known.
std::optional<std::size_t> sweep_depth_of(const SweepContents::Text& text);
/// The score of each run by how deep in the context the answer stands: [run][fifth of the context]; of the texts whose depth is known.
std::vector<std::array<Statistics, kSweepDepths>> sweep_depths(const SweepContents& contents,
                                                               std::span<const std::optional<SweepResult>> results);

/// The tokens of the answers in one head, over items.
struct HeadAnswers {
  std::size_t kept = 0;     // items in which every token has a slot of its own
  std::size_t merged = 0;   // in which every token is represented, one at least only by another's slot
  std::size_t evicted = 0;  // in which one at least is gone
  bool operator==(const HeadAnswers&) const = default;
};
/// The same of all heads of a run.
struct SweepHeads {
  std::size_t n = 0;  // items of which it is known; 0: there are no heads
  int n_layers = 0, n_kv_heads = 0;
  std::vector<HeadAnswers> after_prompt, at_end;  // layer-major
};
/// One per run. Items that say nothing of it, or that are of other heads than the run's first, count in none.
std::vector<SweepHeads> sweep_heads(std::size_t n_runs, std::span<const std::optional<SweepResult>> results);

}  // namespace kvscope
