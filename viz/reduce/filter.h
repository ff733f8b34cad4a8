// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "viz/reduce/head.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// Which tokens of a head are looked at.
struct TokenFilter {
  double min_score = kNotAvailable;  // NaN: any; tokens that have no score were not ranked, and no threshold hides them
  int min_votes = 0;                 // of the token's own slot; 1: only tokens that have one
  int max_age = -1;                  // positions behind the newest one; -1: any

  bool active() const { return min_score == min_score || min_votes > 0 || max_age >= 0; }
  bool hides(const HeadColumns& columns, int token) const;
};

/// How much a filter takes away.
struct HiddenCount {
  int tokens = 0, slots = 0;  // hidden
  int all_tokens = 0, all_slots = 0;
};

/// Takes the hidden tokens out of the columns: not seen, no values.
HiddenCount hide_tokens(HeadColumns& columns, const TokenFilter& filter);

/// Of the numbers among values[first..last].
struct ValueSummary {
  int n = 0;
  double sum = 0, min = kNotAvailable, mean = kNotAvailable, max = kNotAvailable;
};
ValueSummary summarise(std::span<const double> values, int first, int last);

/// "tokens 85–88 (4): score of 3: sum 0.12, mean 0.04, max 0.05 · attention of 2: ... · votes 9"
std::string range_summary(const HeadColumns& columns, const TokenRange& range);
/// The same over several ranges: "tokens 85–88, 90 (5): ..."; more than three of them are counted.
std::string range_summary(const HeadColumns& columns, std::span<const TokenRange> ranges);

/// Share of this step's attention that the k most attended slots have; NaN where it was not captured.
double top_mass(const HeadRecord& head, int k);

}  // namespace kvscope::viz
