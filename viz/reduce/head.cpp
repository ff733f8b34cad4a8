// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/head.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viz/reduce/slot.h"

namespace kvscope::viz {

namespace {

int head_with_largest_error(const StepRecord& record) {
  int best = record.heads.empty() ? -1 : 0;
  double value = -1;
  for (int h = 0; h < static_cast<int>(record.heads.size()); ++h) {
    const double error = record.heads[static_cast<std::size_t>(h)].local_l1_wo;
    if (error > value) {
      value = error;
      best = h;
    }
  }
  return best;
}

double at(const std::vector<double>& values, std::size_t i) { return i < values.size() ? values[i] : kNotAvailable; }

bool within(int token, int n) { return token >= 0 && token < n; }

Removal removal_of(int step, const Event& event) {
  return {step, {event.kind, event.into, event.w_removed, event.score, event.cos, event.by_hand}};
}

/// The token has a slot of its own again; what had been merged into it stays with the slot it went into, or lost.
void come_back(std::vector<Removal>& removal, int token) {
  const Removal was = std::exchange(removal[static_cast<std::size_t>(token)], Removal{});
  for (Removal& r : removal) {
    if (r.step < 0 || r.event.kind != Event::Kind::merge || r.event.into != token) continue;
    r.event.into = was.event.into;
    if (was.event.kind == Event::Kind::evict) {
      r.event.kind = Event::Kind::evict;
      r.step = was.step;
    }
  }
}

}  // namespace

HeadPick pick_head(const Snapshot& snapshot, const Selection& selection) {
  HeadPick pick;
  const int n_lanes = static_cast<int>(snapshot.lanes.size());
  if (n_lanes == 0) return pick;
  pick.lane = std::clamp(selection.lane, 0, n_lanes - 1);
  pick.run = &snapshot.lanes[static_cast<std::size_t>(pick.lane)];
  const int n_steps = static_cast<int>(pick.run->steps.size());
  if (n_steps == 0) return pick;
  pick.step = std::clamp(selection.step.value_or(n_steps - 1), 0, n_steps - 1);
  pick.record = pick.run->steps[static_cast<std::size_t>(pick.step)].get();
  if (pick.record == nullptr) return pick;
  if (selection.layer && selection.kv_head) {
    const auto& heads = pick.record->heads;
    const auto found = std::find_if(heads.begin(), heads.end(), [&](const HeadRecord& head) {
      return head.layer == *selection.layer && head.kv_head == *selection.kv_head;
    });
    if (found != heads.end()) {
      pick.head = static_cast<int>(found - heads.begin());
      pick.chosen = true;
    }
  }
  if (pick.head < 0) pick.head = head_with_largest_error(*pick.record);
  if (pick.head >= 0) pick.values = &pick.record->heads[static_cast<std::size_t>(pick.head)];
  return pick;
}

std::vector<Removal> removals_until(const LaneSnapshot& lane, int head, int step, int n_tokens) {
  std::vector<Removal> out(static_cast<std::size_t>(std::max(0, n_tokens)));
  const int last = std::min(step, static_cast<int>(lane.steps.size()) - 1);
  for (int s = 0; s <= last; ++s) {
    const StepPtr& record = lane.steps[static_cast<std::size_t>(s)];
    if (record == nullptr || head < 0 || head >= static_cast<int>(record->heads.size())) continue;
    for (const Event& event : record->heads[static_cast<std::size_t>(head)].events) {
      if (!within(event.pos, n_tokens)) continue;
      if (event.kind == Event::Kind::restore)
        come_back(out, event.pos);
      else
        out[static_cast<std::size_t>(event.pos)] = removal_of(s, event);
    }
  }
  return out;
}

namespace {

/// Scores of what stands that were given in the last step which ranked anything: a policy that chose once ranks no more.
void take_earlier_scores(const HeadPick& pick, HeadColumns& out) {
  for (int s = pick.step; s >= 0; --s) {
    const StepPtr& record = pick.run->steps[static_cast<std::size_t>(s)];
    if (record == nullptr || pick.head >= static_cast<int>(record->heads.size())) continue;
    const HeadRecord& head = record->heads[static_cast<std::size_t>(pick.head)];
    if (!head.events.empty() && s == pick.step) return;  // it chose in this step, with or without scores
    if (std::ranges::none_of(head.score, [](double v) { return std::isfinite(v); })) continue;
    for (std::size_t i = 0; s < pick.step && i < std::min(head.score.size(), head.pos.size()); ++i) {
      const int pos = head.pos[i];
      if (!within(pos, out.size()) || out.votes[static_cast<std::size_t>(pos)] == 0 || collects(head, pos)) continue;
      out.score[static_cast<std::size_t>(pos)] = head.score[i];
      out.score_gone[static_cast<std::size_t>(pos)] = std::isfinite(head.score[i]) ? 1 : 0;
    }
    return;
  }
}

/// What a probe found right after the prompt, of the tokens that it could look at; those that came later have nothing.
void take_probed(const HeadPick& pick, HeadColumns& out) {
  out.probed.clear();
  const StepPtr& first = pick.run->steps.front();
  if (first == nullptr || static_cast<std::size_t>(pick.head) >= first->probed.size()) return;
  const std::vector<float>& found = first->probed[static_cast<std::size_t>(pick.head)];
  if (std::ranges::none_of(found, [](float v) { return std::isfinite(v); })) return;
  out.probed.assign(found.begin(), found.end());
  out.probed.resize(static_cast<std::size_t>(out.size()), kNotAvailable);
}

/// All but the removals, which are those of the pick already, as are `gone`.
void fill_columns(const Snapshot& snapshot, const HeadPick& pick, const Departures& gone, HeadColumns& out) {
  const HeadRecord& head = *pick.values;
  const int n = pick.record->position + 1;
  const auto count = static_cast<std::size_t>(std::max(0, n));
  out.category.clear();
  out.past.clear();
  out.pinned = head.pinned;
  out.collecting = head.residual;
  if (pick.run->fates != nullptr && pick.head < static_cast<int>(pick.run->fates->heads.size())) {
    out.category = categories(*pick.run->fates, *pick.record, pick.head, pick.run->sinks, snapshot.prefill_mode && pick.step == 0);
    for (const EarlierFate& earlier : pick.run->fates->heads[static_cast<std::size_t>(pick.head)].past)
      if (earlier.until <= pick.step) out.past.push_back(earlier);
  }
  out.category.resize(count, Category::unseen);
  out.votes.assign(count, 0);
  out.score = gone.score;
  out.score_gone.resize(count);
  std::transform(gone.step.begin(), gone.step.end(), out.score_gone.begin(),
                 [&](int step) { return step >= 0 && step < pick.step ? 1 : 0; });
  out.attention.assign(count, kNotAvailable);
  out.lost.assign(count, kNotAvailable);
  out.statistic.assign(head.statistic.empty() ? 0 : count, kNotAvailable);
  for (std::size_t i = 0; i < head.pos.size(); ++i) {
    if (!within(head.pos[i], n)) continue;
    const auto t = static_cast<std::size_t>(head.pos[i]);
    out.votes[t] = i < head.votes.size() ? head.votes[i] : 1;
    out.score[t] = collects(head, head.pos[i]) ? kNotAvailable : at(head.score, i);
    out.score_gone[t] = 0;
    if (!out.statistic.empty()) out.statistic[t] = at(head.statistic, i);
  }
  take_earlier_scores(pick, out);
  if (!head.reference_attention.empty()) {
    for (std::size_t t = 0; t < std::min(count, head.reference_attention.size()); ++t) {
      out.lost[t] = static_cast<double>(head.reference_attention[t]);
    }
  }
  take_probed(pick, out);
  out.agreement.assign(head.agreement.begin(),
                       head.agreement.begin() + static_cast<std::ptrdiff_t>(std::min(count, head.agreement.size())));
  if (!out.agreement.empty()) out.agreement.resize(count, kNotAvailable);
  for (std::size_t i = 0; i < head.attended.size(); ++i) {
    if (!within(head.attended[i], n)) continue;
    const auto t = static_cast<std::size_t>(head.attended[i]);
    if (i < head.attention.size()) out.attention[t] = static_cast<double>(head.attention[i]);
    out.lost[t] = kNotAvailable;
  }
}

}  // namespace

HeadColumns head_columns(const Snapshot& snapshot, const HeadPick& pick) {
  HeadColumns out;
  out.removal = removals_until(*pick.run, pick.head, pick.step, pick.record->position + 1);
  Departures gone;
  gone.assign(out.removal);
  fill_columns(snapshot, pick, gone, out);
  return out;
}

void Departures::assign(std::span<const Removal> removal) {
  resize(removal.size());
  for (std::size_t t = 0; t < removal.size(); ++t) set(t, removal[t]);
}

void Departures::resize(std::size_t n) {
  step.resize(n, -1);
  score.resize(n, kNotAvailable);
}

void Departures::set(std::size_t token, const Removal& removal) {
  step[token] = removal.step;
  score[token] = removal.step < 0 ? kNotAvailable : removal.event.score;
}

const HeadColumns& HeadColumnsCache::of(const Snapshot& snapshot, const HeadPick& pick) {
  const std::array<std::uint64_t, 5> key = {snapshot.generation, snapshot.sequence, static_cast<std::uint64_t>(pick.lane),
                                            static_cast<std::uint64_t>(pick.step), static_cast<std::uint64_t>(pick.head)};
  if (version_ > 0 && key == key_ && record_.lock().get() == pick.record) return columns_;
  if (!follow(pick)) {
    columns_.removal = removals_until(*pick.run, pick.head, pick.step, pick.record->position + 1);
    gone_.assign(columns_.removal);
  }
  fill_columns(snapshot, pick, gone_, columns_);
  key_ = key;
  step_ = pick.step;
  head_ = pick.head;
  record_ = pick.run->steps[static_cast<std::size_t>(pick.step)];
  ++version_;
  return columns_;
}

/// Takes the removals from the step that they are of to the pick's; false: they are not of the same run and head, or tokens came back.
bool HeadColumnsCache::follow(const HeadPick& pick) {
  const auto& steps = pick.run->steps;
  const StepPtr before = record_.lock();
  if (before == nullptr || head_ != pick.head || step_ >= static_cast<int>(steps.size()) ||
      steps[static_cast<std::size_t>(step_)] != before)
    return false;
  std::vector<Removal>& removal = columns_.removal;
  const bool back = pick.step < step_;
  const auto n_tokens = static_cast<std::size_t>(std::max(0, pick.record->position + 1));
  if (!back) {
    removal.resize(n_tokens);
    gone_.resize(n_tokens);
  }
  for (int s = std::min(step_, pick.step) + 1; s <= std::max(step_, pick.step); ++s) {
    const StepPtr& record = steps[static_cast<std::size_t>(s)];
    if (record == nullptr || pick.head >= static_cast<int>(record->heads.size())) continue;
    for (const Event& event : record->heads[static_cast<std::size_t>(pick.head)].events) {
      if (event.kind == Event::Kind::restore) return false;
      if (!within(event.pos, static_cast<int>(removal.size()))) continue;
      const auto token = static_cast<std::size_t>(event.pos);
      removal[token] = back ? Removal{} : removal_of(s, event);
      gone_.set(token, removal[token]);
    }
  }
  if (back) {
    removal.resize(n_tokens);
    gone_.resize(n_tokens);
  }
  return true;
}

double effective_tokens(const HeadRecord& head) {
  double total = 0;
  for (const float a : head.attention) total += std::isfinite(a) && a > 0 ? static_cast<double>(a) : 0.0;
  if (!(total > 0)) return kNotAvailable;
  double entropy = 0;
  for (const float a : head.attention) {
    if (!(std::isfinite(a) && a > 0)) continue;
    const double p = static_cast<double>(a) / total;
    entropy -= p * std::log(p);
  }
  return std::exp(entropy);
}

int slot_seen(const LaneSnapshot& lane, int step, int head, int token) {
  const auto at = static_cast<std::size_t>(step);
  const bool earlier = step > 0 && token <= lane.steps[at - 1]->position;
  return slot_of(*lane.fates, *lane.steps[earlier ? at - 1 : at], head, token);
}

double stood_in_by_merges(const HeadPick& pick) {
  if (pick.values == nullptr || pick.values->reference_attention.empty() || pick.run->fates == nullptr ||
      pick.head >= static_cast<int>(pick.run->fates->heads.size()))
    return kNotAvailable;
  if (pick.step < 1) return 0;
  const int before = pick.run->steps[static_cast<std::size_t>(pick.step - 1)]->position;
  const auto& reference = pick.values->reference_attention;
  double sum = 0;
  for (int t = 0; t < std::min(static_cast<int>(reference.size()), before + 1); ++t)
    if (const int slot = slot_seen(*pick.run, pick.step, pick.head, t); slot >= 0 && slot != t)
      sum += static_cast<double>(reference[static_cast<std::size_t>(t)]);
  return sum;
}

int largest(std::span<const double> values) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const double v = values[static_cast<std::size_t>(i)];
    if (std::isfinite(v) && (best < 0 || v > values[static_cast<std::size_t>(best)])) best = i;
  }
  return best;
}

