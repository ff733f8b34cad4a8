// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/finding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "snapshot/figures.h"
#include "viz/canvas.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope::viz {

namespace {

constexpr double kMuch = 0.1;  // share of a head's attention that is worth a word

bool differs(const StepRecord& step) { return !step.top1_same && step.top1 >= 0 && step.top1_reference >= 0; }
bool changed(const Snapshot& snapshot, const StepRecord& step) { return step.position >= snapshot.n_prompt - 1 && differs(step); }

int head_of(const Snapshot& snapshot, const Loss& loss) { return loss.layer * snapshot.model.n_kv_heads + loss.kv_head; }

std::string short_name(const Snapshot& snapshot, int head) {
  return fmt::format("L{} H{}", head / snapshot.model.n_kv_heads, head % snapshot.model.n_kv_heads);
}

double attention_of(const StepRecord& record, int head, int token) {
  const auto& attention = record.heads[static_cast<std::size_t>(head)].reference_attention;
  return static_cast<std::size_t>(token) < attention.size() ? static_cast<double>(attention[static_cast<std::size_t>(token)]) : 0.0;
}

/// The heads by what the step's query found of a token there, those first to which it means most.
struct Holders {
  std::vector<int> own, merged;  // to which it means much
  std::vector<int> none;         // all that are without it
  bool leaves = false;           // all that have it evict or merge it after that query
};

Holders holders_of(const LaneSnapshot& lane, int step, int token) {
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const auto of = [&](int h) { return attention_of(record, h, token); };
  Holders out;
  for (int h = 0; h < static_cast<int>(record.heads.size()); ++h) {
    const int slot = slot_seen(lane, step, h, token);
    if (slot >= 0 && of(h) < kMuch) continue;
    (slot < 0 ? out.none : slot == token ? out.own : out.merged).push_back(h);
  }
  for (std::vector<int>* heads : {&out.own, &out.merged, &out.none}) std::ranges::stable_sort(*heads, std::greater<>{}, of);
  out.leaves = std::ranges::none_of(out.own, [&](int h) { return slot_of(*lane.fates, record, h, token) == token; });
  return out;
}

/// "L4 H1", "L4 H1 and L4 H3", "L4 H1 and 2 more".
std::string names_of(const Snapshot& snapshot, const std::vector<int>& heads) {
  const std::string first = short_name(snapshot, heads.front());
  if (heads.size() == 1) return first;
  return heads.size() == 2 ? first + " and " + short_name(snapshot, heads[1]) : fmt::format("{} and {} more", first, heads.size() - 1);
}

/// "L4 H1", "L4 H1 or L4 H3", "L4 H1, L4 H3 or L5 H2", "L4 H1 or any of 7 others".
std::string any_of_names(const std::vector<std::string>& names) {
  switch (names.size()) {
    case 1:
      return names[0];
    case 2:
      return fmt::format("{} or {}", names[0], names[1]);
    case 3:
      return fmt::format("{}, {} or {}", names[0], names[1], names[2]);
    default:
      return fmt::format("{} or any of {} others", names[0], names.size() - 1);
  }
}

/// What a run is fed of its own text may be drawn: its choice is another token then.
const char* says_words(const Snapshot& snapshot, const StepRecord& record) {
  const bool drawn = snapshot.follow == "self" && record.next_token >= 0 && record.next_token != record.top1;
  return drawn ? "would most likely say" : "says";
}

std::string step_right_with(const std::string& heads) { return fmt::format("With {} in full this step is right.", heads); }

}  // namespace

double unsure_of(const StepRecord& record) {
  constexpr double kLikely = 0.1, kAhead = 1.2;
  double first = kNotAvailable, second = 0;
  for (const TopToken& token : record.top_tokens) {
    if (token.id == record.top1_reference)
      first = token.p_reference;
    else
      second = std::max(second, token.p_reference);
  }
  return first < kLikely || first < kAhead * second ? first : kNotAvailable;
}

