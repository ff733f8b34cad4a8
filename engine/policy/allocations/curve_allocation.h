// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/budget_curves.h"
#include "core/config.h"
#include "policy/allocations/allocation.h"

namespace kvscope {

/// What every head gives up when this share of all goes was measured once for the model, and comes from a file (LU-KV, arXiv:2602.08585).
class CurveAllocation final : public Allocation {
 public:
  /// ratio: share of the prompt that was asked for; negative: slots were. Throws UsageError: no file, or curves of another model.
  CurveAllocation(std::shared_ptr<const BudgetCurves> curves, const ModelConfig& model, double ratio);
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  std::string equation() const override { return "slots of the head: the file's share of the prompt for it at this budget"; }

 private:
  std::shared_ptr<const BudgetCurves> curves_;
  double ratio_;
};

}  // namespace kvscope
