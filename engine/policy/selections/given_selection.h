// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/kept_file.h"
#include "policy/allocations/allocation.h"
#include "policy/selections/selection.h"

namespace kvscope {

/// One run of a file of kept tokens. Throws UsageError: no file, no such run in it, or a token comes back in it that had left before.
class GivenRun {
 public:
  GivenRun(std::shared_ptr<const KeptFile> file, const std::string& name);
  const KeptFile& file() const { return *file_; }
  /// nullptr: nothing is said about this step.
  const KeptFile::Step* step(int step) const;
  /// nullptr: nothing is said at all.
  const KeptFile::Step* first() const;

 private:
  void check_nothing_returns() const;

  std::shared_ptr<const KeptFile> file_;
  const KeptFile::Run* run_;
};

/// Keeps in a step exactly the positions that the file names, and everything in a step of which it says nothing. Shown as score: the
/// file's own, where it has them.
class GivenSelection final : public Selection {
 public:
  explicit GivenSelection(GivenRun run) : run_(std::move(run)) {}
  void select(HeadDecision& head, int step) const override;
  bool works_below_budget() const override { return true; }

 private:
  GivenRun run_;
};

/// As many slots as the file keeps in the first step that it is about.
class GivenAllocation final : public Allocation {
 public:
  explicit GivenAllocation(GivenRun run) : run_(std::move(run)) {}
  /// Throws UsageError: the file is about another shape or another length of prompt.
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool needs_prompt() const override { return true; }
  bool distributes_always() const override { return true; }
  bool raises_small_shares() const override { return false; }

 private:
  GivenRun run_;
};

}  // namespace kvscope
