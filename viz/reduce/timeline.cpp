// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/timeline.h"

#include <algorithm>
#include <cmath>

#include "snapshot/figures.h"
#include "snapshot/held_bytes.h"

namespace kvscope::viz {
namespace {

double& at(std::array<double, kCategories>& counts, Category c) { return counts[static_cast<std::size_t>(c)]; }

// Sinks, recent and new slots of one head by the precedence of categories: fresh > sink > recent > kept.
void count_slots(const HeadRecord& h, const LaneSnapshot& lane, int position, bool prefill_step, std::array<double, kCategories>& counts) {
  const bool listed = !only_figures(h);  // else: what is protected stays, and the newest is part of it
  const int n = listed ? static_cast<int>(h.pos.size()) : h.n_slots;
  if (n == 0 && h.budget < 0) at(counts, Category::kept) += position + 1;  // everything, without a list of it
  if (n == 0) return;
  const bool fresh = !prefill_step && (listed ? h.pos.back() == position : h.budget < 0 || h.recent > 0);
  const int others = fresh ? n - 1 : n;
  const int sinks = listed ? static_cast<int>(std::lower_bound(h.pos.begin(), h.pos.begin() + others, lane.sinks) - h.pos.begin())
                           : std::min(lane.sinks, others);
  const int recent = std::clamp(h.recent - (fresh ? 1 : 0), 0, others - sinks);
  if (!h.unread.empty() && !listed) {
    at(counts, Category::unread) += static_cast<double>(h.unread.size());
    at(counts, Category::kept) -= static_cast<double>(h.unread.size());
  } else if (!h.unread.empty()) {  // whatever else they are
    const auto of = [&](int from, int until) {
      const auto at = [&](int i) { return i < n ? h.pos[static_cast<std::size_t>(i)] : kNever; };
      return static_cast<double>(std::ranges::lower_bound(h.unread, at(until)) - std::ranges::lower_bound(h.unread, at(from)));
    };
    at(counts, Category::unread) += of(0, n);
    at(counts, Category::fresh) -= of(others, n);
    at(counts, Category::sink) -= of(0, sinks);
    at(counts, Category::recent) -= of(others - recent, others);
    at(counts, Category::kept) -= of(sinks, others - recent);
  }
  at(counts, Category::fresh) += fresh ? 1 : 0;
  at(counts, Category::sink) += sinks;
  at(counts, Category::recent) += recent;
  at(counts, Category::kept) += others - sinks - recent;
}

// Token-heads that left, or lost their last slot, in each step, from the fates: events alone would mislead where tokens came back by hand.
void count_from_fates(const LaneFates& fates, std::vector<double>& left, std::vector<double>& lost) {
  const std::size_t n_steps = left.size();
  for (const HeadFates& f : fates.heads) {
    for (int c = 0; c < f.n_chunks(); ++c) {
      if (f.untouched(c)) continue;
      for (int s : f.chunk(c).left) {
        if (s >= 0 && static_cast<std::size_t>(s) < n_steps) ++left[static_cast<std::size_t>(s)];
      }
      for (int s : f.chunk(c).lost) {
        if (s >= 0 && static_cast<std::size_t>(s) < n_steps) ++lost[static_cast<std::size_t>(s)];
      }
    }
    // Until a token came back by hand, its earlier fate counted; what follows it begins then.
    for (std::size_t i = 0; i < f.past.size(); ++i) {
      const EarlierFate& earlier = f.past[i];
      const bool again = i + 1 < f.past.size() && f.past[i + 1].token == earlier.token;
      const Fate next = again ? f.past[i + 1].fate : Fate{f.left(earlier.token), -1, f.lost(earlier.token)};
      const auto count = [&](std::vector<double>& of, int before, int after) {
        if (before <= earlier.until && before != after && static_cast<std::size_t>(before) < n_steps)
          ++of[static_cast<std::size_t>(before)];
        if (before <= earlier.until && before != after && static_cast<std::size_t>(earlier.until) < n_steps)
          --of[static_cast<std::size_t>(earlier.until)];
      };
      count(left, earlier.fate.left, next.left);
      count(lost, earlier.fate.lost, next.lost);
    }
  }
}

// Tokens without a slot of a first step that does not list what it removed: made-up caches are too large for that.
int removed_silently(const HeadRecord& h, const StepRecord& record) {
  if (record.step > 0 || h.pos.empty() || !h.events.empty()) return 0;
  return std::max(0, record.position + 1 - static_cast<int>(h.pos.size()));
}

// The same from what the steps say of themselves: costs what happened, however long the text is.
void count_from_steps(const LaneSnapshot& lane, std::vector<double>& left, std::vector<double>& lost) {
  double before = 0;
  for (std::size_t s = 0; s < lane.steps.size(); ++s) {
    double votes = 0;
    for (const HeadRecord& h : lane.steps[s]->heads) {
      left[s] += static_cast<double>(removed_silently(h, *lane.steps[s])) + static_cast<double>(h.events.size());
      votes += h.evicted_votes;
    }
    lost[s] = votes - before;
    before = votes;
  }
}

}  // namespace

double StepSummary::tokens() const {
  double sum = 0;
  for (double n : counts) sum += n;
  return sum;
}

double StepSummary::slots() const {
  return tokens() - counts[static_cast<std::size_t>(Category::merged)] - counts[static_cast<std::size_t>(Category::evicted)];
}

std::vector<StepSummary> summarise_steps(const Snapshot& snapshot, const LaneSnapshot& lane) {
  const bool prefill_mode = snapshot.prefill_mode;
  const auto n_compared = static_cast<std::size_t>(steps_of_one_text(snapshot, lane));
  const std::size_t n_steps = lane.steps.size();
  std::vector<double> left(n_steps, 0), lost(n_steps, 0);  // token-heads that left, or lost their last slot, in a step
  if (lane.fates) {
    const bool came_back = std::ranges::any_of(lane.fates->heads, [](const HeadFates& f) { return !f.past.empty(); });
    came_back ? count_from_fates(*lane.fates, left, lost) : count_from_steps(lane, left, lost);
  }
  std::vector<StepSummary> result(n_steps);
  double left_so_far = 0, lost_so_far = 0;
  for (std::size_t i = 0; i < n_steps; ++i) {
    const StepRecord& record = *lane.steps[i];
    StepSummary& s = result[i];
    s.step = static_cast<int>(i);
    s.position = record.position;
    s.kl = i < n_compared ? record.kl : kNotAvailable;
    s.changed = i < n_compared && !record.top1_same;
    s.ms = record.ms;
    left_so_far += left[i];
    lost_so_far += lost[i];
    for (const HeadRecord& h : record.heads) {
      if (const int silently = removed_silently(h, record); silently > 0) {
        s.evicted += h.evicted_votes;
        s.merged += silently - h.evicted_votes;
      }
      for (const Event& e : h.events) {
        if (e.kind == Event::Kind::restore) continue;
        ++(e.kind == Event::Kind::evict ? s.evicted : s.merged);
      }
      count_slots(h, lane, record.position, prefill_mode && i == 0, s.counts);
    }
    at(s.counts, Category::merged) = left_so_far - lost_so_far;
    at(s.counts, Category::evicted) = lost_so_far;
  }
  return result;
}

std::vector<int> stack_pixels(std::span<const double> parts, double whole, int height, int least) {
  std::vector<int> pixels(parts.size(), 0);
  auto left = static_cast<int>(std::ranges::count_if(parts, [](double n) { return n > 0; }));
  if (!(whole > 0) || height < left) return pixels;
  least = std::clamp(left > 0 ? height / left : 0, 1, std::max(1, least));
  double sum = 0;
  int top = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += parts[i];
    if (!(parts[i] > 0)) continue;
    --left;
    const int edge = static_cast<int>(std::lround(std::clamp(sum / whole, 0.0, 1.0) * height));
    const int next = std::clamp(edge, top + least, height - left * least);  // the parts above need their room too
    pixels[i] = next - top;
    top = next;
  }
  return pixels;
}

