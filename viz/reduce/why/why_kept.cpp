// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/why/why_kept.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "snapshot/figures.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/why/why_sets.h"

namespace kvscope::viz {

namespace {

/// Something was chosen in this step: slots have a rank, or went by the policy's own choice.
bool selected(const HeadRecord& head) {
  return std::isfinite(head.cutoff) ||
         std::ranges::any_of(head.events, [](const Event& e) { return e.kind != Event::Kind::restore && !e.by_hand; });
}

/// And nothing makes others of the maxima afterwards, such as the mean of a page.
bool takes_maximum(const LaneSnapshot& run) {
  return run.score_equation.find("neighbours'") != std::string::npos && run.score_equation.find("; ") == std::string::npos;
}

TokenRange plateau(const std::map<int, double>& scores, int pos) {
  TokenRange out{pos, pos};
  const auto own = scores.find(pos);
  if (own == scores.end()) return out;
  const auto alike = [&](int at) {
    const auto it = scores.find(at);
    return it != scores.end() && it->second == own->second;
  };
  while (alike(out.first - 1)) --out.first;
  while (alike(out.last + 1)) ++out.last;
  return out;
}

/// The same head of another run, at the step of the same query.
HeadPick counterpart(const Snapshot& snapshot, const HeadPick& pick, int lane) {
  HeadPick out;
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  const auto it = std::ranges::find_if(run.steps, [&](const StepPtr& s) { return s && s->position == pick.record->position; });
  if (it == run.steps.end() || pick.head >= static_cast<int>((*it)->heads.size())) return out;
  out.lane = lane;
  out.step = static_cast<int>(it - run.steps.begin());
  out.head = pick.head;
  out.run = &run;
  out.record = it->get();
  out.values = &out.record->heads[static_cast<std::size_t>(pick.head)];
  return out;
}

std::string place_text(const HeadPick& pick, const WhyKept& kept, int pos) {
  if (const auto of = kept_of_sets(pick, kept.step, pos)) {
    if (of->set.n > 0) return "the most attended " + key_set_text(of->set);
    const std::string rank = fmt::format("rank {} of {}", format_count(kept.rank), format_count(kept.n_ranked));
    return of->by_rank ? rank : fmt::format("no neighbour's key is alike, cosine > {}; {}", format_number(of->threshold), rank);
  }
  return fmt::format("{}, cut-off {}", rank_of_places(kept.rank, kept.n_ranked, kept.places, kept.against_rank, kept.full()),
                     format_number(kept.cutoff));
}

WhyStep selection_step(const LaneSnapshot& run, const WhyKept& kept) {
  WhyStep step;
  step.title = fmt::format("Chosen in step {}: {} slots, {}", kept.step, format_count(kept.slots_before),
                           kept.budget >= 0 ? format_count(kept.budget) + " allowed" : std::string("no budget"));
  if (kept.slots_after < kept.slots_before)
    step.lines.push_back(
        fmt::format("{} stayed, {} went", format_count(kept.slots_after), format_count(kept.slots_before - kept.slots_after)));
  if (const std::string share = share_text(run, kept.budget); !share.empty()) step.lines.push_back(share);
  return step;
}

WhyStep rank_step(const Snapshot& snapshot, const HeadPick& pick, const WhyKept& kept, int pos) {
  WhyStep step;
  if (!std::isfinite(kept.score)) {
    step.title = kept.figures    ? fmt::format("It stays: of step {} only figures are kept, its rank is not among them", kept.step)
                 : kept.collects ? "It is not ranked: it is " + one_that_collects(kept)
                 : !kept.protection.empty() ? fmt::format("It was protected ({}) and not ranked", kept.protection)
                 : kept.no_score != NoScore::unknown
                     ? fmt::format("It stays: {}, and there was room", text_of(kept.no_score))
                     : std::string("It stays without a score: the policy chose without one, or its file does not say it");
    return step;
  }
  step.title = kept.sent
                   ? fmt::format("It lost its place, {}, and is {} from then on", place_text(pick, kept, pos), one_that_collects(kept))
                   : fmt::format("It stays: {}", place_text(pick, kept, pos));
  if (kept.sent) return step;
  const auto [own, gone] = told_apart(kept.score, kept.gone_score);
  std::string line = fmt::format("its score: {}", own);
  if (kept_of_sets(pick, kept.step, pos)) {
    step.lines.push_back(std::move(line));  // who went did not go by rank
    return step;
  }
  if (kept.gone >= 0) line += fmt::format("  ·  highest that went, {}: {}", slot_name(tokens_of(snapshot, pick.lane), kept.gone), gone);
  step.lines.push_back(std::move(line));
  if (kept.gone >= 0 && kept.gone_score == kept.score && kept.lower_of_equals) step.lines.emplace_back(kEqualScores);
  if (kept.alike.last > kept.alike.first)
    step.lines.push_back(fmt::format("tokens {} to {} have this very score{}", kept.alike.first, kept.alike.last,
                                     takes_maximum(*pick.run) ? ": a maximum over neighbours" : ""));
  return step;
}

}  // namespace

std::string one_that_collects(const WhyKept& kept) {
  return kept.n_collect == 1 ? "the slot that collects what goes"
                             : fmt::format("one of the {} slots that collect what goes", format_count(kept.n_collect));
}

std::string share_text(const LaneSnapshot& run, int budget) {
  if (run.slots_asked < 0 || budget < 0 || budget == run.slots_asked) return {};
  return fmt::format("this head's share as it came out: {} {} than the {} asked for each", format_count(std::abs(budget - run.slots_asked)),
                     budget > run.slots_asked ? "more" : "fewer", format_count(run.slots_asked));
}

std::vector<std::string> score_lines(const LaneSnapshot& run, int step, int head, int pos) {
  std::vector<std::string> out;
  if (run.score_equation.empty() || step < 0) return out;
  std::string_view rest = run.score_equation;
  for (std::string begin = "score = "; !rest.empty(); begin.clear()) {  // a line each: the equation, then what its terms are
    const std::size_t end = std::min({rest.find(": "), rest.find("; "), rest.size()});
    out.push_back(begin + std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  const ScoreParts& parts = run.steps[static_cast<std::size_t>(step)]->heads[static_cast<std::size_t>(head)].parts;
  const auto place = std::ranges::lower_bound(parts.pos, pos);
  std::string line;
  for (const ScoreParts::Part& part : parts.parts) {
    if (place == parts.pos.end() || *place != pos) break;
    const double value = part.values[static_cast<std::size_t>(place - parts.pos.begin())];
    if (std::isfinite(value)) line += fmt::format("{}{} = {}", line.empty() ? "" : "  ·  ", part.name, format_number(value));
  }
  const auto& probed = run.steps[static_cast<std::size_t>(step)]->probed;  // of a probe what it paid, before any norm
  if (const auto at = static_cast<std::size_t>(head); line.empty() && at < probed.size() && pos < static_cast<int>(probed[at].size()))
    line = fmt::format("most attention = {}", format_number(probed[at][static_cast<std::size_t>(pos)]));
  if (!line.empty()) out.push_back(fmt::format("token {}:  {}", pos, line));
  // What was gathered for a slot goes with it: the equation holds from its return on.
  if (const int back = restored_before(run, step, head, pos); back >= 0 && !run.statistic.empty())
    out.push_back(fmt::format("restored by hand in step {}: attention that it got before is not in its score", back));
  return out;
}

WhyKept why_kept(const HeadPick& pick, int pos) {
  WhyKept out;
  const HeadRecord* head = nullptr;
  for (int s = pick.step; s >= 0 && head == nullptr; --s) {
    const StepRecord& record = *pick.run->steps[static_cast<std::size_t>(s)];
    if (pick.head >= static_cast<int>(record.heads.size()) || !selected(record.heads[static_cast<std::size_t>(pick.head)])) continue;
    head = &record.heads[static_cast<std::size_t>(pick.head)];
    out.step = s;
    out.newer = pos > record.position;
  }
  if (head == nullptr) return out;
  std::vector<int> slots = head->pos;
  for (const Event& event : head->events)
    if (event.kind != Event::Kind::restore) slots.push_back(event.pos);
  std::ranges::sort(slots);
  out.slots_before = static_cast<int>(slots.size());
  out.slots_after = head->n_slots;
  out.budget = budget_set(*pick.run, *head);
  out.cutoff = head->cutoff;
  out.figures = only_figures(*head);
  if (out.figures) out.slots_before += head->n_slots;
  if (out.newer || out.figures) return out;
  out.protection = protection_of(*pick.run, *head, slots, pos);
  out.collects = collects(*head, pos);
  out.sent = std::ranges::binary_search(head->to_residual, pos);
  out.n_collect = static_cast<int>(head->residual.size());
  out.no_score = no_score_of(*head, pos);
  const Rank own = rank_of(*head, pos);
  out.n_ranked = out.places = own.n;
  const auto went = [&](int at, double score) {
    --out.places;
    if (out.gone >= 0 && score <= out.gone_score) return;
    out.gone = at;
    out.gone_score = score;
  };
  for (const Event& event : head->events)
    if (event.kind != Event::Kind::restore && std::isfinite(event.score)) went(event.pos, event.score);
  for_ranked(*head, [&](int at, double score) {
    if (std::ranges::binary_search(head->to_residual, at)) went(at, score);
  });
  if (own.rank < 0) return out;
  out.score = own.score;
  out.rank = own.rank;
  out.against_rank = against_rank(*head, pos);
  out.lower_of_equals = lower_of_equals_stayed(*head, own.score);
  std::map<int, double> scores;
  for_ranked(*head, [&](int at, double score) { scores[at] = score; });
  out.alike = plateau(scores, pos);
  return out;
}

std::string verdict_text(const HeadPick& pick, int token) {
  const SlotFacts slot = slot_facts(pick, token);
  if (slot.token < 0) return std::string(kNotAvailableText);
  if (slot.pos != token) {
    const Why why = why_of(pick, token);
    if (why.step < 0 || why.event.pos != token) return "gone";
    const std::string how =
        why.event.kind == Event::Kind::merge ? fmt::format("merged into slot {}", why.event.into) : std::string("evicted");
    if (why.event.by_hand) return fmt::format("{} by hand in step {}", how, why.step);
    if (const KeySet set = key_set_of(pick, why); set.n > 0) return fmt::format("{} in step {}, {}", how, why.step, key_set_text(set));
    if (why.rank < 0) return fmt::format("{} in step {}, {}", how, why.step, text_of(why.no_score, "without a score"));
    return fmt::format("{} in step {}: {}, cut-off {}", how, why.step,
                       rank_of_places(why.rank, why.n_ranked, why.places, why.against_rank, why.full), format_number(why.next_score));
  }
  if (pick.lane == 0 && pick.values->budget < 0) return "stays: no budget";
  const WhyKept kept = why_kept(pick, slot.pos);
  if (kept.step < 0) return "stays: nothing had to go";
  if (kept.newer) return fmt::format("stays: newer than the last selection, in step {}", kept.step);
  if (kept.collects) return "stays: " + one_that_collects(kept);
  if (std::isfinite(kept.score))
    return kept.sent ? fmt::format("stays: {}, {}", place_text(pick, kept, slot.pos), one_that_collects(kept))
                     : "stays: " + place_text(pick, kept, slot.pos);
  return kept.protection.empty() ? std::string("stays") : fmt::format("stays: protected ({})", kept.protection);
}

WhyStep other_runs_step(const Snapshot& snapshot, const HeadPick& pick, int token) {
  WhyStep out;
  out.title = fmt::format("{} in the other runs", slot_name(tokens_of(snapshot, pick.lane), token));
  for (int lane = 1; lane < static_cast<int>(snapshot.lanes.size()); ++lane) {
    if (lane == pick.lane) continue;
    const HeadPick other = counterpart(snapshot, pick, lane);
    if (other.values == nullptr) continue;
    const bool same = token < n_alike_tokens(snapshot, *pick.run, *other.run);
    const std::string there =
        same ? verdict_text(other, token) : "reads " + quoted(token_text(tokens_of(snapshot, lane), token)) + " there";
    out.lines.push_back(fmt::format("{} {} {}", lane_letter(lane), other.run->title, there));
  }
  return out;
}

std::vector<WhyStep> why_kept_steps(const Snapshot& snapshot, const HeadPick& pick, int pos) {
  std::vector<WhyStep> out;
  const WhyKept kept = why_kept(pick, pos);
  if (kept.step < 0) return out;
  out.push_back(selection_step(*pick.run, kept));
  if (kept.newer) {
    WhyStep step;
    step.title = fmt::format("It came in after that: new slots stay until the next selection");
    out.push_back(std::move(step));
  } else {
    out.push_back(rank_step(snapshot, pick, kept, pos));
    if (std::isfinite(kept.score))
      for (std::string& line : score_lines(*pick.run, kept.step, pick.head, pos)) out.back().lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace kvscope::viz
