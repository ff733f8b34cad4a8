// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/residual_merge.h"

#include <algorithm>

#include "core/place.h"
#include "core/vector_math.h"

namespace kvscope {

namespace {

std::vector<int> residual_of(const SlotState& slots) {
  std::vector<int> out;
  for (int i = 0; i < slots.size(); ++i)
    if (slots.residual[at(i)]) out.push_back(i);
  return out;
}

}  // namespace

ResidualMerger::Area ResidualMerger::area(const HeadDecision& head) const {
  const SlotState& slots = head.slots();
  std::vector<int> residual = residual_of(slots);
  residual.reserve(residual.size() + head.gone.size());
  // places that are free take what comes first; in order of pos, so that equal products fall to the lowest one
  const std::size_t n_free = std::min(head.gone.size(), at(std::max(0, places_ - static_cast<int>(residual.size()))));
  const auto [free, fused] = std::pair(std::span(head.gone).first(n_free), std::span(head.gone).subspan(n_free));
  residual.insert(residual.end(), free.begin(), free.end());
  std::ranges::sort(residual);
  return {std::move(residual), free, fused};
}

std::vector<int> ResidualMerger::Area::all() const {
  std::vector<int> out;
  out.reserve(residual.size() + fused.size());
  out = residual;
  out.insert(out.end(), fused.begin(), fused.end());
  return out;
}

std::vector<int> ResidualMerger::collectors(const SlotState& slots) const {
  std::vector<int> residual = residual_of(slots);
  if (static_cast<int>(residual.size()) != places_) residual.clear();
  return residual;
}

void ResidualMerger::expect(HeadDecision& head) const {
  const Area a = area(head);
  if (a.fused.size() == 1)
    head.view.keys->expect_largest_product(a.fused.front(), a.residual);
  else if (!a.fused.empty())
    head.view.keys->expect_keys(a.all());
}

void ResidualMerger::merge(HeadDecision& head) {
  const SlotState& slots = head.slots();
  const Area a = area(head);
  const std::vector<int>& residual = a.residual;
  const std::span<const int> fused = a.fused;
  head.plan.to_residual.assign(a.free.begin(), a.free.end());
  if (fused.empty()) return;

  const bool alone = fused.size() == 1;  // the usual step; else residual rows change on the way
  const std::vector<int> wanted = a.all();
  std::vector<double> keys;
  if (!alone) head.view.keys->keys(wanted, keys);
  const std::size_t width = keys.size() / wanted.size(), n_places = residual.size();
  const auto key = [&](std::size_t i) { return std::span(keys).subspan(i * width, width); };
  std::vector<double> votes, decayed(n_places), products(n_places);  // of the residual slots; decayed: of those that take something
  votes.reserve(n_places);
  for (const int r : residual) votes.push_back(slots.votes[at(r)]);
  std::vector<int> merge_of(n_places, -1);  // in plan.merges

  for (std::size_t x = 0; x < fused.size(); ++x) {
    const int c = fused[x];
    const std::span<const double> k = key(n_places + x);
    std::size_t r = 0;
    if (alone) {
      const int slot = head.view.keys->largest_product(c, residual).target;
      r = static_cast<std::size_t>(std::ranges::lower_bound(residual, slot) - residual.begin());
    } else {
      row_products(keys.data(), k, products);
      r = static_cast<std::size_t>(std::ranges::max_element(products) - products.begin());  // the first of equal ones
    }
    const double more = slots.votes[at(c)], total = votes[r] + more;
    Removal removal = removal_of(head, c);
    removal.target = residual[r];
    removal.w_removed = more / total;
    removal.w_target = votes[r] / total;
    const std::span<double> k_r = key(r);
    for (std::size_t d = 0; d < width; ++d) k_r[d] = removal.w_target * k_r[d] + removal.w_removed * k[d];
    if (merge_of[r] < 0) {
      merge_of[r] = static_cast<int>(head.plan.merges.size());
      Merge& merge = head.plan.merges.emplace_back();
      merge.target = residual[r];
      merge.members = {residual[r]};
      merge.key_weights = {votes[r]};
      if (decayed_) decayed[r] = slots.decayed[at(residual[r])];
    }
    // the means one after the other are one mean, weighted by votes
    Merge& merge = head.plan.merges[at(merge_of[r])];
    merge.members.push_back(c);
    merge.key_weights.push_back(more);
    votes[r] = total;
    if (decayed_) statistics::Decayed::unite(decayed[r], slots.decayed[at(c)]);
    head.plan.removals.push_back(std::move(removal));
  }

  for (std::size_t r = 0; r < n_places; ++r) {
    if (merge_of[r] < 0) continue;
    Merge& merge = head.plan.merges[at(merge_of[r])];
    for (double& w : merge.key_weights) w /= votes[r];
    merge.value_weights = merge.key_weights;
    if (!decayed_) continue;
    merge.decayed = decayed[r];
    if (!head.plan.score.empty()) head.plan.score[at(residual[r])] = decayed[r];
  }
}

}  // namespace kvscope
