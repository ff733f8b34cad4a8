// SPDX-License-Identifier: Apache-2.0
#include "slots/slot_updates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/not_available.h"
#include "core/place.h"
#include "core/slot_runs.h"
#include "core/vector_math.h"
#include "slots/statistics/log_ema.h"

namespace kvscope {
namespace {

/// Memory for a moment, kept by its thread: in a step an allocation would cost as much as the work.
std::span<double> scratch(std::size_t n) {
  thread_local std::vector<double> memory;
  if (memory.size() < n) memory.resize(n);
  return std::span(memory).first(n);
}

/// [group, n] to [n, group].
void slot_outermost(std::span<const double> z, int group, int n, std::span<double> out) {
  for (int g = 0; g < group; ++g)
    for (int i = 0; i < n; ++i) out[at(i * group + g)] = z[at(g) * at(n) + at(i)];
}

void prepare(SlotState& state, const StatNeeds& needs, int group) {
  if (needs.hits > 0 && state.hits.window() == 0) state.hits = HitHistory(needs.hits);
  if (needs.rows > 0 && state.rows.max_rows() == 0) state.rows = RowRing(needs.rows, 1, needs.row_sums);
  if (needs.keep_z_rows && state.z_rows.max_rows() == 0) state.z_rows = LogMeanRows(needs.z_rows, group);
}

void fold_all(SlotState& state, const StatNeeds& needs, std::span<const double> abar) {
  const StatParams params = needs.params();
  for_each_statistic([&]<class S>(S) {
    if constexpr (FoldsSteps<S>) {
      if (!wants<S>(needs)) return;
      typename S::Cell* const cells = column<S>(state).data();
      for (std::size_t i = 0; i < abar.size(); ++i) S::fold(cells[i], abar[i], params);
    }
  });
}

/// The sums over columns of a prompt that were gathered as `what`, or its last queries folded one by one.
template <class S>
void load_column(std::vector<typename S::Cell>& cells, const StatNeeds& needs, const PromptStats& prompt) {
  const std::size_t n = at(prompt.n);
  const auto of_slot = [](std::span<const double> x, std::size_t i) { return x.empty() ? kNotAvailable : x[i]; };
  cells.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    cells.push_back(
        S::init({.key_norm = of_slot(prompt.key_norm, i), .probed = of_slot(prompt.probed, i), .learned = of_slot(prompt.learned, i)}));
  if constexpr (requires { S::prompt_sum(StatParams()); }) {
    const auto sums = std::ranges::find(prompt.sums, S::prompt_sum(needs.params()), &PromptStats::Sums::what);
    KVSCOPE_ASSERT(sums != prompt.sums.end() && sums->of_slots.size() == n);
    std::ranges::copy(sums->of_slots, cells.begin());
  } else if constexpr (FoldsPromptRows<S>) {
    const std::size_t rows = std::min(at(S::kPromptRows), n);
    KVSCOPE_ASSERT(prompt.last_rows.size() >= rows * n);
    const std::span<const double> last = prompt.last_rows.last(rows * n);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i <= n - rows + r; ++i) S::fold(cells[i], last[r * n + i], needs.params());
  }
}

void load_columns(SlotState& state, const StatNeeds& needs, const PromptStats& prompt) {
  for_each_statistic([&]<class S>(S) {
    if (wants<S>(needs)) load_column<S>(column<S>(state), needs, prompt);
  });
}

}  // namespace

void append_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm) {
  prepare(state, needs, group);
  state.pos.push_back(pos);
  state.votes.push_back(1);
  state.extra.push_back(0.0);
  if (!state.united.empty()) state.united.emplace_back();
  if (needs.reads_a()) state.times.push_back(0);
  for_each_statistic([&]<class S>(S) {
    if (wants<S>(needs)) column<S>(state).push_back(S::init({.key_norm = key_norm}));
  });
  if (needs.hits > 0) state.hits.append_slot();
  if (needs.rows > 0) state.rows.append_slot(0.0);
  if (needs.keep_z_rows) state.z_rows.append_slot();
  if (needs.ema) {
    state.ema.insert(state.ema.end(), at(group), kMinusInf);
    state.ema_n.push_back(0);
  }
  if (needs.z_now) state.z_now.insert(state.z_now.end(), at(group), 0.0);
}

