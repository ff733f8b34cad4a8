// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/reference_ranking.h"

#include <algorithm>
#include <cmath>

namespace kvscope {

std::vector<double> ReferenceRanking::score(const HeadView& head) const {
  const ReferenceQueries::Rows rows = queries_.over(head);
  std::vector<double> score(rows.n, 0.0);
  for (std::size_t r = 0; r < rows.mass.size(); ++r)
    for (std::size_t i = 0; i < rows.n; ++i) {
      const double a = rows.exp_logit[r * rows.n + i] / rows.mass[r];
      score[i] = largest_ ? std::max(score[i], a) : score[i] + a * a;
    }
  if (largest_) return score;
  for (double& x : score) x = std::sqrt(x / static_cast<double>(rows.mass.size()));
  return score;
}

}  // namespace kvscope
