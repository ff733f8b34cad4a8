// SPDX-License-Identifier: Apache-2.0
// Statistics that the backend keeps, so that a step's rows stay where they are: the host asks which slot goes.
#include <algorithm>

#include "runtime/lane/lane.h"

namespace kvscope {

const NumberPlan* Lane::numbers_of(int layer) const {
  const std::optional<NumberPlan>& plan = number_plans_[static_cast<std::size_t>(layer)];
  return plan ? &*plan : nullptr;
}

/// Whoever shows scores or changes slots by hand has the statistics on the host.
void Lane::plan_numbers() {
  number_plans_.assign(layers_.size(), std::nullopt);
  const RecordOptions& record = setup_.record;
  if (!backend_.prefers_numbers() || record.captures || record.slots || record.measures.prediction || !what_ifs_.empty()) return;
  for (int l = 0; l < config_.n_layers; ++l)
    if (const std::optional<NumberRules> rules = policy_->number_rules(l))
      number_plans_[static_cast<std::size_t>(l)] = NumberPlan{*rules, policy_->kept_score(), policy_->bias()};
}

void Lane::place_numbers(int layer) {
  const int n_rows = record_->position;  // one for every token before
  const NumberPlan* const plan = numbers_of(layer);
  if (!plan) return bring_numbers(layer, n_rows);
  for (HeadCache& head : layers_[layer].heads)
    if (head.number_width == 0) move_to_backend(backend_, head, policy_->needs(layer), *plan, config_.group(), n_rows);
}

void Lane::bring_numbers(int layer, int n_rows) {
  for (HeadCache& head : layers_[layer].heads) {
    if (head.number_width == 0) continue;
    const NumberRules rules = *policy_->number_rules(layer);  // of the plan that moved them, which may be gone
    move_to_host(backend_, head, policy_->needs(layer), rules, config_.group(), n_rows);
  }
}

std::span<const SlotNumbers* const> Lane::numbers_together(int layer) {
  std::vector<const SlotNumbers*>& all = work(layer).numbers;
  all.clear();
  for (const HeadCache& head : layers_[layer].heads) all.push_back(&head.numbers);
  return all;
}

void Lane::ask_numbers(int layer, std::vector<ObserveJob>& observe, std::vector<LowestJob>& lowest) {
  const NumberPlan* const plan = numbers_of(layer);
  if (!plan) return;
  const std::size_t answer = sizeof(double) * lowest_numbers(config_.group(), plan->rules.width);
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = layers_[layer].heads[h];
    HeadJob& job = work(layer).heads[h];
    observe.push_back({.rules = &plan->rules,
                       .numbers = &head.numbers,
                       .n = head.slots.size(),
                       .step = record_->position,
                       .probabilities = plan->rules.reads_a() ? job.p.data() : nullptr,
                       .logits = plan->rules.reads_z() ? job.z.data() : nullptr,
                       .key_norms = plan->rules.key_norm >= 0 ? work(layer).key_norms.as<double>() + h : nullptr});
    job.foresight = policy_->foresee({.slots = &head.slots, .layer = layer, .kv_head = h});
    if (job.foresight.kind != Foresight::Kind::lowest || (job.foresight.whole_layer && h > 0)) continue;
    if (job.lowest.bytes() < answer) job.lowest = backend_.allocate(answer);
    lowest.push_back({.rules = &plan->rules,
                      .numbers = &head.numbers,
                      .score = plan->score,
                      .steps = record_->position + 1,
                      .first = job.foresight.first,
                      .last = job.foresight.last,
                      .left_out = job.foresight.left_out,
                      .out = job.lowest.data(),
                      .steady = job.foresight.steady,
                      .pooling = job.foresight.pooling,
                      .heads = job.foresight.whole_layer ? numbers_together(layer) : std::span<const SlotNumbers* const>()});
  }
}

}  // namespace kvscope
