// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/cli/sweep/sweep_plan.h"
#include "core/cancel.h"
#include "runtime/session/session.h"

namespace kvscope::cli {

/// Computes items of a sweep, one after the other: each has its own speed. The full cache runs first, alone, and once for the items of one
/// text that follow each other.
class SweepWork {
 public:
  SweepWork(const SweepPlan& plan, ModelFiles model, const SessionOptions& options)
      : plan_(plan), tokenizer_(model.tokenizer), end_ids_(model.end_ids), model_(std::move(model)), options_(options) {}

  /// Throws Error, Cancelled.
  SweepResult compute(std::size_t item, const CancelToken& cancel, const Session::Progress& progress);

 private:
  SweepResult result_of(const Snapshot& snapshot, const LaneSnapshot& lane, const SweepText& text) const;

  const SweepPlan& plan_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<int> end_ids_;
  std::optional<ModelFiles> model_;  // until the first item: a sweep that has nothing left to do loads nothing
  SessionOptions options_;
  std::optional<Session> session_;
  std::size_t reference_item_ = 0;
  std::optional<SweepResult> reference_;  // of that item
};

}  // namespace kvscope::cli
