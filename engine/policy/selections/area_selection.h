// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/selections/selection.h"

namespace kvscope {

/// Keeps the protected slots and the `heavy` best of the others, whatever the budget: the merger makes the rest fit.
class HeavySelection final : public Selection {
 public:
  explicit HeavySelection(int heavy) : heavy_(heavy) {}
  void select(HeadDecision& head, int step) const override;

 private:
  int heavy_;
};

/// The slots fall into sinks, recent, residual (`places` of the budget) and context, which is the rest of the budget. While the context
/// holds more than its share, its lowest scores go, the slot that came in last included; residual slots stay.
class ContextSelection final : public Selection {
 public:
  explicit ContextSelection(int places) : places_(places) {}
  void select(HeadDecision& head, int step) const override;
  /// Where all places are taken, of the slots that are neither residual nor protected.
  int n_lowest(int n, int budget) const override { return std::max(0, n - budget); }
  bool works_below_budget() const override { return true; }

 private:
  int share(int budget, int n_protected) const { return std::max(0, budget - n_protected - places_); }

  int places_;
};

}  // namespace kvscope
