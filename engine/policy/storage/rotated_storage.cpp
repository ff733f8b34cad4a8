// SPDX-License-Identifier: Apache-2.0
#include "policy/storage/rotated_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.h"
#include "core/vector_math.h"
#include "policy/rules.h"

namespace kvscope {
namespace {

double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

double product(std::span<const double> a, std::span<const double> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

StoredCounts stored(int n, int residual) {
  const int older = std::max(0, n - residual);
  return {.n = n, .keys = older, .values = older, .blocks = older};
}

}  // namespace

std::vector<double> normal_levels(int bits) {
  constexpr int kRounds = 4000;
  const std::size_t n = std::size_t{1} << bits;
  std::vector<double> upper(n / 2);  // the others are the same below 0
  for (std::size_t i = 0; i < upper.size(); ++i) upper[i] = 3.0 * (2.0 * static_cast<double>(i) + 1) / static_cast<double>(n);
  for (int round = 0; round < kRounds; ++round) {
    double from = 0;
    for (std::size_t i = 0; i < upper.size(); ++i) {
      const bool last = i + 1 == upper.size();
      const double to = last ? 0 : (upper[i] + upper[i + 1]) / 2;
      upper[i] = (density(from) - (last ? 0 : density(to))) / (last ? below(-from) : below(-from) - below(-to));
      from = to;
    }
  }
  std::vector<double> out(n);
  for (std::size_t i = 0; i < upper.size(); ++i) {
    out[upper.size() + i] = upper[i];
    out[upper.size() - 1 - i] = -upper[i];
  }
  return out;
}

std::vector<double> random_rotation(int width, std::uint64_t seed) {
  const auto d = static_cast<std::size_t>(width);
  std::vector<double> rows(d * d);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = normal_draw(seed, 0, 0, i, 1);
  for (std::size_t r = 0; r < d; ++r) {
    const std::span<double> row = std::span(rows).subspan(r * d, d);
    for (int twice = 0; twice < 2; ++twice)  // the second time takes away what rounding has left of the others
      for (std::size_t other = 0; other < r; ++other) {
        const std::span<const double> direction = std::span(rows).subspan(other * d, d);
        const double part = product(row, direction);
        for (std::size_t c = 0; c < d; ++c) row[c] -= part * direction[c];
      }
    const double length = std::sqrt(product(row, row));
    KVSCOPE_ASSERT(length > 0);
    for (double& x : row) x /= length;
  }
  return rows;
}

RotatedStorage::RotatedStorage(int bits, int residual, int width, std::uint64_t seed)
    : bits_(bits), residual_(residual), levels_(normal_levels(bits)), turn_back_(random_rotation(width, seed)), turn_(turn_back_.size()) {
  const auto d = static_cast<std::size_t>(width);
  for (std::size_t r = 0; r < d; ++r)
    for (std::size_t c = 0; c < d; ++c) turn_[c * d + r] = turn_back_[r * d + c];
}

ToStore RotatedStorage::due(const SlotState& slots, bool /*after_prompt*/) const {
  return {older_than(slots, residual_, /*keys=*/true), older_than(slots, residual_, /*keys=*/false)};
}

void RotatedStorage::round(const StoreSite& site, std::span<double> rows) const {
  const auto width = static_cast<std::size_t>(site.head_dim);
  std::vector<double> turned(rows.size()), sizes;  // of one number of each turned row
  matrix_products(rows, turn_, width, turned);
  for (std::size_t first = 0; first < rows.size(); first += width) {
    const std::span<const double> x = rows.subspan(first, width);
    sizes.push_back(std::sqrt(product(x, x) / static_cast<double>(width)));
    for (double& number : std::span(turned).subspan(first, width)) number /= sizes.back();
  }
  round_to_levels(turned, levels_);
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] *= sizes[i / width];
  std::vector<double> back(rows.size());
  matrix_products(turned, turn_back_, width, back);
  for (std::size_t r = 0; r < sizes.size(); ++r)
    if (sizes[r] > 0 && std::isfinite(sizes[r])) std::copy_n(&back[r * width], width, &rows[r * width]);
}

StoredCounts RotatedStorage::of_prompt(int n) const { return stored(n, residual_); }

std::string RotatedStorage::equation() const {
  return fmt::format("x′ = r Πᵀ level(Π x / r), r = ‖x‖ / √d: the nearest of {} levels for each number of the turned row", levels_.size());
}

double RotatedStorage::bytes(const StoredCounts& of, int head_dim, double full) const {
  constexpr double kLength = 2;  // a number of 16 bits
  return full * head_dim * (2 * of.n - of.keys - of.values) + (head_dim * bits_ / 8.0 + kLength) * (of.keys + of.values);
}

std::optional<double> RotatedStorage::fitting(double room, int n, int head_dim, double full) const {
  for (int residual = n; residual >= 0; --residual)
    if (bytes(stored(n, residual), head_dim, full) <= room) return residual;
  return std::nullopt;
}

double RotatedStorage::least_bytes(int n, int head_dim, double full) const { return bytes(stored(n, 0), head_dim, full); }

}  // namespace kvscope
