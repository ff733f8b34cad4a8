// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/slot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/from_chars.h"
#include "snapshot/held_bytes.h"

namespace kvscope::viz {

namespace {

/// Slot that stands for the token, or the last one that did: the end of the chain of merges, whether evicted or not.
int root_of(std::span<const Removal> removal, int token) {
  int pos = token;
  for (std::size_t guard = 0; guard < removal.size(); ++guard) {
    const Removal& r = removal[static_cast<std::size_t>(pos)];
    const int into = r.event.into;
    if (r.step < 0 || r.event.kind != Event::Kind::merge || into < 0 || into >= static_cast<int>(removal.size())) break;
    pos = into;
  }
  return pos;
}

bool is_evicted(const Removal& removal) { return removal.step >= 0 && removal.event.kind == Event::Kind::evict; }

int find_pos(const std::vector<int>& pos, int token) {
  const auto it = std::lower_bound(pos.begin(), pos.end(), token);
  return it != pos.end() && *it == token ? static_cast<int>(it - pos.begin()) : -1;
}

/// It has its place after the step's selection: neither did it go, nor was it sent to the slots that collect.
bool kept_its_place(const HeadRecord& head, int pos) {
  return find_pos(head.pos, pos) >= 0 && !std::ranges::binary_search(head.to_residual, pos);
}

double number_of(std::string_view text) { return number_from<double>(text).value_or(kNotAvailable); }

/// The parameter as it holds in this head.
double param_of_head(const LaneSnapshot& lane, const char* key, const HeadRecord& head) {
  double out = param_number(lane, key);
  for (const HeadParam& own : lane.head_params)
    if (own.key == key && own.layer == head.layer && (own.kv_head < 0 || own.kv_head == head.kv_head)) out = number_of(own.value);
  return out;
}

}  // namespace

bool collects(const HeadRecord& head, int pos) {
  return std::ranges::binary_search(head.residual, pos) && !std::ranges::binary_search(head.to_residual, pos);
}

Rank rank_of(const HeadRecord& head, int pos) {
  Rank out;
  for_ranked(head, [&](int at, double score) {
    ++out.n;
    if (at == pos) out.score = score;
  });
  if (std::isnan(out.score)) return out;
  out.rank = 1;
  for_ranked(head, [&](int at, double score) { out.rank += score > out.score || (score == out.score && at < pos) ? 1 : 0; });
  return out;
}

bool has_own_slot(const HeadPick& pick, int token) {
  if (only_figures(*pick.values) && pick.run->fates) return slot_of(*pick.run->fates, *pick.record, pick.head, token) == token;
  return find_pos(pick.values->pos, token) >= 0;
}

bool against_rank(const HeadRecord& head, int pos) {
  const Rank own = rank_of(head, pos);
  if (own.rank < 0 || std::ranges::any_of(head.events, [&](const Event& e) { return e.pos == pos && e.by_hand; })) return false;
  const auto above = [&](int at, double score) { return score > own.score || (score == own.score && at < pos); };
  const bool stayed = kept_its_place(head, pos);
  const auto by_hand = [&](int at) { return std::ranges::any_of(head.events, [&](const Event& e) { return e.pos == at && e.by_hand; }); };
  bool out = false;
  for_ranked(head, [&](int at, double score) {
    if (kept_its_place(head, at) != stayed && above(at, score) == stayed) out = out || !stayed || !by_hand(at);
  });
  return out;
}

bool lower_of_equals_stayed(const HeadRecord& head, double score) {
  int last_kept = -1, first_gone = std::numeric_limits<int>::max();
  for_ranked(head, [&](int at, double other) {
    if (other != score) return;
    if (kept_its_place(head, at))
      last_kept = std::max(last_kept, at);
    else
      first_gone = std::min(first_gone, at);
  });
  return last_kept < first_gone;
}

SlotFacts slot_facts(const HeadPick& pick, int token) {
  return slot_facts(pick, token, removals_until(*pick.run, pick.head, pick.step, pick.record->position + 1));
}

SlotFacts slot_facts(const HeadPick& pick, int token, std::span<const Removal> removal) {
  SlotFacts out;
  const int n = pick.record->position + 1;
  if (token < 0 || token >= n) return out;
  const HeadRecord& head = *pick.values;
  out.token = token;
  out.removal = removal[static_cast<std::size_t>(token)];
  const int root = root_of(removal, token);
  const Removal& end = removal[static_cast<std::size_t>(root)];
  if (is_evicted(end)) out.evicted = end.step;
  const int i = find_pos(head.pos, root);
  const bool unlisted = only_figures(head) && end.step < 0;  // it stands, with what is known from the events
  out.born = birth_step(*pick.run, token);
  for (std::size_t k = 0; k < head.attended.size() && k < head.attention.size(); ++k) {
    if (head.attended[k] == (i >= 0 ? root : token)) out.attention = static_cast<double>(head.attention[k]);
  }
  if (i < 0 && !unlisted) return out;
  out.pos = root;
  out.born = birth_step(*pick.run, root);
  for (int t = 0; t < n; ++t) {
    if (root_of(removal, t) == root) out.members.push_back(t);
  }
  for_events(*pick.run, pick.head, pick.step, [&](int s, const Event& event) {
    if (event.kind == Event::Kind::merge && event.into == root) out.last_merge = s;
  });
  out.votes = static_cast<int>(out.members.size());
  if (unlisted) return out;
  const auto slot = static_cast<std::size_t>(i);
  out.votes = slot < head.votes.size() ? head.votes[slot] : 1;
  out.bias = head.bias.empty() ? 0 : (slot < head.bias.size() ? head.bias[slot] : kNotAvailable);
  if (slot < head.statistic.size()) out.statistic = head.statistic[slot];
  if (slot < head.score.size() && std::isfinite(head.score[slot]) && !collects(head, root)) out.score = head.score[slot];
  const Rank ranked = rank_of(head, root);
  out.n_ranked = ranked.n;
  out.rank = ranked.rank;
  return out;
}

const LineageLine* Lineage::line(int token) const {
  const auto it = std::lower_bound(lines.begin(), lines.end(), token, [](const LineageLine& l, int t) { return l.token < t; });
  return it != lines.end() && it->token == token ? &*it : nullptr;
}

Lineage lineage_of(const HeadPick& pick, int token) {
  return lineage_of(pick, token, removals_until(*pick.run, pick.head, pick.step, pick.record->position + 1));
}

Lineage lineage_of(const HeadPick& pick, int token, std::span<const Removal> removal) {
  Lineage out;
  const int n = pick.record->position + 1;
  if (token < 0 || token >= n) return out;
  out.root = root_of(removal, token);
  out.shown_step = pick.step;
  const Removal& end = removal[static_cast<std::size_t>(out.root)];
  out.evicted = is_evicted(end);
  std::vector<int> line_of(static_cast<std::size_t>(n), -1);
  for (int t = 0; t < n; ++t) {
    if (root_of(removal, t) != out.root) continue;
    const Removal& r = removal[static_cast<std::size_t>(t)];
    LineageLine line;
    line.token = t;
    line.born = birth_step(*pick.run, t);
    line.end = r.step >= 0 ? r.step : pick.step;
    if (t != out.root) {
      line.into = r.event.into;
      line.w_removed = r.event.w_removed;
      line.cos = r.event.cos;
      ++out.merges;
    }
    line.votes.emplace_back(line.born, 1);
    line_of[static_cast<std::size_t>(t)] = static_cast<int>(out.lines.size());
    out.lines.push_back(std::move(line));
  }
  std::map<int, int> went;  // by token: the step at which its own slot went last
  for_events(*pick.run, pick.head, pick.step, [&](int s, const Event& event) {
    if (event.kind != Event::Kind::restore)
      went[event.pos] = s;
    else if (const auto gone = went.find(event.pos);
             gone != went.end() && event.pos < n && line_of[static_cast<std::size_t>(event.pos)] >= 0)
      out.lines[static_cast<std::size_t>(line_of[static_cast<std::size_t>(event.pos)])].gaps.emplace_back(gone->second, s);
    if (event.kind != Event::Kind::merge || event.pos < 0 || event.pos >= n || event.into < 0 || event.into >= n) return;
    const int from = line_of[static_cast<std::size_t>(event.pos)], to = line_of[static_cast<std::size_t>(event.into)];
    if (from < 0 || to < 0) return;
    LineageLine& target = out.lines[static_cast<std::size_t>(to)];
    const int votes = target.last_votes() + out.lines[static_cast<std::size_t>(from)].last_votes();
    if (target.votes.back().first == s && target.votes.size() > 1) {
      target.votes.back().second = votes;
    } else {
      target.votes.emplace_back(s, votes);
    }
  });
  return out;
}

Lineage trimmed(Lineage lineage, int max_lines) {
  if (static_cast<int>(lineage.lines.size()) <= std::max(1, max_lines)) return lineage;
  // A target has more votes at its end than any slot merged into it, so the order by votes puts it first.
  std::vector<std::size_t> order(lineage.lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const LineageLine &x = lineage.lines[a], &y = lineage.lines[b];
    if ((x.into < 0) != (y.into < 0)) return x.into < 0;
    return x.last_votes() != y.last_votes() ? x.last_votes() > y.last_votes() : x.end > y.end;
  });
  order.resize(static_cast<std::size_t>(std::max(1, max_lines)));
  std::sort(order.begin(), order.end());
  std::vector<LineageLine> kept;
  for (const std::size_t i : order) kept.push_back(std::move(lineage.lines[i]));
  lineage.left_out += static_cast<int>(lineage.lines.size() - kept.size());
  lineage.lines = std::move(kept);
  return lineage;
}