std::string other_text_words(const Snapshot& snapshot, const LaneSnapshot& lane) {
  const int n = steps_of_one_text(snapshot, lane);
  if (n >= static_cast<int>(lane.steps.size())) return {};
  return fmt::format("It reads another text than the full cache since step {}: nothing is compared.", n);
}

int next_changed_step(const Snapshot& snapshot, const LaneSnapshot& lane, int after) {
  const int n = steps_of_one_text(snapshot, lane);
  for (int s = std::max(0, after + 1); s < n; ++s)
    if (changed(snapshot, *lane.steps[static_cast<std::size_t>(s)])) return s;
  return -1;
}

/// The nearest step on one side of `step`, round at the ends and `step` itself last, of which `is_one` holds; -1: of none.
static int step_from(const Snapshot& snapshot, const LaneSnapshot& lane, int step, bool forward, const std::function<bool(int)>& is_one) {
  const int n = steps_of_one_text(snapshot, lane);
  const int from = forward ? std::clamp(step, -1, n - 1) : std::clamp(step, 0, n);
  for (int i = 1; i <= n; ++i)
    if (const int s = (from + (forward ? i : n - i)) % n; is_one(s)) return s;
  return -1;
}

int changed_step_from(const Snapshot& snapshot, const LaneSnapshot& lane, int step, bool forward) {
  return step_from(snapshot, lane, step, forward, [&](int s) { return changed(snapshot, *lane.steps[static_cast<std::size_t>(s)]); });
}

int differing_step_from(const Snapshot& snapshot, const LaneSnapshot& lane, int step, bool forward) {
  const int first = first_counted_step(snapshot, lane);
  return step_from(snapshot, lane, step, forward, [&](int s) { return s >= first && differs(*lane.steps[static_cast<std::size_t>(s)]); });
}

Finding finding_of(const Snapshot& snapshot, const LaneSnapshot& lane, int step, const CauseWords& causes) {
  Finding out;
  if (step < 0 || step >= static_cast<int>(lane.steps.size())) return out;
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  if (!changed(snapshot, record) || !compares(snapshot, lane, step)) return out;
  out.step = step;
  out.reference = text_of_id(snapshot, record.top1_reference);
  out.says = text_of_id(snapshot, record.top1);
  out.kl = record.kl;
  out.unsure = unsure_of(record);
  std::vector<int> meant = causes.heads;
  if (meant.empty() && causes.most >= 0) meant = {causes.most};
  // A head may be enough because it tips a tie: whose gain is the largest explains more than whose loss is.
  for (const int head : meant)
    if (out.loss.step < 0) out.loss = largest_change_at(snapshot, lane, step, std::span(&head, 1));
  if (out.loss.step < 0) out.loss = largest_change_at(snapshot, lane, step);
  if (out.loss.step < 0 || lane.fates == nullptr) return out;
  for (const int h : causes.heads) {
    const int slot = slot_seen(lane, step, h, out.loss.token);
    out.n_alike += out.loss.slot < 0 ? slot < 0 : slot >= 0 && slot != out.loss.token;
  }
  return out;
}

bool AskedStep::again(const LaneSnapshot& lane, int step) {
  const StepPtr record = step >= 0 && step < static_cast<int>(lane.steps.size()) ? lane.steps[static_cast<std::size_t>(step)] : StepPtr{};
  if (record && record_.lock() == record && fates_.lock() == lane.fates) return true;
  record_ = record;
  fates_ = lane.fates;
  return false;
}

const Finding& FindingOnce::of(const Snapshot& snapshot, const LaneSnapshot& lane, int step, const CauseWords& causes) {
  if (asked_.again(lane, step) && heads_ == causes.heads && most_ == causes.most) return finding_;
  heads_ = causes.heads;
  most_ = causes.most;
  finding_ = finding_of(snapshot, lane, step, causes);
  return finding_;
}

