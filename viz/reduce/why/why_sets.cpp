// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/why/why_sets.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

bool joined(const Event& event) { return event.kind == Event::Kind::merge && !event.by_hand && std::isnan(event.cos); }

const HeadRecord& head_at(const HeadPick& pick, int step) {
  return pick.run->steps[static_cast<std::size_t>(step)]->heads[static_cast<std::size_t>(pick.head)];
}

/// For which the slot stands since this step.
KeySet set_joined_to(const HeadRecord& head, int into) {
  KeySet out;
  if (!std::isfinite(head.merge_theta)) return out;
  for (const Event& event : head.events) {
    if (!joined(event) || event.into != into) continue;
    if (out.n == 0) out = {.into = into, .n = 1, .first = into, .last = into, .threshold = head.merge_theta};
    ++out.n;
    out.first = std::min(out.first, event.pos);
    out.last = std::max(out.last, event.pos);
  }
  if (out.n > 0) out.score = rank_of(head, into).score;
  return out;
}

}  // namespace

KeySet key_set_of(const HeadPick& pick, const Why& why) {
  if (why.step < 0 || !joined(why.event)) return {};
  return set_joined_to(head_at(pick, why.step), why.event.into);
}

WhyStep key_set_step(std::span<const TokenInfo> tokens, const KeySet& set) {
  WhyStep step;
  step.title = fmt::format("It is one of {} neighbours joined by their keys, from {} to {}: they become {}", format_count(set.n), set.first,
                           set.last, slot_name(tokens, set.into));
  step.lines.push_back(
      fmt::format("each key's cosine to that of slot {}, the last of them, is above {}", set.last, format_number(set.threshold)));
  step.lines.push_back(fmt::format("{} got most attention of them and stands for all{}", slot_name(tokens, set.into),
                                   std::isfinite(set.score) ? fmt::format(": score {}", format_number(set.score)) : std::string()));
  return step;
}

std::optional<KeptOfSets> kept_of_sets(const HeadPick& pick, int step, int pos) {
  const HeadRecord& head = head_at(pick, step);
  if (!std::isfinite(head.merge_theta) || std::ranges::none_of(head.events, joined)) return std::nullopt;
  KeptOfSets out{.set = set_joined_to(head, pos), .threshold = head.merge_theta};
  if (out.set.n > 0) return out;
  const double own = rank_of(head, pos).score;
  out.by_rank = std::isfinite(own);
  for (const Event& event : head.events)
    if (joined(event) && (event.score > own || rank_of(head, event.into).score > own)) out.by_rank = false;
  return out;
}

std::string key_set_text(const KeySet& set) {
  return fmt::format("of a set of {} neighbours, cosine of keys > {}", format_count(set.n), format_number(set.threshold));
}

}  // namespace kvscope::viz
