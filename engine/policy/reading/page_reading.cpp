// SPDX-License-Identifier: Apache-2.0
#include "policy/reading/page_reading.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace kvscope {

double PageReading::score(std::span<const double> q, std::span<const double> least, std::span<const double> most) {
  const std::size_t width = least.size();
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t first = 0; first < q.size(); first += width) {
    double sum = 0;
    for (std::size_t c = 0; c < width; ++c) sum += std::max(q[first + c] * least[c], q[first + c] * most[c]);
    best = std::max(best, sum);
  }
  return best;
}

std::vector<double> PageReading::scores(std::span<const double> q, const PageBounds& bounds, int n, int head_dim) const {
  const auto width = static_cast<std::size_t>(head_dim), others = static_cast<std::size_t>((n - 1) / page_);
  KVSCOPE_ASSERT(bounds.page == page_ && bounds.least.size() >= width * others);
  std::vector<double> out;
  for (std::size_t p = 0; p < others; ++p)
    out.push_back(score(q, std::span(bounds.least).subspan(p * width, width), std::span(bounds.most).subspan(p * width, width)));
  return out;
}

std::vector<int> PageReading::unread_pages(std::span<const double> scores) const {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)]; });
  order.erase(order.begin(), order.begin() + std::min<std::ptrdiff_t>(pages_ - 1, std::ssize(order)));  // the query's own is read, too
  std::ranges::sort(order);
  return order;
}

}  // namespace kvscope
