// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/given_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/not_available.h"
#include "policy/text/params.h"

namespace kvscope {

GivenRun::GivenRun(std::shared_ptr<const KeptFile> file, const std::string& name) : file_(std::move(file)) {
  if (!file_) throw UsageError("file: expected a file of kept tokens, got none");
  run_ = file_->run(name);
  if (run_) {
    if (run_->positions == "ceiling")
      throw UsageError(fmt::format(
          "file: {}: run {}: expected keys at their places in the text or in the cache, got positions={}: how far away its first "
          "tokens are seen does not stand in the file; run the policy itself",
          kvscope::quoted(file_->path), kvscope::quoted(run_->name), run_->positions));
    check_nothing_returns();
    return;
  }
  std::string known;
  for (const KeptFile::Run& run : file_->runs) known += (known.empty() ? "" : ", ") + kvscope::quoted(run.name);
  throw UsageError(fmt::format("run: expected one of {} has ({}), got {}", kvscope::quoted(file_->path), known, kvscope::quoted(name)));
}

void GivenRun::check_nothing_returns() const {
  const KeptFile::Step* before = nullptr;
  for (const KeptFile::Step& step : run_->steps) {
    for (std::size_t h = 0; before && h < step.kept.size(); ++h)
      for (const int pos : step.kept[h])
        if (pos < file_->n_prompt + before->step && !std::ranges::binary_search(before->kept[h], pos))
          throw UsageError(
              fmt::format("file: {}: step {}, layer {}, KV head {}: position {} is kept, expected one that step {} had kept: what "
                          "has left a cache does not come back",
                          kvscope::quoted(file_->path), step.step, h / static_cast<std::size_t>(file_->n_kv_heads),
                          h % static_cast<std::size_t>(file_->n_kv_heads), pos, before->step));
    before = &step;
  }
}

const KeptFile::Step* GivenRun::step(int step) const {
  const auto found = std::ranges::lower_bound(run_->steps, step, {}, &KeptFile::Step::step);
  return found == run_->steps.end() || found->step != step ? nullptr : &*found;
}

const KeptFile::Step* GivenRun::first() const { return run_->steps.empty() ? nullptr : &run_->steps.front(); }

void GivenSelection::select(HeadDecision& head, int step) const {
  head.due = false;
  const KeptFile::Step* const said = run_.step(step);
  if (!said) return;
  const std::size_t place = static_cast<std::size_t>(head.view.layer * run_.file().n_kv_heads + head.view.kv_head);
  const std::vector<int>& kept = said->kept[place];
  const std::vector<int>& pos = head.slots().pos;
  if (!said->scores.empty()) head.score.assign(pos.size(), kNotAvailable);
  for (int i = 0; i < head.slots().size(); ++i) {
    const auto found = std::ranges::lower_bound(kept, pos[static_cast<std::size_t>(i)]);
    const bool stays = found != kept.end() && *found == pos[static_cast<std::size_t>(i)];
    if (stays && !said->scores.empty())
      head.score[static_cast<std::size_t>(i)] = said->scores[place][static_cast<std::size_t>(found - kept.begin())];
    const bool pinned = std::ranges::binary_search(head.view.pinned, pos[static_cast<std::size_t>(i)]);
    (stays || pinned ? head.keep : head.gone).push_back(i);
  }
  head.plan.score = head.score;
  head.due = !head.gone.empty();
}

std::vector<std::optional<int>> GivenAllocation::budgets(const BudgetShape& shape) const {
  const KeptFile& file = run_.file();
  if (file.n_layers != shape.n_layers || file.n_kv_heads != shape.n_kv_heads)
    throw UsageError(fmt::format("file: {}: expected kept tokens of {} layers x {} KV heads, got {} x {}; open the model they are of",
                                 kvscope::quoted(file.path), shape.n_layers, shape.n_kv_heads, file.n_layers, file.n_kv_heads));
  if (file.n_prompt != shape.n_prompt)
    throw UsageError(
        fmt::format("file: {}: expected kept tokens of a prompt of {} tokens, got {}; open the file itself, which brings its prompt",
                    kvscope::quoted(file.path), shape.n_prompt, file.n_prompt));
  std::vector<std::optional<int>> out(static_cast<std::size_t>(shape.n_layers * shape.n_kv_heads), file.n_prompt);
  if (const KeptFile::Step* const first = run_.first())
    for (std::size_t h = 0; h < out.size(); ++h) out[h] = static_cast<int>(first->kept[h].size());
  return out;
}

}  // namespace kvscope
