// SPDX-License-Identifier: Apache-2.0
// Recorded results within the memory that they may take.
#include <algorithm>
#include <utility>

#include "runtime/session/session_impl.h"
#include "snapshot/held_bytes.h"

namespace kvscope {

namespace {

constexpr double kSome = 15.0 / 16;  // of the limit: records are looked through again only when as much more has come

}  // namespace

void Session::Impl::keep_to_limit() {
  const auto held = [this] {
    double sum = 0;
    for (const auto& lane : lanes) sum += lane->record_bytes;
    return sum;
  };
  if (held() <= record_limit) return;
  while (held() > kSome * record_limit) {
    // the oldest step that is whole, in all lanes, so that what is compared was cut alike; the newest is not final yet
    int oldest = -1;
    for (const auto& lane : lanes) {
      if (lane->n_figures_only + 1 < static_cast<int>(lane->steps.size()) && (oldest < 0 || lane->n_figures_only < oldest))
        oldest = lane->n_figures_only;
    }
    if (oldest < 0) return;
    std::vector<std::pair<StepPtr, StepPtr>> cut;  // forks share records
    for (auto& lane : lanes) {
      if (lane->n_figures_only != oldest || oldest + 1 >= static_cast<int>(lane->steps.size())) continue;
      StepPtr& step = lane->steps[static_cast<std::size_t>(oldest)];
      ++lane->n_figures_only;
      const auto known = std::ranges::find(cut, step, &std::pair<StepPtr, StepPtr>::first);
      if (known != cut.end()) {
        step = known->second;
        continue;
      }
      auto figures = std::make_shared<const StepRecord>(figures_of(*step));
      lane->record_bytes = std::max(0.0, lane->record_bytes - held_bytes(*step) + held_bytes(*figures));
      cut.emplace_back(std::exchange(step, figures), figures);
    }
  }
}

}  // namespace kvscope
