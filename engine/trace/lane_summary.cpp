// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_summary.h"

#include <cmath>

namespace kvscope {

namespace {

class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++n_;
  }
  double value() const { return n_ > 0 ? sum_ / n_ : kNotAvailable; }

 private:
  double sum_ = 0;
  int n_ = 0;
};

}  // namespace

LaneSummary summarize(const LaneSnapshot& lane) {
  Mean kl, nll, same, rel_l2, l1_wo, loss;
  double ms = 0;
  for (std::size_t i = 0; i < lane.steps.size(); ++i) {
    const StepRecord& step = *lane.steps[i];
    kl.add(step.kl);
    nll.add(step.nll);
    same.add(step.top1_same ? 1 : 0);
    if (i > 0) ms += step.ms;
    for (const HeadRecord& head : step.heads) {
      rel_l2.add(head.local_rel_l2);
      l1_wo.add(head.local_l1_wo);
      loss.add(head.attention_loss);
    }
  }
  LaneSummary out{kl.value(), nll.value(), same.value(), rel_l2.value(), l1_wo.value(), loss.value()};
  if (ms > 0) out.tokens_per_s = 1000.0 * static_cast<double>(lane.steps.size() - 1) / ms;
  return out;
}

std::vector<int> lane_tokens(const Snapshot& snapshot, const LaneSnapshot& lane) {
  std::vector<int> ids;
  const std::size_t n_prompt = static_cast<std::size_t>(snapshot.n_prompt);
  for (std::size_t i = 0; i < snapshot.tokens.size() && i < n_prompt; ++i) ids.push_back(snapshot.tokens[i].id);
  for (const StepPtr& step : lane.steps) {
    if (step->position + 1 >= snapshot.n_prompt && step->next_token >= 0) ids.push_back(step->next_token);
  }
  return ids;
}

}  // namespace kvscope
