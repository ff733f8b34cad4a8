// SPDX-License-Identifier: Apache-2.0
#include "app/cli/sweep/sweep_work.h"

#include <algorithm>
#include <iterator>

#include "snapshot/figures.h"

namespace kvscope::cli {

SweepResult SweepWork::result_of(const Snapshot& snapshot, const LaneSnapshot& lane, const SweepText& text) const {
  const RunFigures f = run_figures(snapshot, lane);
  SweepResult out;
  out.figures = {
      f.slots,     f.kl.mean(),      f.nll.mean(), f.top1_share(), f.local_rel_l2.mean(), f.local_l1_wo.mean(), f.attention_loss.mean(),
      f.allocated, f.tokens_per_s(), f.bytes,      kNotAvailable};
  out.answer = answer_fates(snapshot, lane, text.answer_tokens);
  if (text.answers.empty()) return out;
  std::vector<int> ids = lane_tokens(snapshot, lane);
  const std::size_t n_read = text.request.prompt_ids.size() + text.request.given_ids.size();
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(n_read, ids.size())));
  ids.erase(std::ranges::find_first_of(ids, end_ids_), ids.end());
  out.said = tokenizer_->decode(ids);
  out.figures[sweep_figure("score")] = answer_score(text, out.said);
  return out;
}

/// A row that says it would stand at a budget, or for an edit, that was not what ran. What else a run warns of is in its figures.
static bool of_another_budget(const LaneWarning& warning) {
  using enum LaneWarning::Kind;
  const LaneWarning::Kind kind = warning.kind;
  return kind == nothing_removed || kind == budget_raised || kind == edits_idle || kind == window_decides || kind == not_finite ||
         kind == nan_scores;
}

SweepResult SweepWork::compute(std::size_t item, const CancelToken& cancel, const Session::Progress& progress) {
  if (!session_) {
    session_.emplace(std::move(*model_), options_);
    model_.reset();
  }
  const SweepPlan::Place place = plan_.place(item);
  RunRequest request = place.text.request;
  request.seed = place.seed;
  request.lanes.clear();
  const std::size_t reference = plan_.reference_of(item);
  if (!reference_ || reference_item_ != reference) {
    reference_.reset();
    const Snapshot full = session_->run(request, cancel, progress);
    reference_ = result_of(full, full.lanes[0], place.text);
    reference_item_ = reference;
  }
  if (item == reference) return *reference_;
  request.lanes.push_back(place.run.lane);
  const Snapshot snapshot = session_->run(request, cancel, progress);
  SweepResult out = result_of(snapshot, snapshot.lanes[1], place.text);
  std::ranges::copy_if(snapshot.lanes[1].warnings, std::back_inserter(out.warnings), of_another_budget);
  return out;
}

}  // namespace kvscope::cli