void observe_step(SlotState& state, const StatNeeds& needs, int group, std::span<const double> a, std::span<const double> z) {
  const int n = state.size();
  prepare(state, needs, group);
  if (needs.reads_a()) {
    KVSCOPE_ASSERT(a.size() == at(group) * at(n));
    const std::span<double> abar = scratch(at(n));
    reduce_group(a.data(), at(n), group, needs.group, abar);
    if (needs.rows > 0) state.rows.push(abar);
    for (int& t : state.times) ++t;
    fold_all(state, needs, abar);
    if (needs.hits > 0) state.hits.push(abar, 1.0 / n);
  }
  if (needs.reads_z()) {
    KVSCOPE_ASSERT(z.size() == at(group) * at(n));
    const std::span<double> now = scratch(z.size());
    for (int g = 0; g < group; ++g)
      for (int i = 0; i < n; ++i) now[at(i * group + g)] = z[at(g) * at(n) + at(i)] + state.extra[at(i)];
    if (needs.keep_z_rows) state.z_rows.push(now);
    if (needs.ema) log_ema::fold(state.ema, state.ema_n, needs.ema_alpha, group, now);
    if (needs.z_now) std::ranges::copy(now, state.z_now.begin());
  }
}

void load_prompt(SlotState& state, const StatNeeds& needs, int group, const PromptStats& prompt) {
  const int n = prompt.n;
  KVSCOPE_ASSERT(state.size() == 0 && prompt.key_norm.size() == (needs.key_norm || !prompt.key_norm.empty() ? at(n) : 0));
  prepare(state, needs, group);
  state.pos.resize(at(n));
  std::iota(state.pos.begin(), state.pos.end(), 0);
  state.votes.assign(at(n), 1);
  state.extra.assign(at(n), 0.0);
  if (needs.reads_a())
    for (int i = 0; i < n; ++i) state.times.push_back(n - i);
  if (needs.ema) {
    state.ema.assign(at(n) * at(group), kMinusInf);
    state.ema_n.assign(at(n), 0);
  }
  load_columns(state, needs, prompt);
  if (needs.hits > 0) {
    KVSCOPE_ASSERT(prompt.hits && prompt.hits->slots() == n);
    state.hits = prompt.hits->narrowed(needs.hits);
  }
  state.outside = prompt.outside;
  if (needs.rows > 0) {
    const int rows = std::min(needs.rows, n);
    KVSCOPE_ASSERT(prompt.last_rows.size() >= at(rows) * at(n));
    state.rows.load(prompt.last_rows.last(at(rows) * at(n)), rows);
  }
  if (needs.reads_z()) {
    const int rows = std::min(needs.z_rows, n);
    const std::size_t size = at(group) * at(n);
    KVSCOPE_ASSERT(prompt.last_z.size() == at(rows) * size);
    if (needs.keep_z_rows) {
      std::vector<double> z(prompt.last_z.size());
      for (int r = 0; r < rows; ++r)
        slot_outermost(prompt.last_z.subspan(at(r) * size, size), group, n, std::span(z).subspan(at(r) * size, size));
      state.z_rows.load(z, rows);
    }
    if (needs.ema) log_ema::fold_prompt(state.ema, state.ema_n, needs.ema_alpha, group, rows, prompt.last_z);
    if (needs.z_now) {
      state.z_now.resize(size);
      slot_outermost(prompt.last_z.last(size), group, n, state.z_now);
    }
  }
}