std::string protection_of(const LaneSnapshot& run, const HeadRecord& head, std::span<const int> slots, int pos) {
  std::string out;
  const auto add = [&out](const char* word) { out += (out.empty() ? "" : ", ") + std::string(word); };
  if (pos < run.sinks) add("sink");
  const auto newer = slots.end() - std::upper_bound(slots.begin(), slots.end(), pos);
  if (newer < head.recent) add("recent");
  if (std::binary_search(head.pinned.begin(), head.pinned.end(), pos)) add("pinned by hand");
  return out;
}

int restored_before(const LaneSnapshot& run, int step, int head, int pos) {
  int out = -1;
  for_events(run, head, step - 1, [&](int s, const Event& event) {
    if (event.kind == Event::Kind::restore && event.by_hand && event.pos == pos) out = s;
  });
  return out;
}

int budget_set(const LaneSnapshot& run, const HeadRecord& head) { return run.slots_asked >= 0 || head.overridden ? head.budget : -1; }

int n_removed(const HeadRecord& head) {
  return static_cast<int>(std::ranges::count_if(head.events, [](const Event& event) { return event.kind != Event::Kind::restore; }));
}

NoScore no_score_of(const HeadRecord& head, int pos) {
  if (head.parts.parts.empty()) return NoScore::unknown;
  const std::vector<int>& ranked = head.parts.pos;
  // Those that are observed are the newest, and the newest of all has stayed.
  const int last = ranked.empty() ? -1 : ranked.back();
  const bool some_observed = !head.pos.empty() && head.pos.back() > last;
  if (std::ranges::binary_search(ranked, pos)) return some_observed ? NoScore::beside_observed : NoScore::not_finite;
  return some_observed && pos > last ? NoScore::observed : NoScore::unknown;
}

