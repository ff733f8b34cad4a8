// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/step_batch.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace kvscope {

namespace {

constexpr int kLanesPerWorker = 3;  // at least, for the threads to end together

class StepSite final : public AttentionSite {
 public:
  StepSite(Backend& backend, std::span<Lane* const> lanes) : backend_(backend), lanes_(lanes), longest_first_(lanes.size()) {
    std::iota(longest_first_.begin(), longest_first_.end(), 0);
    std::ranges::stable_sort(longest_first_, std::greater<>(), [&](int i) { return lanes[i]->compress_ms - lanes[i]->prompt_compress_ms; });
  }

  void before_rotation(const LayerRows& rows) override {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i]->before_rotation(rows, static_cast<int>(i));
  }

  void attend(const LayerRows& rows) override {
    const int n = static_cast<int>(lanes_.size());
    lane_jobs_.resize(lanes_.size());
    const auto prepare = [&](int i) {
      lane_jobs_[i].clear();
      lanes_[i]->prepare(rows, i, lane_jobs_[i]);
    };
    if (backend_.workers() > 0 && n >= kLanesPerWorker * backend_.workers()) {
      // enough lanes for all threads: each lane from end to end, so that its cache is read, judged and changed where it is near
      backend_.for_each(n, [&](int place) {
        const int i = longest_first_[place];
        prepare(i);
        backend_.attend(lane_jobs_[i]);
        lanes_[i]->append_value_norms({&rows, 1}, i);
        lanes_[i]->finish(rows, i);
      });
      return;
    }
    backend_.for_each(n, prepare);
    jobs_.clear();
    for (const auto& lane_jobs : lane_jobs_) jobs_.insert(jobs_.end(), lane_jobs.begin(), lane_jobs.end());
    backend_.attend(jobs_);
    unfinished_.push_back(rows);
    if (backend_.workers() > 0) finish();
  }

  /// What is left to do for layers whose attention is done.
  void finish() {
    const int n = static_cast<int>(lanes_.size());
    if (backend_.workers() > 0) {
      backend_.for_each(n, [&](int i) {
        lanes_[i]->append_value_norms(unfinished_, i);
        for (const LayerRows& rows : unfinished_) lanes_[i]->finish(rows, i);
      });
    } else {
      // a device works through the layers, from the first on: there is work for many threads, each of which waits for what it reads
      const auto of_all_layers = [&](const auto& work) {
        backend_.for_each(n * static_cast<int>(unfinished_.size()), [&](int i) { work(i % n, unfinished_[i / n]); });
      };
      backend_.for_each(n, [&](int lane) { lanes_[lane]->append_value_norms(unfinished_, lane); });
      of_all_layers([&](int lane, const LayerRows& rows) { lanes_[lane]->finish(rows, lane); });
      of_all_layers([&](int lane, const LayerRows& rows) { lanes_[lane]->merge(rows.layer); });
      backend_.for_each(n, [&](int lane) { lanes_[lane]->change_caches(); });
      of_all_layers([&](int lane, const LayerRows& rows) { lanes_[lane]->update_slots(rows.layer); });
    }
    unfinished_.clear();
  }

 private:
  Backend& backend_;
  std::span<Lane* const> lanes_;
  std::vector<int> longest_first_;  // lanes by the work of their policies so far: so the threads end together
  std::vector<std::vector<AttentionJob>> lane_jobs_;
  std::vector<AttentionJob> jobs_;
  std::vector<LayerRows> unfinished_;
};

}  // namespace

void run_step(Backend& backend, Forward& forward, std::span<Lane* const> lanes, std::span<const int> tokens, int position,
              const CancelToken& cancel) {
  for (Lane* lane : lanes) {
    lane->begin_step(position);
    lane->broken = true;  // until every layer has been through
  }
  StepSite site(backend, lanes);
  const std::vector<int> positions(lanes.size(), position);
  forward.set_prompt_length(lanes.front()->setup().n_prompt);
  forward.run(
      tokens, positions, site, cancel,
      [&](int layer) {
        for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i]->after_layer(layer, forward.residual(static_cast<int>(i)));
      },
      backend.workers() > 0 ? Forward::Keep::newest_layer : Forward::Keep::all_layers);
  forward.project(0, static_cast<int>(lanes.size()));
  site.finish();
  backend.for_each(static_cast<int>(lanes.size()), [&](int i) { lanes[i]->end_step(); });
  std::vector<std::span<double>> logits;
  for (Lane* lane : lanes) {
    lane->logits.resize(forward.vocab_size());
    logits.emplace_back(lane->logits);
  }
  forward.logits(logits);
  for (Lane* lane : lanes) lane->broken = false;
}

}  // namespace kvscope
