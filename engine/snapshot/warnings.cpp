// SPDX-License-Identifier: Apache-2.0
#include "snapshot/warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "core/byte_size.h"

namespace kvscope {

namespace {

constexpr std::string_view kNames[] = {"nothing_removed", "only_newest_left", "frozen",        "not_finite",
                                       "nan_scores",      "fallback",         "budget_raised", "budget_missed",
                                       "figures_only",    "as_if_stored",     "edits_idle",    "window_decides"};

std::string counted(double n, std::string_view one, std::string_view many) { return fmt::format("{:.0f} {}", n, n == 1 ? one : many); }

std::string heads_of(const LaneWarning& w) { return fmt::format("{:.0f} of {} heads", w.count, w.n_heads); }

}  // namespace

const LaneWarning* warning_of(std::span<const LaneWarning> warnings, LaneWarning::Kind kind) {
  const auto found = std::ranges::find(warnings, kind, &LaneWarning::kind);
  return found == warnings.end() ? nullptr : &*found;
}

std::string name_of(LaneWarning::Kind kind) { return std::string(kNames[static_cast<std::size_t>(kind)]); }

bool parse_kind(const std::string& name, LaneWarning::Kind& kind) {
  const auto it = std::ranges::find(kNames, name);
  if (it == std::end(kNames)) return false;
  kind = static_cast<LaneWarning::Kind>(it - std::begin(kNames));
  return true;
}

std::string text_of(const LaneWarning& w) {
  using Kind = LaneWarning::Kind;
  switch (w.kind) {
    case Kind::nothing_removed:
      return fmt::format("nothing was removed: {}, {}", counted(w.got, "token", "tokens"), counted(w.asked, "slot", "slots"));
    case Kind::only_newest_left:
      return fmt::format("only the newest token is left in {}", heads_of(w));
    case Kind::frozen:
      return fmt::format("the kept set is frozen in {}: for {:.0f} steps every new token went again", heads_of(w), w.got);
    case Kind::not_finite:
      return counted(w.count, "score or merge weight is", "scores or merge weights are") + " not finite";
    case Kind::nan_scores:
      return counted(w.count, "score was", "scores were") + " not a number and ranked last";
    case Kind::fallback:
      return counted(w.count, "merge", "merges") + " fell back to another form";
    case Kind::budget_raised:
      return fmt::format("budget raised from {:.0f} to {:.0f} slots, to hold what is protected and what needs room beside it", w.asked,
                         w.got);
    case Kind::budget_missed:
      // One that compresses once, or every so many tokens, keeps what came since.
      if (w.count > 0 && std::abs(w.got - w.asked - w.count) < 0.05)
        return fmt::format("{:.0f} slots per head: the budget of {:.0f}, and {} after the last compression", w.got, w.asked,
                           counted(w.count, "token", "tokens"));
      return fmt::format("{:.1f} slots per head on average, for a budget of {:.0f}", w.got, w.asked);
    case Kind::figures_only:
      return fmt::format("steps 0-{:.0f} keep only figures: recorded results reached {}", w.count - 1, size_text(w.got));
    case Kind::as_if_stored:
      if (w.got > w.asked && w.asked > 0)
        return fmt::format("nothing is stored smaller: so stored this text takes {}, in full {}", size_text(w.got), size_text(w.asked));
      if (w.got == w.asked && w.asked > 0)
        return fmt::format("nothing is stored smaller: all of this text, {}, is among what stays in full", size_text(w.got));
      return fmt::format("computed as if stored: {}; this program holds the numbers that would be read back in full", size_text(w.got));
    case Kind::edits_idle:
      return fmt::format("{:.0f} of {} changed nothing up to step {:.0f}: the step or token has not come, or there was nothing to change",
                         w.count, counted(w.asked, "edit by hand", "edits by hand"), w.got);
    case Kind::window_decides:
      return fmt::format("what is set by hand for {:.0f} of {} does nothing: the model's own window decides there what stays", w.count,
                         counted(w.asked, "layer", "layers"));
  }
  return {};
}

void WarningWatch::add(const StepRecord& step) {
  heads_.resize(step.heads.size());
  for (std::size_t h = 0; h < step.heads.size(); ++h) {
    const HeadRecord& record = step.heads[h];
    Head& head = heads_[h];
    head.slots = record.n_slots;
    removals_ += static_cast<double>(record.events.size());
    if (!record.events.empty()) last_removal_ = step.position;
    ByHand by_hand{record.layer, record.kv_head, {}};
    for (const Event& e : record.events) {
      fallbacks_ += e.fallback;
      if (e.by_hand) by_hand.events.push_back({.kind = e.kind, .pos = e.pos, .into = e.into, .by_hand = true});
      bad_weights_ += e.kind == Event::Kind::merge && !(std::isfinite(e.w_removed) && std::isfinite(e.w_target));
    }
    if (!by_hand.events.empty()) by_hand_[step.step].push_back(std::move(by_hand));
    if (record.pos.empty()) continue;  // who stays is not known
    // Ranked removals that leave everything but the newest tokens as it was. Where position alone decides that is the plan, not a freeze.
    const auto n_old = static_cast<std::size_t>(std::max(0, head.slots - std::max(1, record.recent)));
    const std::span<const int> pos = std::span(record.pos).first(n_old),
                               votes = std::span(record.votes).first(std::min(n_old, record.votes.size()));
    const bool same = std::ranges::equal(pos, head.old_pos) && std::ranges::equal(votes, head.old_votes);
    const bool ranked = std::isfinite(record.cutoff);
    if (!record.events.empty()) head.frozen = same && ranked && n_old > 0 ? head.frozen + 1 : 0;
    if (!same) {
      head.old_pos.assign(pos.begin(), pos.end());
      head.old_votes.assign(votes.begin(), votes.end());
    }
  }
  step_ = step.step;
  position_ = step.position;
  ++n_steps_;
}

std::span<const WarningWatch::ByHand> WarningWatch::by_hand(int step) const {
  const auto found = by_hand_.find(step);
  return found == by_hand_.end() ? std::span<const ByHand>() : std::span<const ByHand>(found->second);
}

std::vector<LaneWarning> WarningWatch::warnings(const WarningFacts& facts) const {
  using Kind = LaneWarning::Kind;
  std::vector<LaneWarning> out;
  if (n_steps_ == 0 || heads_.empty()) return out;
  const int n_heads = static_cast<int>(heads_.size());
  const auto add = [&](Kind kind, double count, double asked = 0, double got = 0) {
    LaneWarning& w = out.emplace_back();
    w.kind = kind;
    w.count = count;
    w.asked = asked;
    w.got = got;
    w.n_heads = n_heads;
  };
  int alone = 0, frozen = 0, longest = 0;
  double slots = 0;
  for (const Head& head : heads_) {
    slots += head.slots;
    alone += head.slots == 1 && position_ > 0;
    frozen += head.frozen >= kFreeze;
    longest = std::max(longest, head.frozen);
  }
  slots /= static_cast<double>(heads_.size());
  const bool limited = facts.slots_asked >= 0, reached = position_ + 1 > facts.slots_asked;
  if (limited && facts.slots_requested >= 0 && facts.slots_requested < facts.slots_asked) {
    add(Kind::budget_raised, 0, facts.slots_requested, facts.slots_asked);
  }
  if (limited && removals_ == 0) {
    add(Kind::nothing_removed, 0, facts.slots_asked, position_ + 1);
  } else if (limited && reached && std::abs(slots - facts.slots_asked) >= 0.5) {
    add(Kind::budget_missed, position_ - last_removal_, facts.slots_asked, slots);
  }
  if (removals_ > 0 && alone > 0) add(Kind::only_newest_left, alone);
  if (frozen > 0) add(Kind::frozen, frozen, 0, longest);
  if (fallbacks_ > 0) add(Kind::fallback, fallbacks_);
  if (facts.nan_scores > 0) add(Kind::nan_scores, facts.nan_scores);
  if (const double n = bad_weights_ + facts.infinite_scores; n > 0) add(Kind::not_finite, n);
  if (!std::isnan(facts.bytes_as_if_stored)) add(Kind::as_if_stored, 0, facts.bytes_in_full, facts.bytes_as_if_stored);
  if (facts.edits_idle > 0) add(Kind::edits_idle, facts.edits_idle, facts.edits, step_);
  if (facts.layers_with_window > 0) add(Kind::window_decides, facts.layers_with_window, facts.layers_set);
  return out;
}

}  // namespace kvscope
