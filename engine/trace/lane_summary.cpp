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

LaneSummary summarize(const Snapshot& snapshot, std::size_t lane_index) {
  const LaneSnapshot& lane = snapshot.lanes[lane_index];
  const std::vector<StepPtr>& reference = snapshot.lanes.front().steps;
  LaneSummary out;
  Mean kl, nll, same, rel_l2, l1_wo, loss, theta, predictor, hidden;
  double ms = 0;
  bool same_text = true;  // up to the token that this step has read
  for (std::size_t i = 0; i < lane.steps.size(); ++i) {
    const StepRecord& step = *lane.steps[i];
    if (same_text) {
      kl.add(step.kl);
      same.add(step.top1_same ? 1 : 0);
      ++out.compared;
    }
    same_text = same_text && i < reference.size() && reference[i]->next_token == step.next_token;
    nll.add(step.nll);
    if (i > 0) ms += step.ms;
    if (!step.hidden_rel_l2.empty()) hidden.add(step.hidden_rel_l2.back());
    for (const HeadRecord& head : step.heads) {
      rel_l2.add(head.local_rel_l2);
      l1_wo.add(head.local_l1_wo);
      loss.add(head.attention_loss);
      theta.add(head.theta);
      predictor.add(head.predictor_error);
    }
  }
  out.kl = kl.value();
  out.nll = nll.value();
  out.top1_same = same.value();
  out.local_rel_l2 = rel_l2.value();
  out.local_l1_wo = l1_wo.value();
  out.attention_loss = loss.value();
  out.theta = theta.value();
  out.predictor_error = predictor.value();
  out.hidden_rel_l2 = hidden.value();
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
