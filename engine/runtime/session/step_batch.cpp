// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/step_batch.h"

#include <algorithm>
#include <atomic>
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
    for (Lane* const lane : lanes_) lane->attended(rows.layer);
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
      finish_on_device();
    }
    unfinished_.clear();
  }

 private:
  /// The device works through the layers, from the first on, and many threads follow it, each waiting for what it reads.
  void finish_on_device() {
    constexpr int kParts = 4;  // of a layer's heads, so that the last layer's are not one thread's work
    const int n = static_cast<int>(lanes_.size()), n_all = n * static_cast<int>(unfinished_.size());
    const int n_heads = lanes_.front()->n_kv_heads();
    const auto of_all_layers = [&](const auto& work) { backend_.for_each(n_all, [&](int i) { work(i % n, unfinished_[i / n].layer); }); };
    backend_.for_each(n, [&](int lane) { lanes_[lane]->append_value_norms(unfinished_, lane); });
    std::vector<std::atomic<int>> parts_left(n_all);
    for (std::atomic<int>& left : parts_left) left = kParts;
    backend_.for_each(n + n_all * kParts, [&](int i) {
      if (i < n) return lanes_[i]->prepare_next_step();
      const int place = (i - n) / kParts, part = (i - n) % kParts, lane = place % n;
      const LayerRows& rows = unfinished_[place / n];
      const int begin = n_heads * part / kParts, end = n_heads * (part + 1) / kParts;
      lanes_[lane]->read_heads(rows.layer, begin, end - begin);
      if (parts_left[place].fetch_sub(1) == 1) lanes_[lane]->finish_read(rows, lane);
    });
    of_all_layers([&](int lane, int layer) { lanes_[lane]->merge(layer); });
    backend_.for_each(n, [&](int lane) { lanes_[lane]->change_caches(); });
    of_all_layers([&](int lane, int layer) { lanes_[lane]->update_slots(layer); });
  }

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
