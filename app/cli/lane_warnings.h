// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::cli {

/// Warnings of runs over many texts: of every kind the first one of a run, and in how many of its texts there was one.
class LaneWarnings {
 public:
  /// of: what there are several of, "texts".
  explicit LaneWarnings(std::string of = "texts") : of_(std::move(of)) {}
  /// The run's result on one more text.
  void add(const std::string& spec, std::span<const LaneWarning> warnings);
  /// Sentences about a run, by its specification.
  std::vector<std::string> of(const std::string& spec) const;
  /// "SPEC: SENTENCE", those of one run after the other.
  std::vector<std::string> all() const;

 private:
  struct OfRun {
    int n_texts = 0;
    std::vector<std::pair<LaneWarning, int>> warnings;  // the first of its kind, texts
  };
  std::string of_;
  std::vector<std::string> specs_;  // in the order of their first texts
  std::map<std::string, OfRun> runs_;
};

}  // namespace kvscope::cli