Agreement agreement_at(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  if (step < 0 || step >= static_cast<int>(lane.steps.size())) return {};
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  if (record.position < snapshot.n_prompt - 1 || !record.top1_same || record.top1 < 0 || !compares(snapshot, lane, step)) return {};
  const StepRange word = word_around(snapshot, step);
  bool whole = word.first < word.last && word.last < static_cast<int>(lane.steps.size());
  for (int s = word.first; whole && s <= word.last; ++s) whole = lane.steps[static_cast<std::size_t>(s)]->top1_same;
  const std::string all = whole ? fmt::format(", and so all of {},", quoted(words_of_steps(snapshot, word))) : ",";
  const std::string same = fmt::format("{} {} {}{} as the full cache does: KL {} nats.", lane.title, says_words(snapshot, record),
                                       quoted(text_of_id(snapshot, record.top1)), all, format_number(record.kl));
  const Loss loss = largest_loss_at(snapshot, lane, step);
  if (loss.step < 0 || loss.attention < kMuch || lane.fates == nullptr) return {same, {}};
  const Holders heads = holders_of(lane, step, loss.token);
  std::string misses =
      fmt::format("{} evicted token {} {}",
                  heads.none.size() == record.heads.size() && record.heads.size() > 1 ? fmt::format("All {} heads", record.heads.size())
                                                                                      : names_of(snapshot, heads.none),
                  loss.token, quoted(token_text(tokens_of(snapshot, lane), loss.token)));
  // Others may have it, too, and pay it nothing: they do not explain the answer.
  const bool one = heads.own.size() == 1;
  if (!heads.own.empty())
    misses += fmt::format("; {}, which {}{}", names_of(snapshot, heads.own), one ? "attends to it, has it" : "attend to it, have it",
                          heads.leaves ? " in this step, not after it" : "");
  if (!heads.merged.empty())
    misses += fmt::format("{} {} {} it merged", heads.own.empty() ? ";" : ", and", names_of(snapshot, heads.merged),
                          heads.merged.size() == 1 ? "has" : "have");
  if (heads.own.empty() && heads.merged.empty())
    misses += fmt::format(", {} of {} attention",
                          format_percent(attention_of(*lane.steps[static_cast<std::size_t>(step)], heads.none[0], loss.token)),
                          heads.none.size() == 1 ? "its" : short_name(snapshot, heads.none[0]) + "'s");
  return {same, misses + "."};
}

const Agreement& AgreementOnce::of(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  if (!asked_.again(lane, step)) agreement_ = agreement_at(snapshot, lane, step);
  return agreement_;
}

std::string measuring_words(const HeadCauses& causes) {
  const double seconds = causes.ms_left / 1000;
  const std::string time = seconds < 0      ? std::string()
                           : seconds < 99.5 ? fmt::format(", about {:.0f} s", std::max(1.0, seconds))
                                            : fmt::format(", about {:.0f} min", seconds / 60);
  if (causes.n_unasked > 0) return count_of(causes.n_unasked, "head", "heads") + time;
  if (!causes.running) return {};
  return fmt::format("{} of {} heads{}{}", causes.n_measured, causes.n_heads, time, time.empty() ? "" : " left");
}

static std::vector<std::string> short_names(const Snapshot& snapshot, const std::vector<int>& heads) {
  std::vector<std::string> names;
  for (const int h : heads) names.push_back(short_name(snapshot, h));
  return names;
}

/// In few words: "L4 H1", "L4 H1 or L4 H3", "L4 H1 or 2 others".
static std::string any_in_few_words(const std::vector<std::string>& names) {
  return names.size() < 3 ? any_of_names(names) : fmt::format("{} or {} others", names[0], names.size() - 1);
}

