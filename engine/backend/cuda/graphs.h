// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <unordered_set>

#include "backend/cuda/launches.h"

namespace kvscope::cuda {

/// Graphs of the lists of launches that come again and again, as those of a decode step do: a graph costs the host one call.
class Graphs {
 public:
  static constexpr std::size_t kMost = 256;   // kept; of more the one that was not used for the longest time goes
  static constexpr std::size_t kFewest = 3;   // launches that are worth one
  static constexpr std::size_t kSeen = 2048;  // lists that are remembered at least until they come again

  /// on: false: of() has none.
  explicit Graphs(bool on) : on_(on) {}
  ~Graphs() { forget_all(); }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  /// The graph of a list that was asked for before in exactly this form; made when it is asked for the second time. nullptr: none, the
  /// launches are to be made one by one. Throws Error. The graph may only be launched before the next call.
  cudaGraphExec_t of(const Launches& list);

 private:
  struct Graph {
    Launches list;
    std::uint64_t hash = 0;
    cudaGraphExec_t exec = nullptr;
  };
  void forget_all();

  bool on_;
  std::list<Graph> graphs_;                                               // the one that was used last in front
  std::unordered_map<std::uint64_t, std::list<Graph>::iterator> places_;  // by hash
  // Hashes of lists without a graph: those that came last and those that came before them. All of a step must fit: one that a neighbour in
  // the same step displaces again and again never becomes a graph.
  std::unordered_set<std::uint64_t> seen_, seen_before_;
};

}  // namespace kvscope::cuda
