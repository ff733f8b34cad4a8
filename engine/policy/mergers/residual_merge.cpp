// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/residual_merge.h"

#include <algorithm>
#include <numeric>

namespace kvscope {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A residual slot while others are fused into it.
struct Place {
  int slot = 0;
  std::vector<double> key;
  double votes = 0, decayed = 0;
  std::vector<int> members;           // slot first
  std::vector<double> member_votes;
};

}  // namespace

void ResidualMerger::merge(HeadDecision& head) {
  const SlotState& slots = head.slots();
  std::vector<int> residual;
  for (int i = 0; i < slots.size(); ++i)
    if (slots.residual[at(i)]) residual.push_back(i);

  // places that are free take what comes first; in order of pos, so that equal products fall to the lowest one
  const std::size_t n_free = std::min(head.gone.size(), at(std::max(0, places_ - static_cast<int>(residual.size()))));
  head.plan.to_residual.assign(head.gone.begin(), head.gone.begin() + static_cast<std::ptrdiff_t>(n_free));
  const std::span<const int> fused = std::span(head.gone).subspan(n_free);
  if (fused.empty()) return;
  residual.insert(residual.end(), head.plan.to_residual.begin(), head.plan.to_residual.end());
  std::ranges::sort(residual);

  std::vector<int> wanted(residual);
  wanted.insert(wanted.end(), fused.begin(), fused.end());
  const std::vector<double> keys = head.view.keys->keys(wanted);
  const std::size_t width = keys.size() / wanted.size();
  const auto key = [&](std::size_t i) { return std::span(keys).subspan(i * width, width); };
  std::vector<Place> places;
  for (std::size_t r = 0; r < residual.size(); ++r) {
    const std::size_t i = at(residual[r]);
    const double votes = slots.votes[i];
    places.push_back({residual[r], {key(r).begin(), key(r).end()}, votes, slots.decayed[i], {residual[r]}, {votes}});
  }

  for (std::size_t x = 0; x < fused.size(); ++x) {
    const int c = fused[x];
    const std::span<const double> k = key(residual.size() + x);
    std::vector<double> products;
    for (const Place& p : places) products.push_back(std::inner_product(k.begin(), k.end(), p.key.begin(), 0.0));
    Place& r = places[static_cast<std::size_t>(std::ranges::max_element(products) - products.begin())];
    const double votes = slots.votes[at(c)], total = r.votes + votes;
    Removal removal = removal_of(head, c);
    removal.target = r.slot;
    removal.w_removed = votes / total;
    removal.w_target = r.votes / total;
    for (std::size_t d = 0; d < width; ++d) r.key[d] = removal.w_target * r.key[d] + removal.w_removed * k[d];
    r.votes = total;
    r.decayed = std::max(r.decayed, slots.decayed[at(c)]);
    r.members.push_back(c);
    r.member_votes.push_back(votes);
    head.plan.removals.push_back(std::move(removal));
  }

  for (Place& p : places) {
    if (p.members.size() == 1) continue;
    Merge merge;  // the means one after the other are one mean, weighted by votes
    merge.target = p.slot;
    merge.members = std::move(p.members);
    for (const double votes : p.member_votes) merge.key_weights.push_back(votes / p.votes);
    merge.value_weights = merge.key_weights;
    merge.decayed = p.decayed;
    if (!head.plan.score.empty()) head.plan.score[at(p.slot)] = p.decayed;
    head.plan.merges.push_back(std::move(merge));
  }
}

}  // namespace kvscope
