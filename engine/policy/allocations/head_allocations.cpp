// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/head_allocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/place.h"
#include "core/vector_math.h"
#include "policy/rules.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

struct Candidate {
  double score;
  int pos;
  int head;  // or, among those of one head, the place
};

bool ranks_before(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.pos != b.pos ? a.pos < b.pos : a.head < b.head;
}

}  // namespace

std::vector<int> best_of_heads(std::span<const std::vector<double>> scores, std::span<const std::vector<int>> pos, std::size_t best) {
  std::vector<int> counts(scores.size(), 0);
  thread_local std::vector<double> all;  // kept by its thread: in a step an allocation would cost as much as the work
  all.clear();
  all.reserve(scores.empty() ? 0 : scores.size() * (scores.front().size() + 1));
  for (const std::vector<double>& head : scores)
    for (const double score : head) all.push_back(std::isnan(score) ? -std::numeric_limits<double>::infinity() : score);
  best = std::min(all.size(), best);
  std::vector<Candidate> pool;  // those to choose from: all, or the equals of the last one
  const std::optional<Largest> most = 0 < best && best < all.size() ? largest(all, static_cast<int>(best)) : std::nullopt;
  std::size_t place = 0;
  for (std::size_t h = 0; h < scores.size(); ++h)
    for (std::size_t i = 0; i < scores[h].size(); ++i, ++place) {
      if (most) counts[h] += all[place] > most->least;
      if (!most || all[place] == most->least) pool.push_back({all[place], pos[h][i], static_cast<int>(h)});
    }
  if (most) best -= static_cast<std::size_t>(most->above);
  if (best < pool.size()) std::ranges::nth_element(pool, pool.begin() + static_cast<std::ptrdiff_t>(best), ranks_before);
  for (std::size_t i = 0; i < best; ++i) ++counts[at(pool[i].head)];
  return counts;
}

JointBudgets joint_budgets(std::span<const std::vector<double>> scores, std::span<const std::vector<int>> pos, int b, double alpha,
                           std::span<const int> caps) {
  const int n_heads = static_cast<int>(scores.size());
  const int total = n_heads * b;
  JointBudgets out;
  out.counts = best_of_heads(scores, pos, at(total));
  std::vector<double> shares;
  for (const int n : out.counts) shares.push_back(alpha * b + (1 - alpha) * n);
  out.caps = largest_remainder(shares, total, caps);
  return out;
}

std::vector<int> counts_above_floor(std::span<const std::vector<double>> scores, std::span<const std::vector<int>> pos, int total,
                                    std::span<const int> safe) {
  std::vector<std::vector<double>> raised(scores.begin(), scores.end());
  std::vector<Candidate> best;
  for (std::size_t h = 0; h < scores.size(); ++h) {
    best.clear();
    for (std::size_t i = 0; i < scores[h].size(); ++i) {
      const double score = std::isnan(scores[h][i]) ? -std::numeric_limits<double>::infinity() : scores[h][i];
      best.push_back({score, pos[h][i], static_cast<int>(i)});
    }
    const auto n = static_cast<std::ptrdiff_t>(std::min(best.size(), at(safe[h])));
    std::ranges::partial_sort(best, best.begin() + n, ranks_before);
    for (auto it = best.begin(); it != best.begin() + n; ++it) raised[h][at(it->head)] = std::numeric_limits<double>::infinity();
  }
  return best_of_heads(raised, pos, at(std::max(0, total)));
}

