// SPDX-License-Identifier: Apache-2.0
#include "policy/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/vector_math.h"

namespace kvscope {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Memory for a moment, kept by its thread: in a step an allocation would cost as much as the work.
template <int which>
std::span<double> scratch(std::size_t n) {
  thread_local std::vector<double> memory;
  if (memory.size() < n) memory.resize(n);
  return std::span(memory).first(n);
}

/// lS <- logaddexp(ln alpha + lS, ln(1 - alpha) + z) for every finite z.
void update_ema(SlotState& state, double alpha, int group, std::span<const double> z) {
  const double ln_keep = std::log(alpha), ln_new = std::log1p(-alpha);
  const std::span<double> updated = scratch<1>(z.size()), news = scratch<2>(z.size());
  bool all_scored = true;
  for (std::size_t x = 0; x < z.size(); ++x) {
    updated[x] = state.ema[x] + ln_keep;
    news[x] = z[x] + ln_new;
    all_scored &= z[x] != kMinusInf;
  }
  log_add_exp_all(updated, news);
  if (all_scored) {  // the usual step
    std::ranges::copy(updated, state.ema.begin());
    for (int& n : state.ema_n) ++n;
    return;
  }
  for (std::size_t x = 0; x < z.size(); ++x)
    if (z[x] != kMinusInf) state.ema[x] = updated[x];
  for (int i = 0; i < state.size(); ++i)
    if (z[at(i * group)] != kMinusInf) ++state.ema_n[at(i)];
}

/// The EMA after all rows of the prompt at once: lS = ln sum_r alpha^(rows-1-r) (1 - alpha) exp(z_r), the same sum that update_ema builds
/// row by row. z [rows, group, n]. Some columns at a time, which stay in the cache from the search for the largest term to the sum.
void start_ema(SlotState& state, double alpha, int group, int rows, std::span<const double> z) {
  constexpr std::size_t kColumns = 128;
  const double ln_keep = std::log(alpha), ln_first = std::log1p(-alpha);
  const std::size_t n = at(state.size()), size = at(group) * n;
  double top[kColumns], total[kColumns], share[kColumns];
  for (std::size_t first = 0; first < size; first += kColumns) {
    const std::size_t width = std::min(kColumns, size - first);
    const auto newest_first = [&](const auto& body) {
      double ln_weight = ln_first;
      for (int r = rows - 1; r >= 0; --r, ln_weight += ln_keep) body(z.data() + at(r) * size + first, ln_weight);
    };
    std::fill_n(top, width, kMinusInf);
    newest_first([&](const double* row, double ln_weight) {
      for (std::size_t x = 0; x < width; ++x) top[x] = std::max(top[x], ln_weight + row[x]);
    });
    std::fill_n(total, width, 0.0);
    newest_first([&](const double* row, double ln_weight) {
      for (std::size_t x = 0; x < width; ++x) share[x] = ln_weight + row[x] - top[x];  // every slot is seen by the newest row: no top is -inf
      exp_all(std::span(share, width));
      for (std::size_t x = 0; x < width; ++x) total[x] += share[x];
    });
    log_all(std::span(total, width));
    for (std::size_t x = 0; x < width; ++x) state.ema[(first + x) % n * at(group) + (first + x) / n] = top[x] + total[x];
  }
  for (int r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < n; ++i) state.ema_n[i] += z[at(r) * size + i] != kMinusInf;
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

}  // namespace

void append_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm) {
  prepare(state, needs, group);
  state.pos.push_back(pos);
  state.votes.push_back(1);
  state.extra.push_back(0.0);
  if (!state.united.empty()) state.united.emplace_back();
  if (needs.reads_a()) state.times.push_back(0);
  if (needs.sum) state.sum.push_back(0.0);
  if (needs.sum_sq) state.sum_sq.push_back(0.0);
  if (needs.decayed) state.decayed.push_back(0.0);
  if (needs.residual) state.residual.push_back(0);
  if (needs.hits > 0) state.hits.append_slot();
  if (needs.key_norm) state.key_norm.push_back(key_norm);
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
    const std::span<double> abar = scratch<0>(at(n));
    reduce_group(a.data(), at(n), group, needs.group, abar);
    if (needs.rows > 0) state.rows.push(abar);
    for (int& t : state.times) ++t;
    if (needs.sum)
      for (int i = 0; i < n; ++i) state.sum[at(i)] += abar[at(i)];
    if (needs.sum_sq)
      for (int i = 0; i < n; ++i) state.sum_sq[at(i)] += abar[at(i)] * abar[at(i)];
    if (needs.hits > 0) state.hits.push(abar, 1.0 / n);
    if (needs.decayed)
      for (int i = 0; i < n; ++i) state.decayed[at(i)] = needs.lambda * state.decayed[at(i)] + abar[at(i)];
  }
  if (needs.reads_z()) {
    KVSCOPE_ASSERT(z.size() == at(group) * at(n));
    const std::span<double> now = scratch<0>(z.size());
    for (int g = 0; g < group; ++g)
      for (int i = 0; i < n; ++i) now[at(i * group + g)] = z[at(g) * at(n) + at(i)] + state.extra[at(i)];
    if (needs.keep_z_rows) state.z_rows.push(now);
    if (needs.ema) update_ema(state, needs.ema_alpha, group, now);
    if (needs.z_now) std::ranges::copy(now, state.z_now.begin());
  }
}

