// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce_atlas.h"

#include <algorithm>

namespace kvscope::viz {

RepresentedCounts::RepresentedCounts(const LaneFates& fates, const StepRecord& step)
    : n_tokens_(std::clamp(step.position + 1, 0, fates.n_tokens)), n_blocks_((n_tokens_ + kBlock - 1) / kBlock) {
  heads_per_token_.assign(static_cast<std::size_t>(n_tokens_), 0);
  blocks_.assign(fates.heads.size() * static_cast<std::size_t>(n_blocks_), 0);
  const int s = step.step, n = n_tokens_;
  int* const heads = heads_per_token_.data();
  for (std::size_t h = 0; h < fates.heads.size(); ++h) {
    const int* const lost = fates.heads[h].lost.data();
    std::uint8_t* const blocks = blocks_.data() + h * static_cast<std::size_t>(n_blocks_);
    // In stretches that stay in the first-level cache, so that the second loop reads nothing from memory. Both are vectorised.
    constexpr int kStretch = 512 * kBlock;
    for (int from = 0; from < n; from += kStretch) {
      const int to = std::min(from + kStretch, n);
      for (int t = from; t < to; ++t) heads[t] += lost[t] > s;
      int t = from;
      for (; t + kBlock <= to; t += kBlock) {
        int alive = 0;
        for (int k = 0; k < kBlock; ++k) alive += lost[t + k] > s;
        blocks[t / kBlock] = static_cast<std::uint8_t>(alive);
      }
      if (t < to) {  // the last block of all
        int alive = 0;
        for (int u = t; u < to; ++u) alive += lost[u] > s;
        blocks[t / kBlock] = static_cast<std::uint8_t>(alive);
      }
    }
  }
}

int RepresentedCounts::count(const LaneFates& fates, int step, int head, int first, int last) const {
  first = std::max(first, 0);
  last = std::min(last, n_tokens_ - 1);
  const std::vector<int>& lost = fates.heads[static_cast<std::size_t>(head)].lost;
  const std::uint8_t* const blocks = blocks_.data() + static_cast<std::size_t>(head) * static_cast<std::size_t>(n_blocks_);
  int n = 0;
  for (int t = first; t <= last;) {
    if (t % kBlock == 0 && (t + kBlock - 1 <= last || last == n_tokens_ - 1)) {
      n += blocks[t / kBlock];
      t += kBlock;
    } else {
      n += lost[static_cast<std::size_t>(t)] > step ? 1 : 0;
      ++t;
    }
  }
  return n;
}

int tokens_per_bin(float px) {
  if (px >= 3) return 1;
  int bin = 2;
  while (static_cast<float>(bin) * px < 2 && bin < (1 << 30)) bin *= 2;
  return bin;
}

}  // namespace kvscope::viz