/// Which of the heads that bring this step's token back repair its whole word or number, too, or, where it has no other token, all steps.
static std::string all_steps(const Snapshot& snapshot, const HeadCauses& causes, const std::vector<int>& heads) {
  if (heads.empty() || causes.right(heads.front()) < 0) return {};
  const bool word = causes.word_right.size() == causes.kl.size();
  std::vector<int> all = heads;
  std::erase_if(all, [&](int h) { return word ? causes.word_right[static_cast<std::size_t>(h)] == 0 : causes.right(h) < causes.n_steps; });
  return fmt::format("{}{}", word ? causes.word : fmt::format("all {} steps", causes.n_steps),
                     all.size() == heads.size() ? ", too"
                     : all.empty()              ? ": none"
                                                : ": " + any_in_few_words(short_names(snapshot, all)));
}

std::string gain_words(const HeadCauses& causes, int head) {
  const std::string steps = causes.right(head) < 0 ? "" : fmt::format(", {} of {} steps right", causes.right(head), causes.n_steps);
  return fmt::format("KL {} → {} nats{}", format_number(causes.kl_without), format_number(causes.kl[static_cast<std::size_t>(head)]),
                     steps);
}

CauseWords cause_words(const Snapshot& snapshot, const HeadCauses& causes) {
  if (causes.none_in_full())
    return {.brief = "no head in full",
            .whole =
                "This policy keeps no head in full, whatever its budget: it removes by itself, stores otherwise or reads fewer. What a "
                "single head spoils is not known."};
  if (!causes.whole()) return {};
  std::vector<int> heads(causes.kl.size());
  std::iota(heads.begin(), heads.end(), 0);
  std::ranges::stable_sort(heads, std::greater<>{}, [&](int h) { return causes.saved(h); });
  const auto name = [&](int h) { return short_name(snapshot, h); };
  const int best = heads.front(), gains = causes.saved(best) > 0 ? best : -1;
  const std::string most = fmt::format("{} gains most: {}.", name(best), gain_words(causes, best));
  std::erase_if(heads, [&](int h) { return !causes.answer_returns(h); });
  CauseWords out;
  out.most = gains;
  if (heads.empty()) {
    out.brief = "no head alone";
    out.sentence = "With no single head in full this step is right" + (gains < 0 ? "." : fmt::format(", {} gains most.", name(gains)));
    out.whole = "With any one head in full and the others as they are, this step's token stays wrong.";
    if (gains >= 0) out.whole += " " + most;
    return out;
  }
  std::string lines;
  for (std::size_t i = 0; i < std::min(heads.size(), kNamedHeads); ++i)
    lines += fmt::format("\n{}: {}", name(heads[i]), gain_words(causes, heads[i]));
  if (heads.size() > kNamedHeads) lines += fmt::format("\nand {} more", heads.size() - kNamedHeads);
  if (std::ranges::find(heads, gains) == heads.end() && gains >= 0) lines += "\n" + most;
  const int others = causes.n_heads - static_cast<int>(heads.size());
  out.all = all_steps(snapshot, causes, heads);
  out.heads = heads;
  const bool one = heads.size() == 1;
  const std::vector<std::string> names = short_names(snapshot, heads);
  out.brief = one ? names[0] + " alone" : any_in_few_words(names);
  out.sentence = step_right_with(one ? out.brief : any_of_names(names));
  out.whole = fmt::format("{} this step's token the full cache's again, if only it keeps its full cache; {} of {} heads do not:{}",
                          one ? "This head makes" : "Each of these makes", others, causes.n_heads, lines);
  return out;
}

/// "; L4 H1 merged it": the head lost the token, too, but not as the one that is named did. Empty: it has it.
static std::string other_way(const Snapshot& snapshot, const LaneSnapshot& lane, const Finding& finding, int head) {
  const int slot = lane.fates == nullptr ? finding.loss.token : slot_seen(lane, finding.step, head, finding.loss.token);
  if (slot == finding.loss.token) return {};
  return fmt::format("; {} {} it", short_name(snapshot, head), slot < 0 ? "evicted" : "merged");
}

