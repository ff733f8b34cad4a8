// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/token_count.h"

#include <algorithm>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

/// The token had been seen after the step, and what became of it is known.
bool is_seen(const LaneSnapshot& lane, int step, int token) {
  if (step < 0 || step >= static_cast<int>(lane.steps.size()) || lane.fates == nullptr || token < 0) return false;
  const StepPtr& record = lane.steps[static_cast<std::size_t>(step)];
  return record != nullptr && token <= record->position;
}

void add(TokenCount& count, int step, int left, int lost) {
  if (lost > step) {
    (left > step ? count.kept : count.merged) += 1;
    return;
  }
  count.first_lost = count.evicted == 0 ? lost : std::min(count.first_lost, lost);
  count.last_lost = std::max(count.last_lost, lost);
  ++count.evicted;
}

}  // namespace

TokenCount TokenCounts::of(const Snapshot& snapshot, int lane, int step, int token) {
  const auto i = static_cast<std::size_t>(lane);
  const LaneSnapshot& run = snapshot.lanes[i];
  TokenCount out;
  if (!is_seen(run, step, token)) return out;
  lanes_.resize(snapshot.lanes.size());
  Column& column = lanes_[i];
  const std::vector<HeadFates>& heads = run.fates->heads;
  if (column.token != token || column.fates.lock() != run.fates) {
    column = {.fates = run.fates, .token = token, .left = {}, .lost = {}, .with_past = {}};
    column.left.assign(heads.size(), kNever);
    column.lost.assign(heads.size(), kNever);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      if (token >= heads[h].n_tokens()) continue;
      column.left[h] = heads[h].left(token);
      column.lost[h] = heads[h].lost(token);
      if (!heads[h].past.empty()) column.with_past.push_back(static_cast<int>(h));
    }
  }
  for (const int h : column.with_past) {
    const Fate fate = fate_at(heads[static_cast<std::size_t>(h)], token, step);
    column.left[static_cast<std::size_t>(h)] = fate.left;
    column.lost[static_cast<std::size_t>(h)] = fate.lost;
  }
  out.heads = static_cast<int>(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) add(out, step, column.left[h], column.lost[h]);
  return out;
}

std::string kept_text(const TokenCount& count) {
  const std::string kept = count.heads > 0 ? format_count(count.kept) : "–";
  return count.merged > 0 ? fmt::format("{} + {}", kept, format_count(count.merged)) : kept;
}

std::string evicted_text(const TokenCount& count) {
  if (count.evicted == 0) return {};
  const std::string steps = count.first_lost == count.last_lost
                                ? fmt::format("step {}", format_count(count.first_lost))
                                : fmt::format("steps {}–{}", format_count(count.first_lost), format_count(count.last_lost));
  return fmt::format("evicted {} in {} of {} heads", steps, format_count(count.evicted), format_count(count.heads));
}

}  // namespace kvscope::viz
