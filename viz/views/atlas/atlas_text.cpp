// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/reduce/slot.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {
namespace {

std::string step_text(int step) { return "step " + format_count(step); }

/// True where a hand removed the token's slot in that step.
bool by_hand(const LaneSnapshot& lane, int head, int token, int step) {
  if (step < 0 || step >= static_cast<int>(lane.steps.size())) return false;
  const std::vector<HeadRecord>& heads = lane.steps[static_cast<std::size_t>(step)]->heads;
  if (head >= static_cast<int>(heads.size())) return false;
  return std::ranges::any_of(heads[static_cast<std::size_t>(head)].events, [token](const Event& e) { return e.by_hand && e.pos == token; });
}

}  // namespace

std::string fate_text(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token) {
  const Fate f = fate_at(lane.fates->heads[static_cast<std::size_t>(head)], token, step);
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const std::string back = restored_text(lane.fates->heads[static_cast<std::size_t>(head)].past, token, step);
  const std::string again = back.empty() ? std::string() : "; " + back;
  const HeadRecord& values = record.heads[static_cast<std::size_t>(head)];
  const Category c = categories(*lane.fates, record, head, lane.sinks, is_prefill_step(s, step), token, token).at(0);
  switch (c) {
    case Category::unseen:
      return "not seen yet";
    case Category::evicted:
      if (f.into >= 0 && f.left < f.lost) {
        return fmt::format("merged into {} {} at {}, evicted with it at {}", format_count(f.into),
                           quoted(token_text(tokens_of(s, lane), f.into)), step_text(f.left), step_text(f.lost)) +
               again;
      }
      return (by_hand(lane, head, token, f.lost) ? "evicted by hand at " : "evicted at ") + step_text(f.lost) + again;
    case Category::merged: {
      std::string text = fmt::format("merged{} into {} {} at {}", by_hand(lane, head, token, f.left) ? " by hand" : "",
                                     format_count(f.into), quoted(token_text(tokens_of(s, lane), f.into)), step_text(f.left));
      const int slot = slot_of(*lane.fates, record, head, token);
      if (slot != f.into) text += ", now in slot " + format_count(slot);
      return text + again;
    }
    case Category::unread:
      return "kept, not read by this step's query" + again;
    case Category::fresh:
      return "new in this step";
    case Category::sink:
      return "sink, always kept" + again;
    case Category::recent:
      return "recent, kept for now" + again;
    case Category::kept:
      if (std::ranges::binary_search(values.pinned, token)) return "pinned by hand" + again;
      if (!back.empty()) return back;
      return lane.slots_asked < 0 ? "kept, the cache is unlimited" : "heavy, has its own slot";
  }
  return {};
}

std::vector<std::string> token_tooltip(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token) {
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const int n_kv = s.model.n_kv_heads;
  std::vector<std::string> lines;
  lines.push_back(place_name(head / n_kv, head % n_kv, token) + " " + quoted(token_text(tokens_of(s, lane), token)));
  lines.push_back(fate_text(s, lane, step, head, token));
  if (static_cast<std::size_t>(head) < record.heads.size()) {
    const HeadRecord& h = record.heads[static_cast<std::size_t>(head)];
    const int slot = slot_of(*lane.fates, record, head, token);
    const auto found = std::lower_bound(h.pos.begin(), h.pos.end(), slot);
    if (slot >= 0 && found != h.pos.end() && *found == slot) {
      const auto at = static_cast<std::size_t>(found - h.pos.begin());
      const std::string of = slot == token ? "" : " of slot " + format_count(slot);
      if (at < h.votes.size()) lines.push_back("votes" + of + " " + format_count(h.votes[at]));
      if (const Rank r = rank_of(h, slot); r.rank > 0)
        lines.push_back(fmt::format("score{} {} · rank {} of {}", of, format_number(r.score), format_count(r.rank), format_count(r.n)));
    }
    for (const Event& e : h.events) {
      if (e.pos == token && !std::isnan(e.score)) lines.push_back("score at its removal " + format_number(e.score));
    }
    if (static_cast<std::size_t>(token) < h.reference_attention.size()) {
      lines.push_back("attention of this query, every token in place " +
                      format_attention(static_cast<double>(h.reference_attention[static_cast<std::size_t>(token)])));
    }
  }
  lines.push_back(token_range_text(tokens_of(s, lane), std::max(0, token - 4), token + 4, 44));
  return lines;
}