std::vector<StepBin> bin_steps(const std::vector<StepSummary>& steps, int max_bins) {
  std::vector<StepBin> bins;
  if (steps.empty() || max_bins < 1) return bins;
  const std::size_t size = (steps.size() + static_cast<std::size_t>(max_bins) - 1) / static_cast<std::size_t>(max_bins);
  for (std::size_t from = 0; from < steps.size(); from += size) {
    const std::size_t to = std::min(from + size, steps.size());
    StepBin bin;
    bin.first = static_cast<int>(from);
    bin.last = static_cast<int>(to) - 1;
    for (std::size_t i = from; i < to; ++i) {
      const StepSummary& s = steps[i];
      for (std::size_t c = 0; c < bin.mean_counts.size(); ++c) bin.mean_counts[c] += s.counts[c] / static_cast<double>(to - from);
      bin.kl_min = std::isnan(bin.kl_min) ? s.kl : std::fmin(bin.kl_min, s.kl);
      bin.kl_max = std::isnan(bin.kl_max) ? s.kl : std::fmax(bin.kl_max, s.kl);
      bin.changed |= s.changed;
      if (s.evicted + s.merged > bin.evicted_max + bin.merged_max) {
        bin.evicted_max = s.evicted;
        bin.merged_max = s.merged;
      }
    }
    bins.push_back(bin);
  }
  return bins;
}

}  // namespace kvscope::viz