void remove_slots(SlotState& state, std::span<const int> gone) {
  if (gone.empty()) return;
  const int kept = state.size() - static_cast<int>(gone.size());
  const std::vector<SlotRun> runs = runs_without(gone, state.size());
  const int group = static_cast<int>(std::max(state.ema.size(), state.z_now.size()) / state.pos.size());
  const auto keep_entries = [&](auto& statistic, int width = 1) {
    if (!statistic.empty()) kvscope::keep_entries(statistic, runs, kept, width);
  };
  keep_entries(state.pos);
  keep_entries(state.votes);
  keep_entries(state.extra);
  keep_entries(state.united);
  keep_entries(state.times);
  for_each_statistic([&]<class S>(S) { keep_entries(column<S>(state)); });
  if (state.hits.window() > 0) state.hits.keep(runs, kept);
  keep_entries(state.ema, group);
  keep_entries(state.ema_n);
  keep_entries(state.z_now, group);
  state.rows.keep(runs, kept);
  state.z_rows.keep(runs, kept);
}

void unite(SlotState& state, int target, int from) {
  state.united.resize(state.pos.size());
  std::vector<int>& members = state.united[at(target)];
  if (members.empty()) members.push_back(state.pos[at(target)]);
  const std::span<const int> more = state.members(from);
  const auto middle = static_cast<std::ptrdiff_t>(members.size());
  members.insert(members.end(), more.begin(), more.end());
  std::inplace_merge(members.begin(), members.begin() + middle, members.end());
  state.votes[at(target)] += state.votes[at(from)];
}

void lose(SlotState& state, int slot) {
  const std::span<const int> members = state.members(slot);
  state.evicted.insert(state.evicted.end(), members.begin(), members.end());
  state.evicted_votes += state.votes[at(slot)];
}

void set_log_score(SlotState& state, const StatNeeds& needs, int slot, std::span<const double> log_score) {
  const int group = static_cast<int>(log_score.size());
  if (needs.keep_z_rows) state.z_rows.set_log_mean(slot, log_score);
  if (needs.ema) {
    const double start = EmaStart(needs.ema_alpha).at(state.ema_n[at(slot)]);
    for (int g = 0; g < group; ++g) state.ema[at(slot * group + g)] = log_score[at(g)] + start;
  }
  if (needs.z_now) std::ranges::copy(log_score, state.z_now.begin() + slot * group);
}

void take_back(SlotState& state, int pos) {
  const auto lost = std::ranges::find(state.evicted, pos);
  if (lost != state.evicted.end()) {
    state.evicted.erase(lost);
    --state.evicted_votes;
    return;
  }
  for (std::size_t i = 0; i < state.united.size(); ++i) {
    std::vector<int>& members = state.united[i];
    const auto place = std::ranges::lower_bound(members, pos);
    if (place == members.end() || *place != pos) continue;
    KVSCOPE_ASSERT(state.pos[i] != pos);
    members.erase(place);
    if (members.size() == 1) members.clear();
    --state.votes[i];
    return;
  }
  KVSCOPE_ASSERT(false);
}

int insert_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm) {
  const auto to = static_cast<int>(std::ranges::lower_bound(state.pos, pos) - state.pos.begin());
  append_slot(state, needs, group, pos, key_norm);
  if (needs.z_now) std::fill(state.z_now.end() - group, state.z_now.end(), kMinusInf);
  const auto move = [to](auto& v, int width = 1) {
    if (!v.empty()) std::rotate(v.begin() + to * width, v.end() - width, v.end());
  };
  move(state.pos);
  move(state.votes);
  move(state.extra);
  move(state.united);
  move(state.times);
  for_each_statistic([&]<class S>(S) { move(column<S>(state)); });
  move(state.ema, group);
  move(state.ema_n);
  move(state.z_now, group);
  if (state.hits.window() > 0) state.hits.move_last_slot(to);
  state.rows.move_last_slot(to);
  state.z_rows.move_last_slot(to);
  return to;
}

}  // namespace kvscope
