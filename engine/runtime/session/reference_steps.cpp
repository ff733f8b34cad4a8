// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/reference_steps.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "measure/distribution.h"

namespace kvscope {

void ReferenceSteps::add(std::span<const double> logits, const void* residual, std::span<const double> hidden) {
  Step step;
  if (residual != nullptr) {
    step.residual.resize(size_of(backend_.dtype()) * static_cast<std::size_t>(config_.dim));
    backend_.download(step.residual.data(), residual, step.residual.size());
  } else {
    step.logits.assign(logits.begin(), logits.end());
  }
  if (backend_.dtype() == DType::f64)
    step.hidden_exact.assign(hidden.begin(), hidden.end());
  else
    step.hidden.assign(hidden.begin(), hidden.end());
  steps_.push_back(std::move(step));
  set_current(size() - 1, {logits.begin(), logits.end()});
}

void ReferenceSteps::cut(int n_steps) {
  steps_.resize(static_cast<std::size_t>(std::min(n_steps, size())));
  if (current_step_ >= n_steps) current_step_ = -1;
}

void ReferenceSteps::forget_before(int step) {
  for (int s = std::min(step, size()) - 1;
       s >= 0 && !(steps_[static_cast<std::size_t>(s)].residual.empty() && steps_[static_cast<std::size_t>(s)].logits.empty()); --s)
    steps_[static_cast<std::size_t>(s)] = {};
}

const ReferenceSteps::Distribution& ReferenceSteps::at(int step) {
  if (step == current_step_) return current_;
  const Step& known = steps_.at(static_cast<std::size_t>(step));
  std::vector<double> logits = known.logits;
  if (logits.empty()) {
    KVSCOPE_ASSERT(!known.residual.empty());
    logits.resize(static_cast<std::size_t>(config_.vocab_size));
    forward_.logits_of(known.residual, logits);
  }
  set_current(step, std::move(logits));
  return current_;
}

void ReferenceSteps::set_current(int step, std::vector<double> logits) {
  current_step_ = step;
  current_.log_p = logits;
  log_softmax(current_.log_p);
  current_.p = probabilities(current_.log_p);
  current_.top1 = argmax(logits);
  current_.logits = std::move(logits);
}

std::vector<double> ReferenceSteps::hidden(int step) const {
  const Step& known = steps_.at(static_cast<std::size_t>(step));
  return known.hidden.empty() ? known.hidden_exact : std::vector<double>(known.hidden.begin(), known.hidden.end());
}

}  // namespace kvscope
