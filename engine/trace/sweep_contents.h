// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope {

/// What a sweep consists of: its items are texts × seeds × runs, the run fastest. Its store keeps this beside the items, so that somebody
/// who only has the folder knows which items there will be, and which belong together.
struct SweepContents {
  struct Run {
    std::string policy, spec;
    double ratio = 1;        // the budget: share of the prompt's tokens
    std::size_t beside = 0;  // the run of the same budget that it is paired with; itself where there is none
  };
  struct Text {
    int number = 1;                // its place in the file of texts
    double depth = kNotAvailable;  // where in the context its answer stands: 0 first, 1 last; n/a: nowhere, or in several places
  };
  std::string model;
  std::string how, command;  // what every item had in common, in words; the command that computes them. Empty: it is not known
  std::vector<Run> runs;
  std::vector<Text> texts;
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> keys;  // of the items, SweepItem::key()

  std::vector<std::size_t> beside() const;  // of each run
  const Text& text_of(std::size_t item) const { return texts[item / runs.size() / seeds.size()]; }
};

/// JSON, schema kvscope.sweep-contents/1.
std::string sweep_contents_json(const SweepContents& contents);
/// Throws Error: no such document, damaged, or one whose numbers do not fit together. `name` begins the message.
SweepContents read_sweep_contents(std::string_view json, const std::string& name);

}  // namespace kvscope
