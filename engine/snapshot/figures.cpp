// SPDX-License-Identifier: Apache-2.0
#include "snapshot/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {

namespace {

/// Of at least one value.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 != 0 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Of the slots of a head of which pages are left unread, without the bounds of the pages: a row of each kind for every page.
double bytes_of_slot(const HeadRecord& head) { return head.kv_bytes / (head.n_slots + head.n_slots / head.page); }

/// A head that reads all has its slots and no bounds.
void add_read(const StepRecord& step, RunFigures& out) {
  const auto paged =
      std::ranges::find_if(step.heads, [](const HeadRecord& head) { return std::isfinite(head.read_bytes) && head.page > 0; });
  if (paged == step.heads.end()) return;
  const double of_slot = bytes_of_slot(*paged);
  double sum = 0;
  for (const HeadRecord& head : step.heads) sum += std::isfinite(head.read_bytes) ? head.read_bytes : of_slot * head.n_slots;
  out.read.add(sum);
}

void add_heads(const StepRecord& step, RunFigures& out) {
  Statistics loss, rel_l2, l1_wo, theta, predictor;
  for (const HeadRecord& head : step.heads) {
    loss.add(head.attention_loss);
    rel_l2.add(head.local_rel_l2);
    l1_wo.add(head.local_l1_wo);
    theta.add(head.theta);
    predictor.add(head.predictor_error);
    for (const Event& event : head.events) {
      out.evicted += event.kind == Event::Kind::evict;
      out.merged += event.kind == Event::Kind::merge;
      out.restored += event.kind == Event::Kind::restore;
    }
  }
  out.attention_loss.add(loss.mean());
  out.local_rel_l2.add(rel_l2.mean());
  out.local_l1_wo.add(l1_wo.mean());
  out.theta.add(theta.mean());
  out.predictor_error.add(predictor.mean());
}

/// Bytes of a slot in full precision, as every slot of the full cache stands; not available: it holds none yet.
double row_in_full(const Snapshot& snapshot, int n_heads) {
  const bool known = !snapshot.lanes.empty() && snapshot.lanes.front().kv_bytes > 0 && snapshot.lanes.front().slots > 0;
  return known ? snapshot.lanes.front().kv_bytes / snapshot.lanes.front().slots / n_heads : kNotAvailable;
}

void add_cache(const Snapshot& snapshot, const LaneSnapshot& lane, int step, RunFigures& out) {
  Statistics slots, stored, others;
  if (const StepPtr& record = lane.steps[static_cast<std::size_t>(step)])
    for (const HeadRecord& head : record->heads) {
      slots.add(head.n_slots);
      stored.add(head.kv_bytes);
      if (std::isnan(head.kv_bytes)) others.add(head.n_slots);
    }
  const bool last = step + 1 == static_cast<int>(lane.steps.size());
  if (lane.bytes > 0) out.allocated = lane.bytes;
  out.slots = slots.n > 0 ? slots.mean() : last ? lane.slots : kNotAvailable;
  // A slot has as many bytes in every head and step, where it is not stored otherwise.
  if (lane.kv_bytes > 0 && lane.slots > 0) out.bytes = out.slots == lane.slots ? lane.kv_bytes : lane.kv_bytes / lane.slots * out.slots;
  if (stored.n == 0) return;
  const double in_full = others.n > 0 ? others.sum * row_in_full(snapshot, stored.n + others.n) : 0;
  out.bytes = last && lane.kv_bytes > 0 ? lane.kv_bytes : stored.sum + in_full;
}

/// Ids of the prompt, and from each step that predicts a token after it one of its ids.
std::vector<int> text_with(const Snapshot& snapshot, const LaneSnapshot& lane, int StepRecord::*id) {
  std::vector<int> ids;
  const std::size_t n_prompt = static_cast<std::size_t>(snapshot.n_prompt);
  for (std::size_t i = 0; i < snapshot.tokens.size() && i < n_prompt; ++i) ids.push_back(snapshot.tokens[i].id);
  for (const StepPtr& step : lane.steps)
    if (step != nullptr && step->position + 1 >= snapshot.n_prompt && step->next_token >= 0) ids.push_back((*step).*id);
  return ids;
}

}  // namespace

int steps_of_one_text(const Snapshot& snapshot, const LaneSnapshot& lane) {
  const int n = static_cast<int>(lane.steps.size());
  if (snapshot.follow != "self" || snapshot.lanes.empty()) return n;
  const std::vector<StepPtr>& reference = snapshot.lanes.front().steps;
  for (int s = 0; s < n; ++s) {
    const auto i = static_cast<std::size_t>(s);
    if (i >= reference.size() || reference[i] == nullptr || lane.steps[i] == nullptr) return s + 1;
    if (reference[i]->next_token != lane.steps[i]->next_token) return s + 1;
  }
  return n;
}

bool compares(const Snapshot& snapshot, const LaneSnapshot& lane, int step) { return step < steps_of_one_text(snapshot, lane); }

double compared_kl(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  const bool there = step >= 0 && step < static_cast<int>(lane.steps.size()) && compares(snapshot, lane, step);
  return there ? lane.steps[static_cast<std::size_t>(step)]->kl : kNotAvailable;
}

void Statistics::add(double value) {
  if (std::isnan(value)) return;
  min = n == 0 ? value : std::min(min, value);
  max = n == 0 ? value : std::max(max, value);
  sum += value;
  ++n;
}

int first_counted_step(const Snapshot& snapshot, const LaneSnapshot& lane) {
  if (!snapshot.prefill_mode) return 0;
  const auto counts = [&](const StepPtr& step) { return step != nullptr && step->position >= snapshot.n_prompt; };
  return static_cast<int>(std::ranges::find_if(lane.steps, counts) - lane.steps.begin());
}