int birth_step(const LaneSnapshot& lane, int token) {
  const auto found = std::partition_point(lane.steps.begin(), lane.steps.end(),
                                          [&](const StepPtr& step) { return step != nullptr && step->position < token; });
  return found == lane.steps.end() ? -1 : static_cast<int>(found - lane.steps.begin());
}

int Cutoff::slots_at(double score) const {
  const auto kept = std::count_if(ranked.begin(), ranked.end(), [&](double s) { return s >= score; });
  return std::max(1, unranked + static_cast<int>(kept));
}

Cutoff cutoff_of(const HeadRecord& head) {
  Cutoff out;
  for_ranked(head, [&](int, double score) { out.ranked.push_back(score); });
  for (std::size_t i = 0; i < head.pos.size(); ++i)
    if (!std::isfinite(at(head.score, i)) || collects(head, head.pos[i])) ++out.unranked;
  std::sort(out.ranked.begin(), out.ranked.end(), std::greater<>());
  if (std::isfinite(head.cutoff)) out.value = head.cutoff;
  return out;
}

double ValueScale::unit(double value) const {
  const double share = (value - low) / (high - low);
  if (!root) return share;
  return share < 0 ? 0 : std::sqrt(share);
}

double ValueScale::value(double unit) const { return low + (high - low) * (root ? unit * std::abs(unit) : unit); }

