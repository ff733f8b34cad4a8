// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "policy/head_view.h"

namespace kvscope {

/// Smallest and largest number of every channel over the keys of the first pages of a head, as far as they are full.
struct PageBounds {
  int page = 0;                     // slots of a page
  std::vector<double> least, most;  // [pages, head_dim]
};

/// Nothing leaves; a query reads the page it stands in, which counts, and of the others those whose keys may give it the largest logits
/// (Quest, arXiv 2406.10774): sum over channels of max(q_c least_c, q_c most_c), of the group's query heads the largest; of
/// equal ones the lower page. The first `whole` layers read everything.
class PageReading {
 public:
  PageReading(int page, int pages, int whole) : page_(page), pages_(pages), whole_(whole) {}
  int page() const { return page_; }
  bool reads_all(int layer) const { return layer < whole_; }
  /// What a page may give at most to a query, without 1/sqrt(d): q [group, head_dim], bounds of one page [head_dim].
  static double score(std::span<const double> q, std::span<const double> least, std::span<const double> most);
  /// Of all pages before that of the query over n slots, which are full: bounds has them.
  std::vector<double> scores(std::span<const double> q, const PageBounds& bounds, int n, int head_dim) const;
  /// Pages with these scores that are not read, ascending.
  std::vector<int> unread_pages(std::span<const double> scores) const;

 private:
  int page_, pages_, whole_;
};

}  // namespace kvscope