void AdaptiveAllocation::revise(std::span<HeadDecision> heads) const {
  if (std::ranges::none_of(heads, &HeadDecision::due)) return;
  std::vector<std::vector<double>> scores(heads.size());
  std::vector<std::vector<int>> pos(heads.size());
  std::vector<int> caps, n_protected;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const HeadDecision& head = heads[h];
    scores[h].resize(head.score.size());
    pos[h].resize(head.score.size());
    std::size_t n_free = 0;
    for (std::size_t i = 0; i < head.score.size(); ++i) {  // without branches: what is protected may lie all over the place
      scores[h][n_free] = head.score[i];
      pos[h][n_free] = head.slots().pos[i];
      n_free += !head.is_protected[i];
    }
    scores[h].resize(n_free);
    pos[h].resize(n_free);
    caps.push_back(static_cast<int>(n_free));
    n_protected.push_back(head.slots().size() - caps.back());
  }
  // slots that were pinned by hand in some heads come on top of the common share
  const int least_protected = *std::ranges::min_element(n_protected);
  const int free = std::max(0, slots_ - least_protected);
  std::vector<int> counts;
  if (safeguard_ == Safeguard::floor) {
    const int least = alpha_ > 0 ? std::max(1, static_cast<int>(slots_ * alpha_)) : 0;
    std::vector<int> safe;
    for (const int n : n_protected) safe.push_back(std::max(0, least - n));
    for (HeadDecision& head : heads) head.safe = least;
    counts = counts_above_floor(scores, pos, static_cast<int>(heads.size()) * free, safe);
  } else {
    counts = joint_budgets(scores, pos, free, alpha_, caps).caps;
  }
  for (std::size_t h = 0; h < heads.size(); ++h) heads[h].budget = std::max(1, counts[h] + n_protected[h]);
}

std::vector<std::optional<int>> ImportanceAllocation::budgets(const BudgetShape& shape) const {
  const int n_heads = shape.n_layers * shape.n_kv_heads, b = shape.slots - shape.observed;
  const std::vector<double> file = head_numbers("scores", *scores_, shape.n_layers, shape.n_kv_heads * group_);
  std::vector<double> importance(at(n_heads), 0.0);
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (file[i] < 0)
      throw UsageError(fmt::format("scores: {}: expected importances of 0 or more, got {}", kvscope::quoted(scores_->path), file[i]));
    importance[i / at(group_)] += file[i];
  }
  const double sum = std::accumulate(importance.begin(), importance.end(), 0.0);
  if (!(sum > 0) || !std::isfinite(sum))
    throw UsageError(fmt::format("scores: {}: expected importances with a sum above 0, got {}", kvscope::quoted(scores_->path), sum));
  const double by_importance = b / beta_;
  std::vector<double> shares;
  for (const double s : importance) shares.push_back(s / sum * by_importance * n_heads + (b - by_importance));
  const std::vector<int> caps(at(n_heads), shape.n_prompt - shape.observed);
  std::vector<std::optional<int>> out;
  for (const int c : largest_remainder(shares, n_heads * b, caps)) out.emplace_back(c + shape.observed);
  return out;
}

std::vector<std::optional<int>> StreamingHeadsAllocation::budgets(const BudgetShape& shape) const {
  if (!scores_) return UniformAllocation().budgets(shape);  // until the prompt was seen
  return streaming_budgets(head_numbers("heads", *scores_, shape.n_layers, shape.n_kv_heads), sparsity_, sinks_ + recent_);
}

std::vector<std::optional<int>> StreamingHeadsAllocation::after_prompt(const BudgetShape&, std::span<const HeadView> heads) const {
  if (scores_) return {};
  std::vector<double> scores;
  for (const HeadView& head : heads) scores.push_back(head.slots->outside);
  return streaming_budgets(scores, sparsity_, sinks_ + recent_);
}

void StreamingHeadsAllocation::require(StatNeeds& needs) const {
  if (!scores_) needs.outside = {.sinks = sinks_, .recent = recent_};
}

std::vector<std::optional<int>> streaming_budgets(std::span<const double> scores, double sparsity, int kept) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return scores[at(a)] < scores[at(b)]; });
  std::vector<std::optional<int>> out(scores.size());
  const int n_streaming = std::clamp(round_half_up(sparsity * static_cast<double>(scores.size())), 0, static_cast<int>(scores.size()));
  for (int i = 0; i < n_streaming; ++i) out[at(order[at(i)])] = kept;
  return out;
}

}  // namespace kvscope
