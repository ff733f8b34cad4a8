// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/text.h"
#include "viz/reduce/why/why_kept.h"
#include "viz/reduce/why/why_sets.h"

namespace kvscope::viz {

namespace {

constexpr std::size_t kTermsShown = 3;  // of a sum; the rest is counted

std::string fixed(double v, int decimals) {
  return std::isfinite(v) ? fmt::format("{:.{}f}", v, decimals) : std::string(kNotAvailableText);
}

std::string signed_fixed(double v, int decimals) {
  return v < 0 ? std::string(kMinus) + fmt::format("{:.{}f}", -v, decimals) : fixed(v, decimals);
}

/// Indices of a merge's members: the removed one, the target, then the others by weight.
std::vector<std::size_t> members_in_order(const MergeDetail& detail, int removed) {
  std::vector<std::size_t> order(detail.members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto place = [&](std::size_t i) { return detail.members[i] == removed ? 0 : detail.members[i] == detail.into ? 1 : 2; };
  const auto weight = [&](std::size_t i) { return i < detail.weights.size() ? detail.weights[i] : 0.0; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) != place(b) ? place(a) < place(b) : weight(a) > weight(b); });
  return order;
}

/// a + b + c, then "+ 5 more" for what is not shown.
template <class Term>
std::string sum_text(const std::vector<std::size_t>& order, Term term) {
  std::string out;
  const std::size_t shown = order.size() <= kTermsShown + 1 ? order.size() : kTermsShown;
  for (std::size_t k = 0; k < shown; ++k) out += (k ? " + " : "") + term(order[k]);
  if (shown < order.size()) out += fmt::format(" + {} more", order.size() - shown);
  return out;
}

WhyStep had_to_go(std::span<const TokenInfo> tokens, const Why& why, const KeySet& set) {
  WhyStep step;
  step.title = why.event.by_hand ? fmt::format("Removed by hand: {} slots before, budget {}", format_count(why.slots_before),
                                               why.budget >= 0 ? format_count(why.budget) : std::string("none"))
               : why.budget >= 0 && why.slots_before > why.budget
                   ? fmt::format("Over budget: {} slots, {} allowed", format_count(why.slots_before), format_count(why.budget))
               : why.budget >= 0 ? fmt::format("Removed within the budget: {} slots, {} allowed", format_count(why.slots_before),
                                               format_count(why.budget))
                                 : fmt::format("Removed: {} slots before this step's compression", format_count(why.slots_before));
  if (set.n > 0 && why.rank > 0) {
    step.lines.push_back(fmt::format("score {}, rank {} of {}: not kept by rank, so its key decides where it goes",
                                     format_number(why.event.score), format_count(why.rank), format_count(why.n_ranked)));
  } else if (why.event.by_hand && std::isfinite(why.event.score) && why.rank > 0) {
    step.lines.push_back(
        fmt::format("score {}, rank {} of {}", format_number(why.event.score), format_count(why.rank), format_count(why.n_ranked)));
  } else if (std::isfinite(why.event.score)) {
    const auto [score, next] = told_apart(why.event.score, why.next_score);
    std::string line =
        why.rank == why.n_ranked
            ? fmt::format("lowest score of {} ranked: {}", format_count(why.n_ranked), score)
            : fmt::format("score {}, {}", score, rank_of_places(why.rank, why.n_ranked, why.places, why.against_rank, why.full));
    if (std::isfinite(why.next_score)) {
      line += why.next_pos >= 0 ? fmt::format("  ·  lowest kept then (step {}), {}: {}", why.step, slot_name(tokens, why.next_pos), next)
                                : fmt::format("  ·  lowest kept then (step {}): {}", why.step, next);
    }
    step.lines.push_back(std::move(line));
    if (why.event.score == why.next_score && why.next_pos < why.event.pos && why.lower_of_equals) step.lines.emplace_back(kEqualScores);
  } else {
    step.lines.emplace_back(
        why.event.by_hand ? "no ranking score in this step"
                          : text_of(why.no_score, "no ranking score is known: the policy chose without one, or its file does not say it"));
  }
  if (!why.protection.empty()) {
    step.lines.push_back(fmt::format("it was protected ({}){}", why.protection, why.event.by_hand ? " and was removed by hand" : ""));
  } else {
    step.lines.push_back(fmt::format("not protected: {}, {}, not pinned{}",
                                     why.protected_sinks > 0 ? fmt::format("none of the {} sinks", why.protected_sinks) : "no sinks",
                                     why.protected_recent > 1    ? fmt::format("not among the {} newest", why.protected_recent)
                                     : why.protected_recent == 1 ? "not the newest"
                                                                 : "no newest are protected",
                                     why.event.by_hand ? "; removed by hand" : ""));
  }
  return step;
}

WhyStep where_to(std::span<const TokenInfo> tokens, const Why& why, const KeySet& set) {
  if (set.n > 0) return key_set_step(tokens, set);
  WhyStep step;
  const bool merged = why.event.kind == Event::Kind::merge;
  const std::string cos = fixed(why.event.cos, 3);
  if (merged && why.event.by_hand) {  // whatever key is nearest
    step.title = fmt::format("It merges into {} by hand", slot_name(tokens, why.event.into));
    if (std::isfinite(why.event.cos)) step.title += ", cosine " + cos;
  } else if (std::isfinite(why.event.cos)) {
    step.kind = WhyStep::Kind::cosines;
    if (merged) step.keys.push_back({why.event.into, why.event.cos});
    for (const auto& [pos, cosine] : why.event.runner_ups) step.keys.push_back({pos, cosine});
    const std::string limit =
        std::isfinite(why.threshold) ? fmt::format(" {} {}", merged ? "≥" : "<", fixed(why.threshold, 2)) : std::string();
    step.title = merged ? fmt::format("Nearest key: {}, cosine {}{}, so it merges", slot_name(tokens, why.event.into), cos, limit)
                        : fmt::format("Nearest key: cosine {}{}, so it is evicted", cos, limit);
  } else if (merged) {
    step.title = fmt::format("It merges into {}", slot_name(tokens, why.event.into));
  } else if (why.pooled_tokens > 0) {
    step.title = "It went into the head's state";
    step.lines.push_back("a sum over all that went, read by every query like one more slot");
  } else {
    step.title = "Nothing takes it over: it is evicted";
  }
  return step;
}

WhyStep averaged(const Why& why, const KeySet& set) {
  WhyStep step;
  const int removed = why.event.pos, target = why.event.into;
  if (why.detail && !why.detail->mu.empty() && why.detail->mu.size() == why.detail->members.size()) {
    const MergeDetail& detail = *why.detail;
    const std::vector<std::size_t> order = members_in_order(detail, removed);
    const auto name = [&](std::size_t i) { return subscript(detail.members[i]); };
    step.title = "Key and value are averaged by what the EMA expects of each slot";
    const std::string symbols = sum_text(order, [&](std::size_t i) { return "µ" + name(i); });
    const std::string numbers = sum_text(order, [&](std::size_t i) { return format_number(detail.mu[i]); });
    step.lines.push_back(fmt::format("w{0} = µ{0}/({1}) = {2}/({3}) = {4}", subscript(removed), symbols, format_number(detail.mu[order[0]]),
                                     numbers, fixed(why.event.w_removed, 3)));
    const std::string keys = sum_text(order, [&](std::size_t i) {
      return fmt::format("{} k{}", i < detail.weights.size() ? fixed(detail.weights[i], 3) : std::string(kNotAvailableText), name(i));
    });
    const std::string gamma = std::isfinite(detail.gamma) ? fmt::format("{} (", fixed(detail.gamma, 3)) : std::string();
    std::string line = fmt::format("k = {}{}{}     v alike", gamma, keys, gamma.empty() ? "" : ")");
    if (detail.votes.size() == detail.members.size()) {
      const int votes = std::accumulate(detail.votes.begin(), detail.votes.end(), 0);
      line += fmt::format("     P = {} = {}", sum_text(order, [&](std::size_t i) { return std::to_string(detail.votes[i]); }),
                          votes_text(votes));
    }
    step.lines.push_back(std::move(line));
    return step;
  }
  const std::size_t n = set.n > 0 ? static_cast<std::size_t>(set.n) : why.detail ? std::max<std::size_t>(2, why.detail->members.size()) : 2;
  step.title = n > 2 ? fmt::format("The {} slots become one by weights that add up to 1", format_count(static_cast<std::int64_t>(n)))
                     : std::string("The two slots become one by their weights");
  step.lines.push_back(fmt::format("w{} = {}  (removed)     w{} = {}  (target)", subscript(removed), fixed(why.event.w_removed, 3),
                                   subscript(target), fixed(why.event.w_target, 3)));
  return step;
}

WhyStep bias_step(const HeadPick& pick, const Snapshot& snapshot, const Why& why) {
  const MergeDetail& detail = *why.detail;
  WhyStep step;
  step.kind = WhyStep::Kind::heads;
  const int votes = std::accumulate(detail.votes.begin(), detail.votes.end(), 0);
  const double log_votes = std::log(static_cast<double>(std::max(1, votes)));
  const std::string sum = fmt::format("b = {} {} {} = {}", fixed(log_votes, 4), detail.extra < 0 ? kMinus : std::string_view("+"),
                                      fixed(std::abs(detail.extra), 4), signed_fixed(merged_bias(detail), 4));
  if (why.event.form == "zip" && !why.event.fallback) {
    step.title = "The averaged key is lengthened by γ; the bias is ln P";
    step.lines.push_back(fmt::format("γ = {}     b = ln {} = {}", fixed(detail.gamma, 4), votes, fixed(log_votes, 4)));
  } else if (why.event.form == "code") {
    step.title = "The bias is ln P, without correction";
    step.lines.push_back(fmt::format("b = ln {} = {}", votes, fixed(log_votes, 4)));
  } else {
    step.title = "The bias keeps the slot's softmax mass:  b = ln P + mean over g of (T − m)";
    step.lines.push_back(sum + (why.event.fallback ? "   (γ out of range: done as bias)" : ""));
  }
  const std::size_t n = detail.members.size(), n_heads = detail.T.size();
  const std::vector<std::size_t> order = members_in_order(detail, why.event.pos);
  const bool pair = n == 2 && detail.log_scores.size() == n * n_heads;  // more members have no room for a column each
  std::vector<std::string> names = {"query head"};
  if (pair) {
    for (const std::size_t i : order) names.push_back("ŝ" + subscript(detail.members[i]));
  }
  for (const char* name : {"T", "m", "T − m", "left over"}) names.emplace_back(name);
  step.rows.push_back(std::move(names));
  const int group = std::max(1, snapshot.model.n_kv_heads > 0 ? snapshot.model.group() : 1);
  for (std::size_t g = 0; g < detail.T.size() && g < detail.m.size(); ++g) {
    const double gap = detail.T[g] - detail.m[g];
    std::vector<std::string> row = {std::to_string(pick.values->kv_head * group + static_cast<int>(g))};
    if (pair) {
      for (const std::size_t i : order) row.push_back(signed_fixed(detail.log_scores[i * n_heads + g], 3));
    }
    for (const std::string& cell :
         {signed_fixed(detail.T[g], 3), signed_fixed(detail.m[g], 3), format_delta(gap, 3), format_delta(gap - detail.extra, 3)})
      row.push_back(cell);
    step.rows.push_back(std::move(row));
  }
  if (votes > 0 && detail.votes.size() == n && !detail.log_scores.empty()) {
    step.lines.push_back(fmt::format(
        "T = ln(({})/{})",
        sum_text(order, [&](std::size_t i) { return fmt::format("{} e^ŝ{}", detail.votes[i], subscript(detail.members[i])); }), votes));
  }
  return step;
}

WhyStep lost_step(const HeadPick& pick, const Why& why) {
  WhyStep step;
  step.title = fmt::format("{}: a slot has one for each token it stands for",
                           why.removed_votes == 1 ? "Its vote is lost" : fmt::format("Its {} are lost", votes_text(why.removed_votes)));
  step.lines.push_back(fmt::format("{} lost in this head up to step {}", votes_text(pick.values->evicted_votes), pick.step));
  return step;
}

WhyStep state_step(const HeadPick& pick) {
  const HeadRecord& head = *pick.values;
  WhyStep step;
  step.title = fmt::format("The state stands for {} now", count_of(head.pooled_tokens, "token", "tokens"));
  if (!std::isnan(head.pooled_share))
    step.lines.push_back(fmt::format("the query of step {} gave it {} of its attention, the slots share the rest", pick.step,
                                     format_percent(head.pooled_share)));
  return step;
}

std::vector<WhyStep> what_happened(const Snapshot& snapshot, const HeadPick& pick, const Why& why) {
  std::vector<WhyStep> out;
  const KeySet set = key_set_of(pick, why);
  out.push_back(had_to_go(tokens_of(snapshot, pick.lane), why, set));
  if (const std::string share = share_text(*pick.run, why.budget); !share.empty() && !why.event.by_hand) out.back().lines.push_back(share);
  out.push_back(where_to(tokens_of(snapshot, pick.lane), why, set));
  if (why.event.kind == Event::Kind::evict) {
    if (!why.event.spread.empty()) {
      WhyStep spread;
      const auto n = static_cast<int>(why.event.spread.size());
      spread.title = fmt::format("Its value went on in equal parts to {} {}", format_count(n), n == 1 ? "slot" : "slots");
      spread.lines.push_back(fmt::format("v += v{}/{} for slots {} to {}; keys stay", subscript(why.event.pos), n, why.event.spread.front(),
                                         why.event.spread.back()));
      out.push_back(std::move(spread));
    }
    out.push_back(why.pooled_tokens > 0 ? state_step(pick) : lost_step(pick, why));
    return out;
  }
  if (std::isfinite(why.event.w_removed) || why.detail) out.push_back(averaged(why, set));
  if (why.detail && !why.detail->T.empty()) out.push_back(bias_step(pick, snapshot, why));
  return out;
}

}  // namespace

