// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made-up clouds of queries for every head of a snapshot.

#include <cmath>
#include <memory>

#include "snapshot/snapshot.h"

namespace kvscope::viz::testing {

/// Frequency f of query head g of head h has the mean (h + 1, f - g) and the spread 1 + g; what is expected falls with the distance, and
/// what is measured is half of it, but nothing 4 to 5 tokens away.
inline QueryCloud made_up_cloud(int layer, int kv_head, int h, int group, int frequencies = 8) {
  QueryCloud out{.layer = layer, .kv_head = kv_head, .n_queries = 12};
  for (int f = 0; f < frequencies; ++f) out.turn.push_back(std::pow(10.0, -0.5 * f));
  for (int g = 0; g < group; ++g)
    for (int f = 0; f < frequencies; ++f) {
      out.re.push_back(h + 1);
      out.im.push_back(f - g);
      out.spread.push_back(1 + g);
    }
  out.distances = {0, 1, 2, 3, 4, 6, 8};
  for (std::size_t b = 0; b < out.distances.size(); ++b) {
    out.expected.push_back(1 - 0.5 * static_cast<double>(b));
    out.measured.push_back(b == 4 ? kNotAvailable : 0.5 * out.expected.back() + (b == 1 ? 2 : 0));
    out.share.push_back(b == 1 ? 0.7 : 0.05);
  }
  return out;
}

/// They are in, and were asked for.
inline void add_clouds(Snapshot& s) {
  s.prefill_mode = s.measures.queries = true;
  auto step = std::make_shared<StepRecord>(*s.lanes[0].steps[0]);
  for (int h = 0; h < s.model.n_layers * s.model.n_kv_heads; ++h)
    step->clouds.push_back(made_up_cloud(h / s.model.n_kv_heads, h % s.model.n_kv_heads, h, s.model.group()));
  s.lanes[0].steps[0] = step;
  ++s.sequence;
}

}  // namespace kvscope::viz::testing
