// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/not_available.h"

namespace kvscope {

/// Which tokens other software kept of one text, in one or several runs: a file of the schema kvscope.kept/1 (TRACE.md section 6). What it
/// does not say is empty or NaN, never 0.
struct KeptFile {
  struct Step {
    int step = 0;                             // 0: after the prompt
    std::vector<std::vector<int>> kept;       // [n_layers * n_kv_heads] positions in the text, ascending
    std::vector<std::vector<double>> scores;  // of the same positions; empty: not given
  };
  struct Run {
    std::string name;
    double ratio = kNotAvailable;        // as the file says
    std::string positions = "original";  // where its keys stand, in the words of the policies' key `positions`
    std::vector<Step> steps;             // ascending
    int n_merges = 0;                    // tokens that it merged into others, which are told and not repeated here
  };

  std::string path;   // for messages
  std::string model;  // its name
  int n_layers = 0;
  int n_kv_heads = 0;
  int n_prompt = 0;
  std::vector<int> tokens;  // ids, the prompt's first
  std::vector<Run> runs;    // at least one

  /// nullptr: there is none of this name. Empty: the first.
  const Run* run(std::string_view name) const {
    if (name.empty()) return &runs.front();
    const auto found = std::ranges::find(runs, name, &Run::name);
    return found == runs.end() ? nullptr : &*found;
  }
};

}  // namespace kvscope