const char* text_of(NoScore why, const char* unknown) {
  switch (why) {
    case NoScore::not_finite:
      return "its score is not a finite number";
    case NoScore::observed:
      return "not ranked: its query is one of the newest, which are observed and rank the others";
    case NoScore::beside_observed:
      return "ranked last: its score is shared with tokens whose queries are observed, and these have none";
    case NoScore::unknown:
      break;
  }
  return unknown;
}

Why why_of(const HeadPick& pick, int token) {
  Why out;
  const int n = pick.record->position + 1;
  if (token < 0 || token >= n) return out;
  for_events(*pick.run, pick.head, pick.step, [&](int s, const Event& event) {
    // Its own removal is the last word: nothing is merged into a slot that went.
    if (event.pos != token && event.into != token) return;
    if (event.kind == Event::Kind::restore) {
      out = {};
      return;
    }
    out.step = s;
    out.event = event;
  });
  if (out.step < 0) return out;
  out.restored = restored_before(*pick.run, out.step, pick.head, out.event.pos);
  const HeadRecord& head = pick.run->steps[static_cast<std::size_t>(out.step)]->heads[static_cast<std::size_t>(pick.head)];
  out.budget = budget_set(*pick.run, head);
  out.full = out.budget >= 0 && head.n_slots >= out.budget;
  std::vector<int> slots = head.pos;
  for (const Event& event : head.events)
    if (event.kind != Event::Kind::restore) slots.push_back(event.pos);
  std::sort(slots.begin(), slots.end());
  out.protection = protection_of(*pick.run, head, slots, out.event.pos);
  out.no_score = no_score_of(head, out.event.pos);
  out.protected_sinks = pick.run->sinks;
  out.protected_recent = head.recent;
  out.n_removed = n_removed(head);
  const int came_back = static_cast<int>(head.events.size()) - out.n_removed;
  out.slots_before = static_cast<int>(head.pos.size()) + out.n_removed - came_back;
  out.pooled_tokens = head.pooled_tokens;
  out.cost = head.compress_rel_l2;
  // A threshold found anew in each step is the one that decided, whatever the parameter says.
  out.threshold = std::isfinite(head.merge_theta) ? head.merge_theta : param_of_head(*pick.run, "threshold", head);
  out.next_score = head.cutoff;
  for_ranked(head, [&](int at, double score) {
    if (!kept_its_place(head, at)) return;
    ++out.places;
    if (out.next_pos < 0 && score == head.cutoff) out.next_pos = at;
  });
  bool own = false;
  for (const Event& other : head.events) {
    if (other.pos == out.event.pos && !own) {
      own = true;
    } else if (std::isfinite(other.cos)) {
      out.other_cos.push_back(other.cos);
    }
  }
  const Rank ranked = rank_of(head, out.event.pos);
  out.n_ranked = ranked.n;
  out.rank = ranked.rank;
  out.against_rank = against_rank(head, out.event.pos);
  out.lower_of_equals = lower_of_equals_stayed(head, ranked.score);
  for (const MergeDetail& detail : head.merges) {
    const auto it = std::find(detail.members.begin(), detail.members.end(), out.event.pos);
    if (detail.into != out.event.into || it == detail.members.end()) continue;
    out.detail = detail;
    const auto i = static_cast<std::size_t>(it - detail.members.begin());
    if (i < detail.votes.size()) out.removed_votes = detail.votes[i];
  }
  if (out.removed_votes <= 1) {
    // Without the merge's own numbers, or where they count every slot as one token: what it had gathered before this step.
    HeadPick then = pick;
    then.step = out.step;
    then.record = pick.run->steps[static_cast<std::size_t>(out.step)].get();
    then.values = &head;
    const Lineage before = lineage_of(then, out.event.pos);
    const LineageLine* line = before.line(out.event.pos);
    out.removed_votes = line != nullptr ? line->last_votes() : 1;
  }
  return out;
}

double merged_bias(const MergeDetail& detail) {
  const int votes = std::accumulate(detail.votes.begin(), detail.votes.end(), 0);
  return votes > 0 ? std::log(static_cast<double>(votes)) + detail.extra : kNotAvailable;
}

std::string log_of_votes(const SlotFacts& slot) {
  if (slot.votes < 1 || std::isnan(slot.bias) || slot.bias == 0) return {};
  const double rest = slot.bias - std::log(slot.votes);
  constexpr double kSame = 0.005;  // beside a logarithm in three digits
  const std::string ln = "ln " + std::to_string(slot.votes);
  return std::abs(rest) < kSame ? ln : ln + (rest < 0 ? " − " : " + ") + format_number(std::abs(rest));
}

double param_number(const LaneSnapshot& lane, const char* key) {
  for (const ParamText& param : lane.params) {
    if (param.key != key) continue;
    if (const double out = number_of(param.value); !std::isnan(out)) return out;
  }
  return kNotAvailable;
}

}  // namespace kvscope::viz
