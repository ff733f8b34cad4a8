// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/group_queries.h"

#include <algorithm>
#include <numeric>

namespace kvscope {

std::vector<double> GroupQueries::rows(bool rotated) const {
  const std::size_t n = static_cast<std::size_t>(prompt_.size()), group = static_cast<std::size_t>(config_.group());
  const std::size_t row = group * static_cast<std::size_t>(config_.head_dim), bytes = row * size_of(backend_.dtype());
  Buffer gathered = backend_.allocate(n * bytes);
  for (std::size_t p = 0; p < n; ++p) {
    const auto* all = static_cast<const std::byte*>(prompt_.query(layer_, static_cast<int>(p)));
    backend_.copy(static_cast<std::byte*>(gathered.data()) + bytes * p, all + bytes * static_cast<std::size_t>(kv_head_), bytes);
  }
  const int table = config_.rope_of(layer_, prompt_.size());
  if (!rotated && table >= 0) {
    std::vector<int> back(n);
    std::iota(back.begin(), back.end(), 0);
    for (int& pos : back) pos = -pos;
    backend_.rope(gathered.data(), static_cast<int>(n), config_.group(), back, table);
  }
  std::vector<double> out(n * row);
  backend_.to_double(out, gathered.data());
  return out;
}

/// What a rotation makes of a vector whose first half is ones and whose second half is zeros: cosines, then sines.
std::vector<double> GroupQueries::rotations(int first, int n) const {
  const std::size_t width = static_cast<std::size_t>(config_.head_dim), count = static_cast<std::size_t>(n);
  const int table = config_.rope_of(layer_, prompt_.size());
  const int dims = table >= 0 ? config_.ropes[static_cast<std::size_t>(table)].dims : 0;
  const std::size_t rotated_dims = dims > 0 ? static_cast<std::size_t>(dims) : width;
  std::vector<double> ones(count * width, 0.0), out;
  for (std::size_t r = 0; r < count; ++r) std::fill_n(ones.begin() + static_cast<std::ptrdiff_t>(r * width), rotated_dims / 2, 1.0);
  Buffer rotated = backend_.allocate(ones.size() * size_of(backend_.dtype()));
  backend_.from_double(rotated.data(), ones);
  std::vector<int> positions(count);
  std::iota(positions.begin(), positions.end(), first);
  if (table >= 0) backend_.rope(rotated.data(), n, /*n_heads=*/1, positions, table);
  backend_.to_double(ones, rotated.data());
  for (auto row = ones.begin(); row != ones.end(); row += static_cast<std::ptrdiff_t>(width))
    out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(rotated_dims));
  return out;
}

std::vector<std::unique_ptr<PromptQueries>> group_queries(Backend& backend, const ModelConfig& config, const PromptRun* prompt,
                                                          const StatNeeds& needs, int layer) {
  std::vector<std::unique_ptr<PromptQueries>> out(static_cast<std::size_t>(config.n_kv_heads));
  if (!prompt || !needs.prompt_queries) return out;
  for (int h = 0; h < config.n_kv_heads; ++h)
    out[static_cast<std::size_t>(h)] = std::make_unique<GroupQueries>(backend, config, *prompt, layer, h);
  return out;
}

}  // namespace kvscope