RunFigures run_figures(const Snapshot& snapshot, const LaneSnapshot& lane, bool heads) {
  const int n = static_cast<int>(lane.steps.size());
  RunFigures out = run_figures(snapshot, lane, first_counted_step(snapshot, lane), n - 1, heads);
  if (n > 0) add_cache(snapshot, lane, n - 1, out);  // after the prompt there is a cache, if no step that counts
  return out;
}

RunFigures run_figures(const Snapshot& snapshot, const LaneSnapshot& lane, int first, int last, bool heads) {
  RunFigures out;
  first = std::max(first, 0);
  last = std::min(last, static_cast<int>(lane.steps.size()) - 1);
  if (first > last) return out;
  out.first = first;
  const int same_text = steps_of_one_text(snapshot, lane);
  for (int s = first; s <= last; ++s) {
    const StepRecord* step = lane.steps[static_cast<std::size_t>(s)].get();
    if (step == nullptr) continue;
    ++out.n_steps;
    if (s < same_text) {
      ++out.compared;
      out.kl.add(step->kl);
      out.top1_same += step->top1_same ? 1 : 0;
    }
    out.nll.add(step->nll);
    if (step->ms > 0) out.ms.add(step->ms);
    add_read(*step, out);
    if (!step->hidden_rel_l2.empty()) out.hidden_rel_l2.add(step->hidden_rel_l2.back());
    if (heads) add_heads(*step, out);
  }
  add_cache(snapshot, lane, last, out);
  return out;
}

PolicyWork policy_work(const Snapshot& snapshot, const LaneSnapshot& lane) {
  PolicyWork out;
  if (lane.slots_asked < 0) return out;
  out.prompt_ms = lane.prompt_compress_ms;
  if (!lane.steps.empty() && lane.steps.front() != nullptr) {
    out.probe_tokens = lane.steps.front()->probe_tokens;
    if (lane.steps.front()->probe_ms > 0) out.probe_ms = lane.steps.front()->probe_ms;
  }
  const bool parted = std::isfinite(lane.prompt_compress_ms);  // else the prompt's work is in the sum, so its step is too
  const int first = parted ? first_counted_step(snapshot, lane) : 0, n = static_cast<int>(lane.steps.size());
  std::vector<double> own;
  for (int s = first; s < n; ++s) {
    const StepRecord* step = lane.steps[static_cast<std::size_t>(s)].get();
    if (step == nullptr) continue;
    if (std::isnan(step->policy_ms)) continue;
    own.push_back(step->policy_ms);
  }
  // One step that other work on the machine disturbed must not stand for all: the median, where steps have a time of their own.
  const double work = lane.compress_ms - (parted ? lane.prompt_compress_ms : 0);
  if (n > first) out.ms = own.empty() ? work / (n - first) : median(own);
  out.n_steps = static_cast<int>(own.size());
  return out;
}

std::vector<int> lane_tokens(const Snapshot& snapshot, const LaneSnapshot& lane) {
  return text_with(snapshot, lane, &StepRecord::next_token);
}

const TokenInfo* token_known(const Snapshot& s, int id) {
  // The vocabulary first: the text may be long, and it is searched only where there is no vocabulary.
  if (s.vocabulary != nullptr && id >= 0 && id < static_cast<int>(s.vocabulary->size())) {
    const TokenInfo& token = (*s.vocabulary)[static_cast<std::size_t>(id)];
    if (token.id == id) return &token;
  }
  const auto found = std::ranges::find(s.tokens, id, &TokenInfo::id);
  return found != s.tokens.end() ? &*found : nullptr;
}

void tell_own_texts(Snapshot& s) {
  if (s.follow != "self") return;  // all read one text
  const auto named = [&s](int id) {
    const TokenInfo* const known = token_known(s, id);
    TokenInfo token = known ? *known : TokenInfo{.id = id};
    token.text_begin = token.text_end = -1;
    return token;
  };
  for (LaneSnapshot& lane : s.lanes) {
    lane.tokens.clear();
    const std::vector<int> ids = lane_tokens(s, lane);
    const std::size_t n_read = lane.steps.empty() || !lane.steps.back() ? 0 : static_cast<std::size_t>(lane.steps.back()->position) + 1;
    const std::size_t n = std::min(ids.size(), n_read);
    const auto same = [&](std::size_t i) { return i < s.tokens.size() && s.tokens[i].id == ids[i]; };
    std::size_t first = 0;
    while (first < n && same(first)) ++first;
    if (first == n) continue;
    lane.tokens.assign(s.tokens.begin(), s.tokens.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t i = first; i < n; ++i) lane.tokens.push_back(named(ids[i]));
  }
}

int n_alike_tokens(const Snapshot& s, const LaneSnapshot& a, const LaneSnapshot& b) {
  const std::vector<TokenInfo>&x = tokens_of(s, a), &y = tokens_of(s, b);
  const auto parted =
      &x == &y ? std::pair(x.end(), y.end())
               : std::mismatch(x.begin(), x.end(), y.begin(), y.end(), [](const TokenInfo& t, const TokenInfo& u) { return t.id == u.id; });
  const bool parts = parted.first != x.end() && parted.second != y.end();
  return parts ? static_cast<int>(parted.first - x.begin()) : std::numeric_limits<int>::max();
}

std::vector<int> said_tokens(const Snapshot& snapshot, const LaneSnapshot& lane) {
  const bool reference = !snapshot.lanes.empty() && lane.spec == snapshot.lanes.front().spec;
  const bool own = snapshot.follow == "self" || (reference && snapshot.follow == "reference" && !(snapshot.temperature > 0));  // else drawn
  return text_with(snapshot, lane, own ? &StepRecord::next_token : &StepRecord::top1);
}

}  // namespace kvscope