std::string why_headline(std::span<const TokenInfo> tokens, const Why& why) {
  if (why.step < 0) return {};
  const std::string who = fmt::format("{} ({})", slot_name(tokens, why.event.pos), votes_text(why.removed_votes));
  const std::string hand = std::string(why.event.by_hand ? " by hand" : "") + (why.restored >= 0 ? " again" : "");
  const std::string restored = why.restored >= 0 ? fmt::format(", restored at step {}", why.restored) : std::string();
  return (why.event.kind == Event::Kind::merge ? fmt::format("{} merged{} into slot {} at step {}", who, hand, why.event.into, why.step)
                                               : fmt::format("{} evicted{} at step {}", who, hand, why.step)) +
         restored;
}

std::vector<WhyStep> why_steps(const Snapshot& snapshot, const HeadPick& pick, const Why& why) {
  if (why.step < 0) return {};
  std::vector<WhyStep> out = what_happened(snapshot, pick, why);
  const StepRecord& record = *pick.run->steps[static_cast<std::size_t>(why.step)];
  const bool explained = std::isfinite(why.event.score) || !record.heads[static_cast<std::size_t>(pick.head)].parts.parts.empty();
  if (!explained) return out;
  std::vector<std::string> score = score_lines(*pick.run, why.step, pick.head, why.event.pos);
  // Beside a picture of keys it comes last: in a low window what is pictured is seen, and the equation is scrolled to.
  if (std::ranges::any_of(out, [](const WhyStep& step) { return step.kind == WhyStep::Kind::cosines; }) && !score.empty())
    out.push_back({.title = "What its score is made of", .lines = std::move(score)});
  else
    std::ranges::move(score, std::back_inserter(out.front().lines));
  return out;
}

}  // namespace kvscope::viz
