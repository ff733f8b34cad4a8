// SPDX-License-Identifier: Apache-2.0
#include "cache/kept_numbers.h"

#include <algorithm>
#include <numeric>

namespace kvscope {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

void move_to_backend(Backend& backend, HeadCache& cache, const StatNeeds& needs, const NumberPlan& plan, int group, int steps) {
  cache.numbers = backend.make_numbers(plan.rules.width, take_numbers(cache.slots, needs, plan.rules, group, plan.bias, steps));
  cache.number_width = plan.rules.width;
}

void move_to_host(Backend& backend, HeadCache& cache, const StatNeeds& needs, const NumberRules& rules, int group, int steps) {
  std::vector<int> all(at(cache.slots.size()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> rows(all.size() * at(rules.width));
  const NumberRowsJob job{.numbers = &cache.numbers, .slots = all, .out = rows};
  if (!all.empty()) backend.number_rows(rules.width, {&job, 1});
  give_numbers(cache.slots, needs, rules, group, rows, steps);
  cache.numbers = {};
  cache.number_width = 0;
}

void change_numbers(HeadCache& cache, const NumberPlan& numbers, const Plan& plan, const HeadNumbers& known, CacheChanges& changes) {
  const NumberRules& rules = numbers.rules;
  if (rules.votes < 0 && rules.decayed < 0) return;  // a merge leaves the numbers of its target as they are
  for (const Merge& merge : plan.merges) {
    const std::span<const double> before = known.row(merge.target);
    std::vector<double> row(before.begin(), before.end());
    update_numbers(row, cache.slots, rules, numbers.bias, plan, merge);
    changes.set_numbers(cache, merge.target, std::move(row));
  }
}

HeadNumbers::Lowest KeptNumbers::lowest() const {
  if (!lowest_) return {};
  if (answer_.empty()) {
    answer_.resize(lowest_numbers(group_, rules_->width));
    backend_->download(answer_.data(), lowest_, sizeof(double) * answer_.size());
  }
  return {.slot = static_cast<int>(answer_[0]), .score = answer_[1], .log_Z = std::span(answer_).subspan(2, at(group_))};
}

std::span<const double> KeptNumbers::row(int slot) const {
  const int first = lowest().slot;
  const std::size_t width = at(rules_->width);
  if (first >= 0 && !of_layer_ && (slot == first || slot == first + 1))
    return std::span(answer_).subspan(2 + at(group_) + width * at(slot - first), width);
  if (lookups_)
    if (const std::span<const double> found = lookups_->numbers_of_nearest(*cache_, slot); !found.empty()) return found;
  std::vector<double>& row = asked_[slot];
  if (row.empty()) {
    row.resize(width);
    const NumberRowsJob job{.numbers = &cache_->numbers, .slots = {&slot, 1}, .out = row};
    backend_->number_rows(rules_->width, {&job, 1});
  }
  return row;
}

}  // namespace kvscope
