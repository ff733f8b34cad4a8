// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/why/why_kept.h"
#include "viz/reduce/why/why_sets.h"

namespace kvscope::viz {

namespace {

std::string place_of_score(int rank, int n_ranked, int places, bool against, bool full) {
  return fmt::format("by its score it was number {} of {}, and {} {}{}", format_count(rank), format_count(n_ranked), format_count(places),
                     full ? "had a place" : "stayed", against ? "; but that score alone did not decide" : "");
}

std::string stands_for(const KeySet& set) {
  return fmt::format("it got most attention of {} neighbours that were joined by their keys, and stands for all", format_count(set.n));
}

std::string gone_because(const Snapshot& snapshot, const HeadPick& pick, const Why& why) {
  if (why.event.by_hand) return "that was done by hand";
  if (const KeySet set = key_set_of(pick, why); set.n > 0)
    return fmt::format("it is one of {} neighbours that were joined by their keys, and {} got most attention of them", format_count(set.n),
                       quoted(token_text(tokens_of(snapshot, pick.lane), set.into)));
  if (why.rank >= 0) return place_of_score(why.rank, why.n_ranked, why.places, why.against_rank, why.full);
  if (why.no_score == NoScore::observed)
    return fmt::format("it is one of the newest, whose queries rank the others, and only {} of them had room",
                       format_count(why.protected_recent));
  if (why.no_score != NoScore::unknown) return text_of(why.no_score);
  if (why.protected_sinks > 0)
    return fmt::format("it was none of the first {} and none of the newest {}", format_count(why.protected_sinks),
                       format_count(why.protected_recent));
  if (why.protected_recent > 0) return fmt::format("it was none of the newest {}", format_count(why.protected_recent));
  return "the policy chose without a score";
}

std::string kept_because(const HeadPick& pick, int token) {
  if (pick.lane == 0 && pick.values->budget < 0) return "the full cache keeps every token";
  if (const int back = restored_before(*pick.run, pick.step + 1, pick.head, token); back >= 0)  // whatever keeps it since
    return fmt::format("it was put back by hand after step {}: without that it would still be gone", back);
  const WhyKept kept = why_kept(pick, token);
  if (kept.step < 0) return "nothing had to go yet";
  if (kept.newer) return fmt::format("it came after the last selection, that of step {}", kept.step);
  if (kept.collects) return fmt::format("it is not ranked: it is {}", one_that_collects(kept));
  if (!kept.protection.empty()) return fmt::format("the policy may not remove it ({})", kept.protection);
  if (!std::isfinite(kept.score)) return text_of(kept.no_score, "the policy chose without a score");
  if (const auto of = kept_of_sets(pick, kept.step, token)) {
    if (of->set.n > 0) return stands_for(of->set);
    if (!of->by_rank) return "no neighbour's key was alike enough to join it";
    return fmt::format("by its score it was number {} of {}", format_count(kept.rank), format_count(kept.n_ranked));
  }
  if (kept.sent)
    return fmt::format("{}, so it lost its place in step {} and became {}",
                       place_of_score(kept.rank, kept.n_ranked, kept.places, kept.against_rank, kept.full()), kept.step,
                       one_that_collects(kept));
  return fmt::format("in step {} {}", kept.step, place_of_score(kept.rank, kept.n_ranked, kept.places, kept.against_rank, kept.full()));
}

}  // namespace

Reason why_sentence(const Snapshot& snapshot, const HeadPick& pick, int token, const std::string& run) {
  const SlotFacts slot = slot_facts(pick, token);
  if (slot.token < 0) return {};
  const std::string who = quoted(token_text(tokens_of(snapshot, pick.lane), token));
  const std::string where = fmt::format("layer {}, head {}", pick.values->layer, pick.values->kv_head);
  const std::string gone = fmt::format("Why is {} gone{}?", who, run.empty() ? run : " from " + run);
  if (slot.pos == token)
    return {fmt::format("Why is {} still there{}?", who, run.empty() ? run : " in " + run),
            fmt::format("In {} {}.", where, kept_because(pick, token))};
  const Why why = why_of(pick, token);
  if (why.step < 0 || why.event.pos != token) return {gone, "What happened to it is not known."};
  const std::string how = why.event.kind == Event::Kind::merge
                              ? fmt::format("It was merged into {} in step {} of {}",
                                            quoted(token_text(tokens_of(snapshot, pick.lane), why.event.into)), why.step, where)
                              : fmt::format("It left {} in step {}", where, why.step);
  return {gone, fmt::format("{}: {}.", how, gone_because(snapshot, pick, why))};
}

}  // namespace kvscope::viz
