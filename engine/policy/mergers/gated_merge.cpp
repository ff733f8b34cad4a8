// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/gated_merge.h"

#include <cmath>
#include <numbers>

#include "core/place.h"
#include "policy/mergers/nearest_kept.h"

namespace kvscope {
namespace {

/// What goes to one target.
struct Group {
  std::vector<int> members;  // target first
  std::vector<double> u;     // of the others
  std::vector<double> weights;
};

void merge_head(HeadDecision& head, std::span<const Nearest> nearest, double tau, MergeForm form) {
  std::vector<int> group_of(head.slots().pos.size(), -1);
  std::vector<Group> groups;
  for (std::size_t e = 0; e < head.gone.size(); ++e) {
    if (!(nearest[e].cos >= tau)) continue;
    int& place = group_of[at(nearest[e].target)];
    if (place < 0) {
      place = static_cast<int>(groups.size());
      groups.push_back({.members = {nearest[e].target}, .u = {}, .weights = {}});
    }
    groups[at(place)].members.push_back(head.gone[e]);
    groups[at(place)].u.push_back(nearest[e].cos);
  }
  for (Group& group : groups) {
    group.weights = similarity_weights(group.u, form);
    Merge merge;
    merge.target = group.members.front();
    merge.members = group.members;
    merge.key_weights = group.weights;
    merge.value_weights = group.weights;
    head.plan.merges.push_back(std::move(merge));
  }
  std::vector<std::size_t> told(groups.size(), 0);  // members of a group that have their removal already
  for (std::size_t e = 0; e < head.gone.size(); ++e) {
    Removal removal = removal_of(head, head.gone[e]);
    removal.cos = nearest[e].cos;
    if (nearest[e].cos >= tau) {
      const auto place = at(group_of[at(nearest[e].target)]);
      removal.target = nearest[e].target;
      removal.w_target = groups[place].weights[0];
      removal.w_removed = groups[place].weights[++told[place]];
      removal.form = form;
    }
    head.plan.removals.push_back(std::move(removal));
  }
}

}  // namespace

std::vector<double> similarity_weights(std::span<const double> u, MergeForm form) {
  std::vector<double> w;
  w.reserve(u.size() + 1);
  if (form == MergeForm::code) {
    const double n = 1.0 + static_cast<double>(u.size());
    w.push_back(1 / n);
    for (const double x : u) w.push_back(x / n);
    return w;
  }
  double total = std::numbers::e;
  for (const double x : u) total += std::exp(x);
  w.push_back(std::numbers::e / total);
  for (const double x : u) w.push_back(std::exp(x) / total);
  return w;
}

std::optional<double> GatedMerger::tau(int layer) const { return at(layer) < tau_.size() ? tau_[at(layer)] : std::nullopt; }

void GatedMerger::expect(HeadDecision& head) const { expect_nearest_kept(head); }

void GatedMerger::merge_layer(std::span<HeadDecision> heads, int) {
  std::vector<std::vector<Nearest>> nearest;
  double sum = 0;
  int n = 0;
  for (const HeadDecision& head : heads) {
    nearest.push_back(nearest_kept(head));
    for (const Nearest& x : nearest.back()) sum += x.cos;
    n += static_cast<int>(nearest.back().size());
  }
  if (n == 0) return;
  const std::size_t layer = at(heads.front().view.layer);
  if (tau_.size() <= layer) tau_.resize(layer + 1);
  std::optional<double>& tau = tau_[layer];
  tau = tau ? (1 - beta_) * *tau + beta_ * (sum / n) : sum / n;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    merge_head(heads[h], nearest[h], *tau, form_);
    heads[h].plan.theta = *tau;
  }
}

}  // namespace kvscope
