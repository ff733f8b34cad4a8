// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/reference_queries.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/vector_math.h"
#include "policy/rankings/rows.h"

namespace kvscope {

ReferenceQueries::Rows ReferenceQueries::over(const HeadView& head) const {
  KVSCOPE_ASSERT(head.queries);
  const std::size_t n = head.slots->pos.size();  // right after the prompt: a slot for each of its tokens
  Rows out{.n = n, .exp_logit = {}, .mass = {}};
  const std::vector<double> keys = all_keys(head), all = head.queries->rows(/*rotated=*/asked != Asked::again);
  const std::size_t width = keys.size() / n, group = all.size() / keys.size();
  const std::size_t tokens = std::min(static_cast<std::size_t>(most), n);
  std::vector<double> queries, transposed(keys.size());
  std::vector<std::size_t> sees;  // slots, of each
  for (std::size_t u = 0; u < tokens; ++u) {
    const std::size_t t = u * n / tokens;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(t * group * width);
    queries.insert(queries.end(), first, first + static_cast<std::ptrdiff_t>(group * width));
    sees.insert(sees.end(), group, asked == Asked::observed ? t + 1 : n);
  }
  if (asked == Asked::again) {
    const std::vector<double> next = head.queries->rotations(static_cast<int>(n), 1);
    for (std::size_t r = 0; r < sees.size(); ++r) rotate(std::span(queries).subspan(r * width, width), next);
  }
  const LogitRule rule = logits.empty() ? LogitRule{} : logits[static_cast<std::size_t>(head.layer)];
  const double scale = rule.scale > 0 ? rule.scale : 1 / std::sqrt(static_cast<double>(width));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < width; ++c) transposed[c * n + i] = keys[i * width + c] * scale;

  out.exp_logit.resize(sees.size() * n);
  matrix_products(queries, transposed, n, out.exp_logit);
  for (double& z : out.exp_logit)
    if (rule.cap > 0) z = rule.cap * std::tanh(z / rule.cap);
  for (std::size_t r = 0; r < sees.size(); ++r) {
    const auto row = std::span(out.exp_logit).subspan(r * n, n), seen = row.first(sees[r]);
    const double top = *std::ranges::max_element(seen);
    for (double& z : seen) z -= top;
    exp_all(seen);
    std::ranges::fill(row.subspan(seen.size()), 0.0);
    out.mass.push_back(std::accumulate(seen.begin(), seen.end(), 0.0));
  }
  return out;
}

}  // namespace kvscope
