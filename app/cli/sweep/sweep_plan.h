// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/sweep/sweep_texts.h"
#include "arch/model_files.h"
#include "policy/lane_spec.h"
#include "trace/sweep_contents.h"
#include "trace/sweep_item.h"

namespace kvscope::cli {

/// The work of a sweep as a list: every text with every seed, and there the full cache first, then every policy at every ratio. Items are
/// independent of each other but for the time it takes: those of one text share the full cache's run.
class SweepPlan {
 public:
  struct Run {
    LaneSpec lane;
    double ratio = 1;    // the budget: share of the prompt's tokens, or of their bytes
    std::string files;   // hashes of files that it names
    std::size_t beside;  // the run that it is paired with: that of the first policy at the same ratio; itself where there is none
  };
  struct Place {
    const SweepText& text;
    std::uint64_t seed;
    const Run& run;
  };

  /// with_keys: hashes are made, without which no item has a key. Throws Error, UsageError.
  SweepPlan(const Arguments& arguments, const ModelFiles& model, bool with_keys);

  std::size_t size() const { return items_.size(); }
  /// For a store; items need keys.
  SweepContents contents(const Arguments& arguments) const;
  const SweepItem& item(std::size_t i) const { return items_[i]; }
  Place place(std::size_t i) const { return {texts_[i / runs_.size() / seeds_.size()], seeds_[i / runs_.size() % seeds_.size()], run(i)}; }
  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<SweepText>& texts() const { return texts_; }
  std::size_t n_seeds() const { return seeds_.size(); }
  const Run& run(std::size_t i) const { return runs_[i % runs_.size()]; }
  /// The first item of the same text and seed: that of the full cache.
  std::size_t reference_of(std::size_t i) const { return i - i % runs_.size(); }
  /// Items [first, second) of part `part` (from 1) of n: neighbours, so that they share runs of the full cache.
  std::pair<std::size_t, std::size_t> shard(std::size_t part, std::size_t n) const { return {(part - 1) * size() / n, part * size() / n}; }

 private:
  std::vector<Run> runs_;
  std::vector<SweepText> texts_;
  std::vector<std::uint64_t> seeds_;
  std::vector<SweepItem> items_;
};

}  // namespace kvscope::cli
