// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "policy/mergers/merger.h"

namespace kvscope {

/// Keys of slots in order of pos, and how alike they are.
class KeyRows {
 public:
  /// keys: [n, width].
  KeyRows(std::vector<double> keys, int n);
  int size() const { return static_cast<int>(norm_.size()); }
  double cosine(int i, int j) const;  // 0 with a zero vector
  double distance(int i, int j) const;

 private:
  std::span<const double> row(int i) const { return std::span(keys_).subspan(static_cast<std::size_t>(i) * width_, width_); }

  std::vector<double> keys_, norm_;
  std::size_t width_ = 0;
};

/// Sets of neighbouring keys, from the last key to the first (KVMerger, Algorithm 1): the last one is the anchor, the next lower one joins
/// while cos(key, anchor) > theta, else its set is closed and it becomes the anchor. Each set ascending.
std::vector<std::vector<int>> neighbour_sets(const KeyRows& keys, double theta);
/// The largest of 20 bisection points of [-1, 1] that leaves at most `room` sets; -1 if none does.
double fitting_theta(const KeyRows& keys, int room);

/// Width of the Gaussian weights: mean of the distances to the pivot (pivot excluded), the paper's Eq. 7, or a number.
struct Sigma {
  enum class Kind { mean, eq7, number };
  Kind kind = Kind::mean;
  double number = 0;
};
/// w_i of the members of a set: g_i / sum g, g_i = exp(-||k_p - k_i||^2 / (2 sigma^2)), 1 everywhere where sigma is 0.
/// distance: [members] to the pivot p, which is members[pivot].
std::vector<double> gauss_weights(std::span<const double> distance, int pivot, const Sigma& sigma);

/// KVMerger: what is not kept falls into sets of neighbouring, similar keys; every set becomes one slot in the place of its pivot, the
/// member of most accumulated attention (equal: the highest pos), with Gaussian weights for keys and values alike.
class NeighbourSetMerger final : public Merger {
 public:
  struct Options {
    bool fits_budget = true;  // theta is found by bisection, else it is `threshold`
    double threshold = 0.75;
    Sigma sigma;
  };
  explicit NeighbourSetMerger(const Options& options) : options_(options) {}

  std::unique_ptr<Merger> clone() const override { return std::make_unique<NeighbourSetMerger>(*this); }
  void require(StatNeeds& needs) const override { needs.sum = true; }
  void expect(HeadDecision& head) const override;
  void merge(HeadDecision& head) override;

 private:
  Options options_;
};

}  // namespace kvscope
