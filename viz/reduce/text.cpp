// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/why/why_kept.h"

namespace kvscope::viz {

namespace {

/// "3rd of 42" of the finite entries, counted from the highest; empty where the entry is not a number.
std::string rank_text(const std::vector<double>& values, int at) {
  const double own = values[static_cast<std::size_t>(at)];
  if (!std::isfinite(own)) return {};
  int rank = 1, n = 0;
  for (const double v : values) {
    n += std::isfinite(v) ? 1 : 0;
    rank += v > own ? 1 : 0;
  }
  return fmt::format("rank {} of {}", format_count(rank), format_count(n));
}

std::string exact(double v) { return std::isfinite(v) ? fmt::format("{}", v) : std::string(kNotAvailableText); }

/// Of the attention that this step's query would pay to what was evicted, the share of one token; NaN: the query still saw a slot that
/// stands for it, or it was not captured.
double share_of_lost(const HeadPick& pick, int token) {
  const auto& reference = pick.values->reference_attention;
  const bool known = pick.run->fates != nullptr && static_cast<std::size_t>(token) < reference.size() && pick.values->attention_loss > 0;
  if (!known) return kNotAvailable;
  const int lost = fate_at(pick.run->fates->heads[static_cast<std::size_t>(pick.head)], token, pick.step).lost;
  if (lost == kNever || lost >= pick.step) return kNotAvailable;
  return std::min(1.0, static_cast<double>(reference[static_cast<std::size_t>(token)]) / pick.values->attention_loss);
}

/// What one head lost in one step, and what all of it together changed of its output.
struct LostAtOnce {
  std::string n = "0", changed;
};
std::vector<LostAtOnce> lost_at_once(const HeadPick& pick) {
  std::vector<LostAtOnce> out(static_cast<std::size_t>(pick.step) + 1);
  for (std::size_t s = 0; s < out.size(); ++s) {
    const StepPtr& record = pick.run->steps[s];
    if (record == nullptr || pick.head >= static_cast<int>(record->heads.size())) continue;
    const HeadRecord& head = record->heads[static_cast<std::size_t>(pick.head)];
    out[s] = {std::to_string(n_removed(head)), exact(head.compress_rel_l2)};
  }
  return out;
}

}  // namespace

std::string question_text(const Snapshot& snapshot, const LaneSnapshot& lane, bool would_prefilled) {
  if (lane.slots_asked < 0) return "";
  if (lane.sees_question) return "seen: the last queries of the prompt take part";
  if (lane.looks_at.empty()) return "";  // a trace that says neither
  return would_prefilled && !snapshot.prefill_mode ? "not seen: the prompt was streamed" : "not seen: no look at the end of the prompt";
}

std::string slot_name(std::span<const TokenInfo> tokens, int pos) {
  return fmt::format("slot {} {}", pos, quoted(token_text(tokens, pos)));
}

std::string rank_of_places(int rank, int n_ranked, int places, bool against, bool full) {
  const std::string stayed = full ? "for " + count_of(places, "place", "places") : format_count(places) + " stayed";
  return fmt::format("rank {} of {}{} {}{}", format_count(rank), format_count(n_ranked), full ? "" : ",", stayed,
                     against ? ", not chosen by this score alone" : "");
}

std::pair<std::string, std::string> told_apart(double a, double b) {
  constexpr int kMost = 9;
  std::pair<std::string, std::string> out{format_number(a), format_number(b)};
  for (int digits = 4; a != b && out.first == out.second && digits <= kMost; ++digits)
    out = {format_number(a, digits), format_number(b, digits)};
  return out;
}

std::string votes_text(int votes) { return count_of(votes, "vote", "votes"); }

std::string subscript(int number) {
  std::string out;
  for (const char c : std::to_string(number)) {
    if (c == '-') {
      out += "₋";
    } else {
      utf8_append(out, U'\u2080' + static_cast<char32_t>(c - '0'));
    }
  }
  return out;
}

std::string choice_text(const HeadPick& pick) {
  if (pick.chosen) return {};
  return pick.values != nullptr && pick.values->local_l1_wo > 0 ? " (largest error, none selected)" : " (none selected)";
}

std::string pooled_text(const HeadRecord& head) {
  if (head.pooled_tokens == 0) return {};
  return fmt::format(" · state of {}: {} of the attention", count_of(head.pooled_tokens, "evicted token", "evicted tokens"),
                     format_percent(head.pooled_share));
}

std::string window_text(const Snapshot& snapshot, int layer) {
  const int window = snapshot.model.window(layer);
  return window > 0 ? fmt::format(" · sees the last {}", count_of(window, "token", "tokens")) : std::string();
}

std::string lost_text(const HeadPick& pick) {
  constexpr double kSaid = 0.0005;  // less is none when it is printed
  const double merged = stood_in_by_merges(pick);
  const std::string lost = format_percent(pick.values->attention_loss);
  return merged >= kSaid ? fmt::format("attention lost to eviction {}, stood in by merges {}", lost, format_percent(merged))
                         : "attention lost " + lost;
}

/// What this step's compression did to the head: where keys and values are stored with fewer bits, they change though nothing goes.
static const char* compression_word(const HeadPick& pick) {
  if (pick.run == nullptr || pick.run->stored_as.empty()) return "removals";
  return pick.values->events.empty() ? "storage" : "removals and storage";
}

std::string head_facts(const HeadPick& pick) {
  if (pick.values == nullptr) return {};
  const HeadRecord& head = *pick.values;
  return fmt::format("{}{} · {} · local error {} · after Wₒ {} · changed by this step's {} {}{}", head_name(head.layer, head.kv_head),
                     choice_text(pick), lost_text(pick), format_percent(head.local_rel_l2), format_number(head.local_l1_wo),
                     compression_word(pick), format_percent(head.compress_rel_l2), pooled_text(head));
}

std::string restored_text(std::span<const EarlierFate> past, int token, int step) {
  const EarlierFate* last = nullptr;
  for (const EarlierFate& earlier : past)
    if (earlier.token == token && earlier.until <= step && !earlier.moved) last = &earlier;
  if (last == nullptr) return {};
  const Fate& before = last->fate;
  const bool merged = before.into >= 0 && before.left < before.lost;
  return fmt::format("restored by hand at step {}, had been {} at step {}", last->until, merged ? "merged" : "evicted",
                     merged ? before.left : before.lost);
}

bool reads_pages(const LaneSnapshot& lane) {
  const StepRecord* last = lane.steps.empty() ? nullptr : lane.steps.back().get();
  return last != nullptr && std::ranges::any_of(last->heads, [](const HeadRecord& head) { return head.page > 0; });
}

const char* category_word(const LaneSnapshot& lane, Category category) {
  return category == Category::kept && lane.slots_asked < 0 ? "kept" : category_name(category);
}

std::string fate_text(const HeadColumns& columns, int token) {
  if (token < 0 || token >= columns.size()) return "not seen yet";
  const auto t = static_cast<std::size_t>(token);
  const Removal& removal = columns.removal[t];
  const std::string back = restored_text(columns.past, token, kNever);
  const char* const hand = removal.event.by_hand ? " by hand" : "";
  const std::string again = back.empty() ? std::string() : "; " + back;
  switch (columns.category[t]) {
    case Category::fresh:
      return "new in this step";
    case Category::sink:
      return "sink, protected" + again;
    case Category::recent:
      return "recent, protected" + again;
    case Category::kept:
      if (std::ranges::binary_search(columns.pinned, token)) return "pinned by hand" + again;
      if (!back.empty()) return back;
      if (std::ranges::binary_search(columns.collecting, token)) return "kept, collects what goes";
      return std::isfinite(columns.score[t]) ? "kept by rank" : "kept";
    case Category::merged:
      return (removal.step < 0 ? "merged" : fmt::format("merged{} into slot {} at step {}", hand, removal.event.into, removal.step)) +
             again;
    case Category::evicted:
      if (removal.step < 0) return "evicted" + again;
      if (removal.event.kind == Event::Kind::evict) return fmt::format("evicted{} at step {}", hand, removal.step) + again;
      return fmt::format("merged{} into slot {} at step {}, evicted with it", hand, removal.event.into, removal.step) + again;
    case Category::unread:
      return "kept, not read by this step's query" + again;
    case Category::unseen:
      break;
  }
  return "not seen yet";
}

/// "1 of 4 query heads": those that rank the token inside the budget; empty: not measured.
std::string agreement_text(const Snapshot& snapshot, const HeadRecord& head, int token) {
  if (token < 0 || static_cast<std::size_t>(token) >= head.agreement.size()) return {};
  return fmt::format("{} of {}", head.agreement[static_cast<std::size_t>(token)],
                     count_of(snapshot.model.group(), "query head", "query heads"));
}

std::vector<std::string> token_lines(const Snapshot& snapshot, const HeadPick& pick, const HeadColumns& columns, int token) {
  if (pick.values == nullptr || token < 0 || token >= columns.size()) return {};
  const auto t = static_cast<std::size_t>(token);
  std::vector<std::string> out;
  out.push_back(fmt::format("token {} {} · {}", token, quoted(token_text(tokens_of(snapshot, pick.lane), token)),
                            head_name(pick.values->layer, pick.values->kv_head)));
  out.push_back(fate_text(columns, token));
  if (std::isfinite(columns.attention[t])) {
    out.push_back(fmt::format("attention {}, {}", format_attention(columns.attention[t]), rank_text(columns.attention, token)));
  } else if (std::isfinite(columns.lost[t])) {
    out.push_back(fmt::format("attention of this query, every token in place {}, not in this cache", format_attention(columns.lost[t])));
  } else {
    out.push_back("attention n/a");
  }
  if (!columns.probed.empty() && std::isfinite(columns.probed[t]))
    out.push_back("probe's attention " + format_attention(columns.probed[t]));
  if (const std::string heads = agreement_text(snapshot, *pick.values, token); !heads.empty())
    out.push_back("inside the budget for " + heads);
  const bool stands = columns.votes[t] > 0;
  if (std::isfinite(columns.score[t])) {
    const std::string_view when = !stands ? "at its removal " : columns.score_gone[t] != 0 ? "when it was last ranked " : "";
    out.push_back(fmt::format("ranking score {}{}", when, format_number(columns.score[t])));
  } else if (stands) {
    out.push_back("ranking score n/a: not ranked in this step");
  }
  if (!columns.statistic.empty() && stands) out.push_back(fmt::format("{} {}", pick.run->statistic, format_number(columns.statistic[t])));
  if (stands) out.push_back(votes_text(columns.votes[t]));
  const Removal& removal = columns.removal[t];
  if (removal.step >= 0 && std::isfinite(removal.event.cos))
    out.push_back(fmt::format("cosine to the nearest kept key {}", format_number(removal.event.cos)));
  return out;
}

Table head_table(const Snapshot& snapshot, const HeadPick& pick) {
  Table out;
  out.columns = {"token", "text", "fate", "votes", "attention", "reference attention of a token without slot", "ranking score"};
  if (pick.values == nullptr) {
    out.note = "no head: the run has no steps yet";
    return out;
  }
  const HeadColumns columns = head_columns(snapshot, pick);
  if (!columns.probed.empty()) out.columns.push_back("probe's attention");
  if (!columns.agreement.empty()) out.columns.push_back("agreement");
  if (!columns.statistic.empty()) out.columns.push_back(pick.run->statistic.empty() ? "statistic" : pick.run->statistic);
  for (const char* name :
       {"share of the attention lost", "removals of the step at which it left", "output changed by all of them together"})
    out.columns.emplace_back(name);
  const std::vector<LostAtOnce> at_once = lost_at_once(pick);
  for (int token = 0; token < columns.size(); ++token) {
    const auto t = static_cast<std::size_t>(token);
    std::vector<std::string> row = {std::to_string(token),       token_text(tokens_of(snapshot, pick.lane), token),
                                    fate_text(columns, token),   std::to_string(columns.votes[t]),
                                    exact(columns.attention[t]), exact(columns.lost[t]),
                                    exact(columns.score[t])};
    if (!columns.probed.empty()) row.push_back(exact(columns.probed[t]));
    if (!columns.agreement.empty()) row.push_back(exact(columns.agreement[t]));
    if (!columns.statistic.empty()) row.push_back(exact(columns.statistic[t]));
    const int left = columns.removal[t].step;
    row.push_back(exact(share_of_lost(pick, token)));
    row.push_back(left < 0 ? std::string(kNotAvailableText) : at_once[static_cast<std::size_t>(left)].n);
    row.push_back(left < 0 ? std::string(kNotAvailableText) : at_once[static_cast<std::size_t>(left)].changed);
    out.rows.push_back(std::move(row));
  }
  out.note = fmt::format(
      "{} after step {} of run {}; the score of a token without slot is the one at its removal, that of a "
      "slot which is not ranked in this step the last one it had",
      head_name(pick.values->layer, pick.values->kv_head), pick.step, pick.run->spec);
  return out;
}

std::vector<CardRow> slot_card(const Snapshot& snapshot, const HeadPick& pick, const SlotFacts& facts) {
  std::vector<CardRow> out;
  if (facts.token < 0) return out;
  const auto step_or_dash = [](int step) { return step < 0 ? std::string("–") : fmt::format("step {}", step); };
  const auto add_agreement = [&](int token) {
    std::string heads = agreement_text(snapshot, *pick.values, token);
    if (heads.empty() && pick.lane > 0 && pick.values->budget >= 0) heads = kNotMeasured;
    if (!heads.empty()) out.push_back({"agreement", std::move(heads)});
  };
  if (facts.pos < 0) {
    out.push_back({"position", format_count(facts.token)});
    const bool merged = facts.removal.step >= 0 && facts.removal.event.kind == Event::Kind::merge;
    out.push_back({merged ? "merged" : "evicted", step_or_dash(facts.removal.step)});
    if (merged) {
      out.push_back({"into", slot_name(tokens_of(snapshot, pick.lane), facts.removal.event.into)});
      out.push_back({"evicted with it", step_or_dash(facts.evicted)});
    }
    out.push_back({"score at its removal", format_number(facts.removal.event.score)});
    out.push_back({"nearest kept key", std::isfinite(facts.removal.event.cos) ? "cosine " + format_number(facts.removal.event.cos)
                                                                              : std::string(kNotAvailableText)});
    double lost = kNotAvailable;
    const auto& reference = pick.values->reference_attention;
    if (static_cast<std::size_t>(facts.token) < reference.size())
      lost = static_cast<double>(reference[static_cast<std::size_t>(facts.token)]);
    out.push_back({"attention, all in place", format_attention(lost)});
    if (const double share = share_of_lost(pick, facts.token); std::isfinite(share))
      out.push_back({"of the attention lost", format_percent(share)});
    add_agreement(facts.token);
    out.push_back({"born", step_or_dash(facts.born)});
    return out;
  }
  out.push_back({"position", format_count(facts.pos)});
  const std::string protection = protection_of(*pick.run, *pick.values, pick.values->pos, facts.pos);
  out.push_back({"protected", protection.empty() ? std::string("no") : protection});
  out.push_back({"votes", format_count(facts.votes)});
  out.push_back({"members", count_of(static_cast<int>(facts.members.size()), "token", "tokens")});
  const WhyKept then = facts.rank > 0 ? WhyKept{} : why_kept(pick, facts.pos);
  if (then.rank > 0 && then.step < pick.step) {
    out.push_back({"ranking score", fmt::format("{}, step {}", format_number(then.score), then.step)});
    out.push_back({"rank", fmt::format("{} of {}, step {}", format_count(then.rank), format_count(then.n_ranked), then.step)});
  } else {
    out.push_back({"ranking score", format_number(facts.score)});
    out.push_back({"rank", facts.rank > 0 ? fmt::format("{} of {} ranked", format_count(facts.rank), format_count(facts.n_ranked))
                                          : std::string("not ranked")});
  }
  // Beside what was ranked earlier the others say of which step they are, too.
  const std::string now = then.rank > 0 && then.step < pick.step ? fmt::format(", step {}", pick.step) : std::string();
  if (!pick.run->statistic.empty()) out.push_back({pick.run->statistic, format_number(facts.statistic) + now});
  out.push_back({"attention now", format_attention(facts.attention) + now});
  add_agreement(facts.pos);
  out.push_back({"logit bias b", std::isfinite(facts.bias) && facts.bias != 0 ? format_delta(facts.bias, 4) : format_number(facts.bias)});
  out.push_back({"born · last merge", facts.last_merge < 0 ? fmt::format("{} · –", step_or_dash(facts.born))
                                                           : fmt::format("{} · step {}", step_or_dash(facts.born), facts.last_merge)});
  return out;
}

}  // namespace kvscope::viz
