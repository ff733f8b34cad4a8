// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/graphs.h"

namespace kvscope::cuda {

cudaGraphExec_t Graphs::of(const Launches& list) {
  if (!on_ || list.size() < kFewest) return nullptr;
  const std::uint64_t hash = list.hash();
  if (const auto known = places_.find(hash); known != places_.end()) {
    if (known->second->list != list) return nullptr;
    graphs_.splice(graphs_.begin(), graphs_, known->second);
    return known->second->exec;
  }
  if (!seen_.contains(hash) && !seen_before_.contains(hash)) {
    if (seen_.size() >= kSeen) {
      seen_.swap(seen_before_);
      seen_.clear();
    }
    seen_.insert(hash);
    return nullptr;
  }
  const cudaGraphExec_t exec = list.graph();
  if (!exec) {  // no memory: what the graphs have taken is worth more to others
    forget_all();
    on_ = false;
    return nullptr;
  }
  if (graphs_.size() >= kMost) {
    cudaGraphExecDestroy(graphs_.back().exec);  // if it still runs it goes when it is done, CUDA says
    places_.erase(graphs_.back().hash);
    graphs_.pop_back();
  }
  graphs_.push_front({list, hash, exec});
  places_[hash] = graphs_.begin();
  return exec;
}

void Graphs::forget_all() {
  for (const Graph& graph : graphs_) cudaGraphExecDestroy(graph.exec);
  graphs_.clear();
  places_.clear();
}

}  // namespace kvscope::cuda
