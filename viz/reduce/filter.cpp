// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/filter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

bool TokenFilter::hides(const HeadColumns& columns, int token) const {
  const auto i = static_cast<std::size_t>(token);
  if (std::isfinite(min_score) && columns.score[i] < min_score) return true;  // false for NaN
  if (columns.votes[i] < min_votes) return true;
  return max_age >= 0 && columns.size() - 1 - token > max_age;
}

HiddenCount hide_tokens(HeadColumns& columns, const TokenFilter& filter) {
  HiddenCount count;
  count.all_tokens = columns.size();
  std::vector<int> hidden;
  for (int t = 0; t < columns.size(); ++t) {
    const bool slot = columns.votes[static_cast<std::size_t>(t)] > 0;
    count.all_slots += slot;
    if (!filter.active() || !filter.hides(columns, t)) continue;
    hidden.push_back(t);
    count.slots += slot;
  }
  count.tokens = static_cast<int>(hidden.size());
  for (const int t : hidden) {
    const auto i = static_cast<std::size_t>(t);
    columns.category[i] = Category::unseen;
    columns.votes[i] = 0;
    columns.score[i] = columns.attention[i] = columns.lost[i] = kNotAvailable;
    if (!columns.statistic.empty()) columns.statistic[i] = kNotAvailable;
    if (!columns.probed.empty()) columns.probed[i] = kNotAvailable;
  }
  return count;
}

ValueSummary summarise(std::span<const double> values, int first, int last) {
  ValueSummary out;
  for (int i = std::max(0, first); i <= std::min(last, static_cast<int>(values.size()) - 1); ++i) {
    const double v = values[static_cast<std::size_t>(i)];
    if (!std::isfinite(v)) continue;
    out.min = out.n == 0 ? v : std::min(out.min, v);
    out.max = out.n == 0 ? v : std::max(out.max, v);
    out.sum += v;
    ++out.n;
  }
  if (out.n > 0) out.mean = out.sum / out.n;
  return out;
}

std::string range_summary(const HeadColumns& columns, const TokenRange& range) { return range_summary(columns, std::span(&range, 1)); }

std::string range_summary(const HeadColumns& columns, std::span<const TokenRange> ranges) {
  std::vector<TokenRange> seen;
  int n = 0;
  std::string names;
  for (const TokenRange& range : ranges) {
    const TokenRange r{std::max(0, range.first), std::min(range.last, columns.size() - 1)};
    if (r.last < r.first) continue;
    seen.push_back(r);
    n += r.last - r.first + 1;
    if (seen.size() > 3) continue;
    names += names.empty() ? "" : ", ";
    names +=
        ranges.size() == 1 || r.first != r.last ? fmt::format("{}–{}", format_count(r.first), format_count(r.last)) : format_count(r.first);
  }
  if (seen.empty()) return {};
  if (seen.size() > 3) names += fmt::format(" and {} more places", seen.size() - 3);
  std::string text = fmt::format("tokens {} ({})", names, format_count(n));
  const auto add = [&](const char* name, std::span<const double> values) {
    ValueSummary all;
    for (const TokenRange& r : seen) {
      const ValueSummary s = summarise(values, r.first, r.last);
      if (s.n == 0) continue;
      all.max = all.n == 0 ? s.max : std::max(all.max, s.max);
      all.sum = all.n == 0 ? s.sum : all.sum + s.sum;
      all.n += s.n;
    }
    if (all.n == 0)
      text += fmt::format(" · {} {}", name, kNotAvailableText);
    else
      text += fmt::format(" · {} of {}: sum {}, mean {}, max {}", name, format_count(all.n), format_number(all.sum),
                          format_number(all.sum / all.n), format_number(all.max));
  };
  add("score", columns.score);
  add("attention", columns.attention);
  std::int64_t votes = 0;
  for (const TokenRange& r : seen)
    for (int t = r.first; t <= r.last; ++t) votes += columns.votes[static_cast<std::size_t>(t)];
  return text + " · votes " + format_count(votes);
}

double top_mass(const HeadRecord& head, int k) {
  std::vector<double> positive;
  double total = 0;
  for (const float a : head.attention) {
    if (!(std::isfinite(a) && a > 0)) continue;
    positive.push_back(static_cast<double>(a));
    total += positive.back();
  }
  if (!(total > 0)) return kNotAvailable;
  const auto n = std::min<std::size_t>(positive.size(), static_cast<std::size_t>(std::max(0, k)));
  std::partial_sort(positive.begin(), positive.begin() + static_cast<std::ptrdiff_t>(n), positive.end(), std::greater<>());
  double top = 0;
  for (std::size_t i = 0; i < n; ++i) top += positive[i];
  return top / total;
}

}  // namespace kvscope::viz
