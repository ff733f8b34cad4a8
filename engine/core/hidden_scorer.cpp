// SPDX-License-Identifier: Apache-2.0
#include "core/hidden_scorer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/gelu.h"
#include "core/place.h"
#include "core/vector_math.h"

namespace kvscope {
namespace {

/// W x + b of n rows x, [rows of W, n].
std::vector<double> units_of(const std::vector<double>& w, const std::vector<double>& bias, std::span<const double> x, std::size_t n) {
  const std::size_t width = x.size() / n, units = w.size() / width;
  std::vector<double> out(units * n);
  for (std::size_t u = 0; u < units; ++u) {
    const std::span<double> row = std::span(out).subspan(u * n, n);
    row_products(x.data(), std::span(w).subspan(u * width, width), row);
    for (double& y : row) y += bias.empty() ? 0.0 : bias[u];
  }
  return out;
}

void score_layer(const ScorerNetworks::Layer& layer, std::span<const double> hidden, std::size_t n, std::span<double> out) {
  std::vector<double> first = units_of(layer.first, layer.first_bias, hidden, n);
  if (layer.second.empty()) {
    std::ranges::copy(first, out.begin());
    return;
  }
  for (double& x : first) x = gelu(x);
  matrix_products(layer.second, first, n, out);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += layer.second_bias[i / n];
}

/// Column `column` of rows [weight.size(), n], divided by its root mean square, times the weight.
std::vector<double> normed(std::span<const double> rows, std::size_t n, std::size_t column, std::span<const double> weight) {
  constexpr double kEps = 1e-6;  // the authors'
  std::vector<double> out(weight.size());
  double squares = 0;
  for (std::size_t d = 0; d < out.size(); ++d) {
    out[d] = rows[d * n + column];
    squares += out[d] * out[d];
  }
  const double scale = 1 / std::sqrt(squares / static_cast<double>(out.size()) + kEps);
  for (std::size_t d = 0; d < out.size(); ++d) out[d] *= scale * weight[d];
  return out;
}

void score_layer(const ScorerGates& gates, const ScorerGates::Layer& layer, std::span<const double> hidden, std::size_t n,
                 std::span<double> out) {
  const std::vector<double> queries = units_of(layer.query, layer.query_bias, hidden, n), keys = units_of(layer.key, {}, hidden, n);
  const std::size_t width = at(gates.width), group = at(gates.group), sinks = at(gates.sinks), heads = layer.bias.size() / group;
  const double root = std::sqrt(static_cast<double>(width));
  std::vector<double> fixed(sinks);
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<double> key = normed(std::span(keys).subspan(h * width * n, width * n), n, i, layer.key_norm);
      double sum = 0;
      for (std::size_t g = 0; g < group; ++g) {
        const std::size_t head = h * group + g;
        const std::vector<double> query = normed(std::span(queries).subspan(head * width * n, width * n), n, i, layer.query_norm);
        double own = 0;
        row_products(key.data(), query, std::span(&own, 1));
        own = own / root + layer.bias[head];
        row_products(layer.sinks.data() + h * sinks * width, query, fixed);
        double others = 0;
        for (const double z : fixed) others += std::exp(z / root - own);
        sum += 1 / (1 + others);
      }
      out[h * n + i] = sum / static_cast<double>(group);
    }
}

}  // namespace

void HiddenScorer::score(int layer, std::span<const double> hidden, std::span<double> out) const {
  const std::size_t n = hidden.size() / at(dim);
  if (n == 0) return;
  if (const auto* const networks = std::get_if<ScorerNetworks>(&function)) return score_layer(networks->layers[at(layer)], hidden, n, out);
  const auto& gates = std::get<ScorerGates>(function);
  score_layer(gates, gates.layers[at(layer)], hidden, n, out);
}

}  // namespace kvscope
