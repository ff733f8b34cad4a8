// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/hidden_scores.h"

#include <algorithm>

#include "core/place.h"

namespace kvscope {

std::vector<double> hidden_scores(Backend& backend, const HiddenScorer& scorer, int layer, const void* hidden, int n) {
  constexpr int kTogether = 16;  // whose states stay in the cache of a core while the weights pass
  const std::size_t dim = at(scorer.dim), heads = at(scorer.n_kv_heads);
  std::vector<double> states(at(n) * dim), out(heads * at(n));
  backend.to_double(states, hidden);
  if (n == 1) {  // perhaps on one of the backend's threads already
    scorer.score(layer, states, out);
    return out;
  }
  backend.for_each((n + kTogether - 1) / kTogether, [&](int block) {
    const std::size_t first = at(block * kTogether), rows = std::min(at(kTogether), at(n) - first);
    std::vector<double> of_block(heads * rows);
    scorer.score(layer, std::span(states).subspan(first * dim, rows * dim), of_block);
    for (std::size_t h = 0; h < heads; ++h) std::copy_n(of_block.data() + h * rows, rows, out.data() + h * at(n) + first);
  });
  return out;
}

}  // namespace kvscope