std::vector<std::string> bin_tooltip(const AtlasScene& s, const AtlasRow& row, const TokenRange& tokens) {
  const int first = tokens.first, last = tokens.last;
  const auto [from, to] = s.heads_of(row);
  int merged = 0, own = 0, removed = 0, top_token = -1, n_scores = 0;
  int low = last - first + 1, high = 0;
  double least = 0, most = 0, sum = 0;
  for (int head = from; head <= to; ++head) {
    const HeadFates& f = s.lane->fates->heads[static_cast<std::size_t>(head)];
    int here = 0;
    for (int t = first; t <= last; ++t) {
      const Fate fate = fate_at(f, t, s.record->step);
      if (fate.lost <= s.record->step) continue;
      ++here;
      ++(fate.left <= s.record->step ? merged : own);
    }
    low = std::min(low, here);
    high = std::max(high, here);
    if (static_cast<std::size_t>(head) >= s.record->heads.size()) continue;
    const HeadRecord& r = s.record->heads[static_cast<std::size_t>(head)];
    removed += static_cast<int>(std::count_if(r.events.begin(), r.events.end(), [&](const Event& e) {
      return e.kind != Event::Kind::restore && e.pos >= first && e.pos <= last;
    }));
    const auto begin = std::lower_bound(r.pos.begin(), r.pos.end(), first), end = std::upper_bound(r.pos.begin(), r.pos.end(), last);
    for (auto it = begin; it != end; ++it) {
      const auto i = static_cast<std::size_t>(it - r.pos.begin());
      if (i >= r.score.size() || std::isnan(r.score[i]) || collects(r, *it)) continue;
      const double score = r.score[i];
      if (n_scores == 0 || score > most) top_token = *it;
      least = n_scores == 0 ? score : std::min(least, score);
      most = n_scores == 0 ? score : std::max(most, score);
      sum += score;
      ++n_scores;
    }
  }
  const int n = (last - first + 1) * (to - from + 1);
  std::vector<std::string> lines;
  const std::string where = row.kv_head < 0 ? fmt::format("L{} · {} heads", row.layer, to - from + 1) : head_name(row.layer, row.kv_head);
  lines.push_back(fmt::format("{} · tokens {}–{} ({})", where, format_count(first), format_count(last), format_count(last - first + 1)));
  lines.push_back(fmt::format("represented {}: {} of {}", format_percent(static_cast<double>(own + merged) / n), format_count(own + merged),
                              format_count(n)));
  lines.push_back(
      fmt::format("own slot {} · merged {} · evicted {}", format_count(own), format_count(merged), format_count(n - own - merged)));
  if (row.kv_head < 0) {
    const double size = last - first + 1;
    lines.push_back(fmt::format("heads from {} to {}", format_percent(low / size), format_percent(high / size)));
  }
  if (removed > 0) lines.push_back(fmt::format("left in this step: {}", format_count(removed)));
  if (n_scores > 0) {
    lines.push_back(fmt::format("score of {} ranked {}: min {} · mean {} · max {}", format_count(n_scores),
                                n_scores == 1 ? "slot" : "slots", format_number(least), format_number(sum / n_scores),
                                format_number(most)));
    lines.push_back(
        fmt::format("highest score: token {} {}", format_count(top_token), quoted(token_text(tokens_of(*s.snapshot, *s.lane), top_token))));
  } else {
    lines.push_back("no slot here was ranked in this step");
  }
  if (s.bin > 1 || s.rows.by_layer) lines.push_back("Enter: zoom in here");
  lines.push_back(token_range_text(tokens_of(*s.snapshot, *s.lane), first, last, 44));
  return lines;
}

Table atlas_table(const Frame& frame) {
  Table table;
  table.columns = {"layer", "KV head", "token", "text", "category", "left at step", "merged into", "lost at step", "votes", "score"};
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr || record == nullptr || lane->fates == nullptr) return table;
  constexpr std::size_t kMaxRows = 10'000;
  const int step = step_of(*lane, frame.selection), chosen = selected_head(frame);
  const auto at_step = [](int s) { return s == kNever ? std::string() : std::to_string(s); };
  std::int64_t all = 0;
  for (int h = 0; h < static_cast<int>(lane->fates->heads.size()); ++h) {
    if (chosen >= 0 && h != chosen) continue;
    const auto row_categories = categories_of(*frame.snapshot, *lane, step, h);
    const HeadFates& fates = lane->fates->heads[static_cast<std::size_t>(h)];
    const HeadRecord* slots = static_cast<std::size_t>(h) < record->heads.size() ? &record->heads[static_cast<std::size_t>(h)] : nullptr;
    const int seen = std::min(tokens_seen(*record), lane->fates->n_tokens);
    all += seen;
    for (int t = 0; t < seen && table.rows.size() < kMaxRows; ++t) {
      const auto i = static_cast<std::size_t>(t);
      const Fate fate = fate_at(fates, t, step);
      std::string votes, score;
      if (slots != nullptr) {
        const auto found = std::lower_bound(slots->pos.begin(), slots->pos.end(), t);
        const auto at = static_cast<std::size_t>(found - slots->pos.begin());
        if (found != slots->pos.end() && *found == t) {
          if (at < slots->votes.size()) votes = std::to_string(slots->votes[at]);
          if (at < slots->score.size()) score = format_precise(slots->score[at]);
        }
      }
      table.rows.push_back({std::to_string(h / frame.snapshot->model.n_kv_heads), std::to_string(h % frame.snapshot->model.n_kv_heads),
                            std::to_string(t), token_text(tokens_of(*frame.snapshot, *lane), t), category_word(*lane, row_categories[i]),
                            at_step(fate.left), fate.into < 0 ? std::string() : std::to_string(fate.into), at_step(fate.lost), votes,
                            score});
    }
  }
  if (static_cast<std::int64_t>(table.rows.size()) < all) {
    table.note = fmt::format("first {} of {} rows", format_count(static_cast<std::int64_t>(table.rows.size())), format_count(all));
  }
  return table;
}

}  // namespace kvscope::viz