/// ", local error 94.7 %": a change is the largest by its attention and by how far the head's output moved.
static std::string moved_words(const LaneSnapshot& lane, const Finding& finding, int head) {
  const double moved = lane.steps[static_cast<std::size_t>(finding.step)]->heads[static_cast<std::size_t>(head)].local_rel_l2;
  return std::isnan(moved) ? std::string() : fmt::format(", local error {}", format_percent(moved));
}

std::string finding_sentence(const Snapshot& snapshot, const LaneSnapshot& lane, const Finding& finding, const CauseWords& causes,
                             int looked_at) {
  if (finding.step < 0) return {};
  const char* const says = says_words(snapshot, *lane.steps[static_cast<std::size_t>(finding.step)]);
  std::string what = fmt::format("{} {} {}, not {}", lane.title, says, quoted(finding.says), quoted(finding.reference));
  if (std::isfinite(finding.unsure)) what += fmt::format("; the full cache was unsure itself (p {})", format_probability(finding.unsure));
  const Loss& loss = finding.loss;
  const bool measured = !causes.sentence.empty();
  if (loss.step < 0)
    return measured ? fmt::format("{}. {}", what, causes.sentence) : fmt::format("{}: KL {} nats.", what, format_number(finding.kl));
  const auto n = static_cast<int>(causes.heads.size());
  const auto returns = [&](int h) { return std::ranges::find(causes.heads, h) != causes.heads.end(); };
  const bool all = n > 1 && finding.n_alike == n && returns(head_of(snapshot, loss));
  const int head = all && returns(looked_at) ? looked_at : head_of(snapshot, loss);
  const std::string name = short_name(snapshot, head);
  const bool brings_back = returns(head);
  const bool largest = !brings_back && (n > 0 || head != causes.most);
  const std::string who = largest
                              ? (loss.slot < 0 ? "Largest loss of attention: " : "Largest attention × local error (up to 100 %): ") + name
                          : all   ? n == 2 ? "Both" : "All of them"
                          : n > 1 ? name
                                  : "It";
  const std::string lost = fmt::format(
      "{} token {} {}{}, {} of {}{}.", loss.slot < 0 ? "evicted" : "merged", loss.token,
      quoted(token_text(tokens_of(snapshot, lane), loss.token)),
      loss.slot < 0 || all ? std::string() : fmt::format(" into slot {}", loss.slot),
      format_percent(all ? attention_of(*lane.steps[static_cast<std::size_t>(finding.step)], head, loss.token) : loss.attention),
      all                        ? name + "'s attention"
      : largest && loss.slot < 0 ? "its"
                                 : "its attention",
      largest && loss.slot >= 0       ? moved_words(lane, finding, head)
      : n == 2 && brings_back && !all ? other_way(snapshot, lane, finding, causes.heads[causes.heads[0] == head ? 1 : 0])
                                      : "");
  return fmt::format("{}{} {} {}", what, measured ? ". " + causes.sentence : ".", who, lost);
}

std::string longest_finding_sentence(const Snapshot& snapshot, const LaneSnapshot& lane, const Finding& finding) {
  const int head = head_of(snapshot, finding.loss);
  const std::string name = short_name(snapshot, head);
  std::string longest;
  for (const int n : {2, 3, 12})
    for (const int n_alike : {1, n}) {
      Finding of = finding;
      of.n_alike = n_alike;
      const auto count = static_cast<std::size_t>(n);
      CauseWords causes;
      causes.sentence = step_right_with(any_of_names(std::vector<std::string>(count, name)));
      causes.heads.assign(count, head);
      causes.most = head;
      if (std::string words = finding_sentence(snapshot, lane, of, causes); words.size() > longest.size()) longest = std::move(words);
    }
  return longest;
}

}  // namespace kvscope::viz