void load_prompt(SlotState& state, const StatNeeds& needs, int group, const PromptStats& prompt) {
  const int n = prompt.n;
  KVSCOPE_ASSERT(state.size() == 0);
  prepare(state, needs, group);
  state.pos.resize(at(n));
  std::iota(state.pos.begin(), state.pos.end(), 0);
  state.votes.assign(at(n), 1);
  state.extra.assign(at(n), 0.0);
  if (needs.reads_a())
    for (int i = 0; i < n; ++i) state.times.push_back(n - i);
  if (needs.residual) state.residual.assign(at(n), 0);
  if (needs.ema) {
    state.ema.assign(at(n) * at(group), kMinusInf);
    state.ema_n.assign(at(n), 0);
  }
  if (needs.sum) state.sum.assign(prompt.sum.begin(), prompt.sum.end());
  if (needs.sum_sq) state.sum_sq.assign(prompt.sum_sq.begin(), prompt.sum_sq.end());
  if (needs.hits > 0) {
    KVSCOPE_ASSERT(prompt.hits && prompt.hits->slots() == n);
    state.hits = prompt.hits->narrowed(needs.hits);
  }
  if (needs.key_norm) state.key_norm.assign(prompt.key_norm.begin(), prompt.key_norm.end());
  state.outside = prompt.outside;
  if (needs.decayed) state.decayed.assign(prompt.decayed.begin(), prompt.decayed.end());
  if (needs.rows > 0) {
    const int rows = std::min(needs.rows, n);
    KVSCOPE_ASSERT(prompt.last_rows.size() == at(rows) * at(n));
    state.rows.load(prompt.last_rows, rows);
  }
  if (needs.reads_z()) {
    const int rows = std::min(needs.z_rows, n);
    const std::size_t size = at(group) * at(n);
    KVSCOPE_ASSERT(prompt.last_z.size() == at(rows) * size);
    if (needs.keep_z_rows) {
      std::vector<double> z(prompt.last_z.size());
      for (int r = 0; r < rows; ++r) slot_outermost(prompt.last_z.subspan(at(r) * size, size), group, n, std::span(z).subspan(at(r) * size, size));
      state.z_rows.load(z, rows);
    }
    if (needs.ema) start_ema(state, needs.ema_alpha, group, rows, prompt.last_z);
    if (needs.z_now) {
      state.z_now.resize(size);
      slot_outermost(prompt.last_z.last(size), group, n, state.z_now);
    }
  }
  KVSCOPE_ASSERT(state.sum.size() == (needs.sum ? at(n) : 0) && state.sum_sq.size() == (needs.sum_sq ? at(n) : 0));
  KVSCOPE_ASSERT(state.key_norm.size() == (needs.key_norm ? at(n) : 0));
  KVSCOPE_ASSERT(state.decayed.size() == (needs.decayed ? at(n) : 0));
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
  keep_entries(state.sum);
  keep_entries(state.sum_sq);
  keep_entries(state.decayed);
  keep_entries(state.key_norm);
  if (state.hits.window() > 0) state.hits.keep(runs, kept);
  keep_entries(state.residual);
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
  move(state.sum);
  move(state.sum_sq);
  move(state.decayed);
  move(state.key_norm);
  move(state.residual);
  move(state.ema, group);
  move(state.ema_n);
  move(state.z_now, group);
  if (state.hits.window() > 0) state.hits.move_last_slot(to);
  state.rows.move_last_slot(to);
  state.z_rows.move_last_slot(to);
  return to;
}

std::vector<int> apply_plan(SlotState& state, const StatNeeds& needs, const Plan& plan) {
  std::vector<int> gone;
  gone.reserve(plan.removals.size());
  for (const Removal& r : plan.removals) {
    if (r.target >= 0)
      unite(state, r.target, r.slot);
    else
      lose(state, r.slot);
    gone.push_back(r.slot);
  }
  for (const Merge& m : plan.merges) {
    if (m.extra) state.extra[at(m.target)] = *m.extra;
    if (!m.log_score.empty()) set_log_score(state, needs, m.target, m.log_score);
    if (m.decayed && needs.decayed) state.decayed[at(m.target)] = *m.decayed;
  }
  for (const int i : plan.to_residual) state.residual[at(i)] = 1;
  std::ranges::sort(gone);
  remove_slots(state, gone);
  return gone;
}

std::vector<double> bias_of(const SlotState& state, Bias bias) {
  if (bias.vote_factor == 0) return {};
  const auto is = [](auto value) { return [value](auto x) { return x == value; }; };
  if (std::ranges::all_of(state.votes, is(1)) && std::ranges::all_of(state.extra, is(0.0))) return {};
  bool zero = true;
  std::vector<double> b(at(state.size()));
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = bias_of_slot(state.votes[i], state.extra[i], bias);
    zero = zero && b[i] == 0.0;
  }
  if (zero) b.clear();
  return b;
}

}  // namespace kvscope
