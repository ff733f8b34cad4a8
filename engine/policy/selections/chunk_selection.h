// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/selections/selection.h"

namespace kvscope {

/// Neighbouring tokens stay or go together. A chunk is the slots whose positions lie in the same stretch of `size` tokens; it is worth the
/// mean of its scores, which is also the score shown. Of equal ones the first stays. A chunk that holds a protected slot goes last, and
/// then without its protected slots.
class ChunkSelection final : public Selection {
 public:
  enum class Keeps {
    share,  // max(1, floor(chunks x share kept)) chunks: the number of slots is an outcome (ChunkKV, arXiv:2502.00299)
    fits    // as many as fit into the budget
  };
  /// ratio: share kept where the budget was given as one, else 0. as_removed: chunks are counted of the share that is removed, as kvpress
  /// does in doubles: of ten at 0.2 it keeps one, because 1 - 0.8 is less than 0.2.
  ChunkSelection(int size, Keeps keeps, double ratio, bool as_removed = false)
      : size_(size), keeps_(keeps), ratio_(as_removed ? 1 - (1 - ratio) : ratio), as_removed_(as_removed) {}
  void select(HeadDecision& head, int step) const override;
  std::string equation() const override;

 private:
  int size_;
  Keeps keeps_;
  double ratio_;
  bool as_removed_;
};

}  // namespace kvscope
