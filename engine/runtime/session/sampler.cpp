// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/sampler.h"

#include <cmath>
#include <random>

#include "measure/distribution.h"

namespace kvscope {

int pick_token(std::span<const double> logits, double temperature, std::uint64_t seed, int step) {
  const int best = argmax(logits);
  if (temperature <= 0) return best;
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(step)};
  std::mt19937_64 generator(sequence);
  const double u = static_cast<double>(generator() >> 11) * 0x1p-53;
  double total = 0;
  for (const double x : logits) total += std::exp((x - logits[best]) / temperature);
  double below = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    below += std::exp((logits[i] - logits[best]) / temperature);
    if (u * total < below) return static_cast<int>(i);
  }
  return best;
}

}  // namespace kvscope