ValueScale scale_for(std::span<const double> values) {
  double low = 0, high = 0;
  bool any = false;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = any ? std::min(low, v) : v;
    high = any ? std::max(high, v) : v;
    any = true;
  }
  if (!any) return {};
  if (low >= 0) return high > 0 ? ValueScale{0, high, true} : ValueScale{};
  if (high <= low) return {low - 1, high + 1, false};
  // The least value keeps a visible bar: the axis starts a little below it.
  return {low - 0.05 * (high - low), high, false};
}

std::vector<double> ticks_of(const ValueScale& scale, double min_gap) {
  std::vector<double> out;
  if (scale.root) {
    // From the top down: 1, 5 (else 2) and again, as far apart as asked; then the zero.
    static constexpr double kSteps[] = {5, 1};
    double last = 2;
    const int top = static_cast<int>(std::floor(std::log10(scale.high)));
    for (int power = top; power >= top - 4; --power) {
      for (const double step : kSteps) {
        const double v = step * std::pow(10.0, power);
        const double u = scale.unit(v);
        if (v > scale.high * (1 + 1e-9) || last - u < min_gap || u < min_gap) continue;
        out.push_back(v);
        last = u;
      }
    }
    if (out.empty()) {
      const double v = 2 * std::pow(10.0, top);
      out.push_back(v <= scale.high ? v : scale.high);
    }
    out.push_back(0);
    std::reverse(out.begin(), out.end());
    return out;
  }
  const double span = scale.high - scale.low;
  const double rough = std::max(min_gap, 1e-3) * span;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= rough * (1 - 1e-9)) break;
  }
  if (scale.whole) step = std::max(1.0, std::ceil(step));
  for (double v = std::ceil(scale.low / step) * step; v <= scale.high * (1 + 1e-12) + 1e-12 * span; v += step) {
    out.push_back(std::abs(v) < 1e-9 * step ? 0 : v);
  }
  return out;
}

}  // namespace kvscope::viz
