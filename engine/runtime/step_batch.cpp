// SPDX-License-Identifier: Apache-2.0
#include "runtime/step_batch.h"

namespace kvscope {

namespace {

class StepSite final : public AttentionSite {
 public:
  StepSite(Backend& backend, std::span<Lane* const> lanes) : backend_(backend), lanes_(lanes) {}

  void attend(const LayerRows& rows) override {
    jobs_.clear();
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i]->prepare(rows, static_cast<int>(i), jobs_);
    backend_.attend(jobs_);
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i]->finish(rows, static_cast<int>(i));
  }

 private:
  Backend& backend_;
  std::span<Lane* const> lanes_;
  std::vector<AttentionJob> jobs_;
};

}  // namespace

void run_step(Backend& backend, Forward& forward, std::span<Lane* const> lanes, std::span<const int> tokens, int position, const CancelToken& cancel) {
  for (Lane* lane : lanes) {
    lane->begin_step(position);
    lane->broken = true;  // until every layer has been through
  }
  StepSite site(backend, lanes);
  const std::vector<int> positions(lanes.size(), position);
  forward.run(tokens, positions, site, cancel);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = *lanes[i];
    lane.logits.resize(static_cast<std::size_t>(forward.vocab_size()));
    forward.logits(static_cast<int>(i), 1, lane.logits);
    lane.broken = false;
  }
}

}  // namespace kvscope
