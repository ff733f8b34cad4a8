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
  /// ratio: share kept where the budget was given as one, else 0.
  ChunkSelection(int size, Keeps keeps, double ratio) : size_(size), keeps_(keeps), ratio_(ratio) {}
  void select(HeadDecision& head, int step) const override;

 private:
  int size_;
  Keeps keeps_;
  double ratio_;
};

}  // namespace kvscope
