// SPDX-License-Identifier: Apache-2.0
#include "slots/statistics/log_ema.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "core/place.h"
#include "core/vector_math.h"

namespace kvscope {

void log_ema::fold(std::span<double> lS, std::span<int> n, double alpha, int group, std::span<const double> z) {
  // kept by its thread: in a step an allocation would cost as much as the work
  thread_local std::vector<double> updated, news;
  const double ln_keep = std::log(alpha), ln_new = std::log1p(-alpha);
  updated.resize(z.size());
  news.resize(z.size());
  bool all_scored = true;
  for (std::size_t x = 0; x < z.size(); ++x) {
    updated[x] = lS[x] + ln_keep;
    news[x] = z[x] + ln_new;
    all_scored &= z[x] != kMinusInf;
  }
  log_add_exp_all(updated, news);
  if (all_scored) {  // the usual step
    std::ranges::copy(updated, lS.begin());
    for (int& count : n) ++count;
    return;
  }
  for (std::size_t x = 0; x < z.size(); ++x)
    if (z[x] != kMinusInf) lS[x] = updated[x];
  for (std::size_t i = 0; i < n.size(); ++i)
    if (z[i * at(group)] != kMinusInf) ++n[i];
}

/// Some columns at a time, which stay in the cache from the search for the largest term to the sum.
void log_ema::fold_prompt(std::span<double> lS, std::span<int> n, double alpha, int group, int rows, std::span<const double> z) {
  constexpr std::size_t kColumns = 128;
  const double ln_keep = std::log(alpha), ln_first = std::log1p(-alpha);
  const std::size_t slots = n.size(), size = at(group) * slots;
  double top[kColumns], total[kColumns], share[kColumns];
  for (std::size_t first = 0; first < size; first += kColumns) {
    const std::size_t width = std::min(kColumns, size - first);
    const auto newest_first = [&](const auto& body) {
      double ln_weight = ln_first;
      for (int r = rows - 1; r >= 0; --r, ln_weight += ln_keep) body(z.data() + at(r) * size + first, ln_weight);
    };
    std::fill_n(top, width, kMinusInf);
    newest_first([&](const double* row, double ln_weight) {
      for (std::size_t x = 0; x < width; ++x) top[x] = std::max(top[x], ln_weight + row[x]);
    });
    std::fill_n(total, width, 0.0);
    newest_first([&](const double* row, double ln_weight) {
      for (std::size_t x = 0; x < width; ++x)
        share[x] = ln_weight + row[x] - top[x];  // every slot is seen by the newest row: no top is -inf
      exp_all(std::span(share, width));
      for (std::size_t x = 0; x < width; ++x) total[x] += share[x];
    });
    log_all(std::span(total, width));
    for (std::size_t x = 0; x < width; ++x) lS[(first + x) % slots * at(group) + (first + x) / slots] = top[x] + total[x];
  }
  for (int r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < slots; ++i) n[i] += z[at(r) * size + i] != kMinusInf;
}

double EmaStart::operator()(int n) const {
  constexpr int kMost = 4096;          // of one alpha
  constexpr std::size_t kAlphas = 16;  // more than a run has, as a rule
  if (n >= kMost) return at(n);
  thread_local std::map<double, std::vector<double>> known;
  thread_local std::pair<const double, std::vector<double>>* newest = nullptr;
  if (!newest || newest->first != alpha_) {
    if (known.size() > kAlphas) known.clear();
    newest = &*known.try_emplace(alpha_).first;
  }
  std::vector<double>& values = newest->second;
  while (static_cast<int>(values.size()) <= n) values.push_back(at(static_cast<int>(values.size())));
  return values[kvscope::at(n)];
}

}  // namespace kvscope
