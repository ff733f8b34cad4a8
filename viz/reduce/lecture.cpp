// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/lecture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>

#include "core/cache_bytes.h"
#include "snapshot/figures.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/characters.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/generated.h"
#include "viz/reduce/slot.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {
namespace {

constexpr double kMissed = 0.01;  // attention that a loss must have had to be spoken of

Fact count(std::int64_t n) { return {format_count(n), static_cast<double>(n)}; }
Fact word(std::string text) { return {std::move(text), kNotAvailable}; }
Fact share(double v) { return std::isnan(v) ? Fact{std::string(kNotAvailableText), 0} : Fact{format_percent(v), v}; }

/// What captions may name beside the sizes of known models.
constexpr std::string_view kNames =
    "head slots sinks sinks_votes heavy recent merged evicted new sinks_attention heavy_attention recent_attention merged_attention "
    "evicted_attention new_attention most_evicted sinks_wanted heavy_wanted recent_wanted merged_wanted evicted_wanted new_wanted "
    "first_attention first_wanted first_gone framed framed_attention framed_wanted lost lost_token lost_most votes votes_token "
    "votes_attention votes_wanted "
    "votes_bias votes_log weighed member_token policy asked bytes full_bytes compared tokens prompt "
    "ratio budgeted limited budgets_differ layers_decide head_limited by_rank pooled spread removed saves kl apart mean_apart says "
    "reference_says held fewest_slots most_slots habit habit_words habit_plain habit_reader habit_share habit_besides readers changed choice "
    "choice_p reference_choice reference_p reference_p_here after parted differ runs closest worst best_kl worst_kl several tie all_say alike "
    "unlike heads heads_differ layers kv_heads model";

double or_zero(double v) { return std::isnan(v) ? 0 : v; }

/// With the position where other tokens of the first `n` have the same text: "«·at» #9".
std::string numbered(std::span<const TokenInfo> tokens, std::string words, int token, int n) {
  const std::string text = token_text(tokens, token);
  for (int t = 0; t < n; ++t)
    if (t != token && token_text(tokens, t) == text) return words + " #" + std::to_string(token);
  return words;
}

/// What the query pays to each token in the lane's cache; 0 where it is not in it.
std::vector<double> paid(const HeadRecord& head, int n_tokens) {
  std::vector<double> out(static_cast<std::size_t>(n_tokens), 0);
  for (std::size_t i = 0; i < head.attended.size() && i < head.attention.size(); ++i)
    if (head.attended[i] < n_tokens) out[static_cast<std::size_t>(head.attended[i])] = static_cast<double>(head.attention[i]);
  return out;
}

void habit_facts_of(Facts& f, const Snapshot& s, const HeadRecord& head) {
  const HabitCaption habit = habit_caption(s, head.layer, head.kv_head);
  f["habit"] = word(habit.name);
  f["habit_besides"] = word(habit.besides);
  f["habit_words"] = word(habit.name.empty() ? std::string() : habit.words);
  f["habit_plain"] = word(habit.plain);
  f["habit_reader"] = word(habit.reader);
  f["habit_share"] = word(habit.share);
  f["readers"] = count(s.model.n_kv_heads > 0 ? s.model.group() : 1);
}

/// What the query pays to each token with all of them in place; nothing: not captured.
std::vector<double> wanted(const HeadPick& pick, int n_tokens) {
  const HeadRecord& head = *pick.values;
  if (head.reference_attention.empty()) return pick.lane == 0 ? paid(head, n_tokens) : std::vector<double>();
  std::vector<double> out(static_cast<std::size_t>(n_tokens), 0);
  for (std::size_t t = 0; t < std::min(out.size(), head.reference_attention.size()); ++t)
    out[t] = static_cast<double>(head.reference_attention[t]);
  return out;
}

/// What the query pays to each token. A slot that speaks for others counts for them, too.
struct Shares {
  std::vector<double> here, all;  // in the lane's cache; with every token in place, empty: not captured
  std::vector<int> spoken_by;     // the slot that stands for it, as it has none of its own any more; -1: none does
};
Shares shares_by_slot(const HeadPick& pick, const HeadColumns& columns) {
  const int n = columns.size();
  Shares out{paid(*pick.values, n), wanted(pick, n), std::vector<int>(static_cast<std::size_t>(n), -1)};
  const std::vector<double> here = out.here, all = out.all;
  for (int token = 0; token < n; ++token) {
    const auto t = static_cast<std::size_t>(token);
    if (columns.category[t] != Category::merged) continue;
    const int slot = slot_of(*pick.run->fates, *pick.record, pick.head, token);
    if (slot < 0 || slot >= n || slot == token) continue;
    out.here[static_cast<std::size_t>(slot)] += here[t];
    if (!all.empty()) out.all[static_cast<std::size_t>(slot)] += all[t];
    out.spoken_by[t] = slot;
  }
  return out;
}

/// All tokens of a category: what draws attention here, and with every token in place. A slot counts for all that it speaks for, as in its
/// own row, and where merged tokens are meant, it counts once.
struct CategorySum {
  double here = 0, all = kNotAvailable;
  int n = 0, votes = 0;
};
CategorySum sum_of(const Shares& shares, const HeadColumns& columns, Category about) {
  CategorySum out;
  if (!shares.all.empty()) out.all = 0;
  std::vector<char> counted(columns.category.size(), 0);
  for (std::size_t t = 0; t < columns.category.size(); ++t) {
    if (columns.category[t] != about) continue;
    ++out.n;
    out.votes += std::max(1, static_cast<int>(columns.votes[t]));
    const std::size_t slot = shares.spoken_by[t] >= 0 ? static_cast<std::size_t>(shares.spoken_by[t]) : t;
    if (std::exchange(counted[slot], char(1)) != 0) continue;
    out.here += shares.here[slot];
    if (!shares.all.empty()) out.all += shares.all[slot];
  }
  return out;
}

/// Sum over these tokens; NaN where it was not captured.
double sum_over(std::span<const int> tokens, const std::vector<double>& attention) {
  if (attention.empty()) return kNotAvailable;
  double sum = 0;
  for (const int t : tokens) sum += attention[static_cast<std::size_t>(t)];
  return sum;
}

/// A slot that is merged counts for all its tokens, those included that came to it in this very step and were read on their own.
void merge_facts_of(Facts& f, const Snapshot& s, const HeadPick& pick, int n_tokens) {
  const HeadRecord& head = *pick.values;
  const MergedSlot merged = telling_merge(s, pick);
  f["votes"] = count(merged.votes);
  if (merged.slot < 0) return;
  const auto name = [&tokens = tokens_of(s, pick.lane), n_tokens](int t) {
    return numbered(tokens, quoted(token_text(tokens, t)), t, n_tokens);
  };
  f["votes_token"] = word(name(merged.slot));
  f["member_token"] = word(merged.member < 0 ? std::string() : name(merged.member));
  const SlotFacts slot = slot_facts(pick, merged.slot);
  f["votes_attention"] = share(head.attention.empty() ? kNotAvailable : sum_over(slot.members, paid(head, n_tokens)));
  f["votes_wanted"] = share(sum_over(slot.members, wanted(pick, n_tokens)));
  f["votes_bias"] = {format_change(slot.bias), slot.bias};
  f["votes_log"] = word(log_of_votes(slot));
  f["weighed"] = count(slot.bias != 0 && !std::isnan(slot.bias) ? 1 : 0);
}

void head_facts_of(Facts& f, const Snapshot& s, const HeadPick& pick) {
  const HeadRecord& head = *pick.values;
  const HeadColumns columns = head_columns(s, pick);
  const int n = columns.size();
  f["head"] = word("layer " + std::to_string(head.layer) + ", head " + std::to_string(head.kv_head));
  habit_facts_of(f, s, head);
  f["slots"] = count(head.n_slots);
  f["head_limited"] = count(budget_set(*pick.run, head) >= 0 ? 1 : 0);
  f["pooled"] = count(head.pooled_tokens);
  int n_spread = 0;
  for_events(*pick.run, pick.head, pick.step, [&n_spread](int, const Event& event) { n_spread += event.spread.empty() ? 0 : 1; });
  f["spread"] = count(n_spread > 0 ? 1 : 0);
  const std::pair<const char*, Category> kinds[] = {{"sinks", Category::sink},      {"heavy", Category::kept},
                                                    {"recent", Category::recent},   {"merged", Category::merged},
                                                    {"evicted", Category::evicted}, {"new", Category::fresh}};
  const bool captured = !head.attention.empty();
  const Shares shares = shares_by_slot(pick, columns);
  for (const auto& [name, category] : kinds) {
    const CategorySum sum = sum_of(shares, columns, category);
    f[name] = count(sum.n);
    f[std::string(name) + "_attention"] = share(captured ? sum.here : kNotAvailable);
    f[std::string(name) + "_wanted"] = share(sum.all);
    if (category == Category::evicted) f["most_evicted"] = count(2 * sum.n > n ? 1 : 0);
    if (category == Category::sink) f["sinks_votes"] = count(sum.votes > sum.n ? sum.votes : 0);
  }
  f["first_attention"] = share(captured && n > 0 ? paid(head, n).front() : kNotAvailable);
  f["first_wanted"] = share(head.reference_attention.empty() ? kNotAvailable : static_cast<double>(head.reference_attention.front()));
  f["first_gone"] = count(n > 0 && (columns.category[0] == Category::evicted || columns.category[0] == Category::merged) ? 1 : 0);
  std::vector<double> gone = columns.lost;  // for what was merged a slot stands: nothing of it is gone
  for (std::size_t t = 0; t < gone.size(); ++t)
    if (columns.category[t] == Category::merged) gone[t] = kNotAvailable;
  std::vector<double> by_hand = gone;
  const std::vector<char> own = evicted_by_hand(*pick.run, n);
  for (int t = 0; t < n; ++t)
    if (!own[static_cast<std::size_t>(t)] || !(or_zero(by_hand[static_cast<std::size_t>(t)]) >= kMissed))
      by_hand[static_cast<std::size_t>(t)] = kNotAvailable;
  const int lost = largest(by_hand) >= 0 ? largest(by_hand) : largest(gone);  // what a hand took away before what the policy did
  const double missed = lost < 0 ? 0 : or_zero(gone[static_cast<std::size_t>(lost)]);
  f["lost"] = missed >= kMissed ? share(missed) : Fact{"", 0};
  // The loss that explains a wrong answer is the largest of the step: others are losses, and no reasons.
  f["lost_most"] = count(lost >= 0 && largest_loss_at(s, *pick.run, pick.step).token == lost ? 1 : 0);
  const auto name = [&tokens = tokens_of(s, pick.lane), n](int t) { return numbered(tokens, quoted(token_text(tokens, t)), t, n); };
  f["lost_token"] = word(missed >= kMissed ? name(lost) : std::string());
  merge_facts_of(f, s, pick, n);
}

/// The token that is framed on screen: the same shares as in its row of bars.
void framed_facts_of(Facts& f, const Snapshot& s, const HeadPick& pick, const Selection& selection) {
  const int n = pick.record->position + 1;
  if (!selection.tokens || selection.tokens->first < 0 || selection.tokens->first >= n) return;
  const auto t = static_cast<std::size_t>(selection.tokens->first);
  const std::vector<TokenInfo>& tokens = tokens_of(s, pick.lane);
  f["framed"] = word(numbered(tokens, quoted(token_text(tokens, selection.tokens->first)), selection.tokens->first, n));
  const Shares shares = shares_by_slot(pick, head_columns(s, pick));
  f["framed_attention"] = share(pick.values->attention.empty() ? kNotAvailable : shares.here[t]);
  f["framed_wanted"] = share(shares.all.empty() ? kNotAvailable : shares.all[t]);
}

void lane_facts_of(Facts& f, const Snapshot& s, const LaneSnapshot& lane, int lane_idx, int step) {
  const auto bytes = [&](const LaneSnapshot& of) { return word(format_bytes(lane_metrics(s, of, step, 0).bytes)); };

  f["policy"] = word(lane.title);
  f["by_rank"] = count(lane.statistic.empty() ? 0 : 1);
  f["asked"] = lane.slots_asked < 0 ? Fact{"all", 0} : count(lane.slots_asked);
  f["bytes"] = bytes(lane);
  f["full_bytes"] = bytes(s.lanes.front());
  f["compared"] = count(lane_idx > 0 ? 1 : 0);
}

/// How far apart two distributions are, in words.
std::string apart_words(double kl) {
  if (std::isnan(kl)) return std::string(kNotAvailableText);
  return kl < kSameNats ? "practically the same (KL less than 0.001)" : format_number(kl) + " apart by KL";
}

/// What follows the text, without the blank before it: one word or number. A run that is fed the reference's text says what comes behind
/// its own first different token to another text than its own: that is left out.
std::string answer_text(const Snapshot& s, const LaneSnapshot& lane) {
  constexpr std::string_view kBlank = "·";  // as token texts are shown
  const std::vector<AnswerToken> answer = lane_metrics(s, lane, -1, kAnswerOfOneWord).answer;
  const std::size_t n = first_word(s, answer);
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    out += text_of_id(s, answer[i].id);
    if (s.follow == "self" || answer[i].same || i + 1 == n) continue;
    out += "…";
    break;
  }
  if (out.starts_with(kBlank)) out.erase(0, kBlank.size());
  return out.empty() ? out : quoted(out);
}

/// Of models that people know, at lengths that they use.
void known_models_of(Facts& f) {
  for (const KnownModel& model : known_models())
    for (std::size_t i = 0; i < kKnownThousands.size(); ++i)
      f[model.key + "_" + std::to_string(kKnownThousands[i]) + "k"] = word(format_bytes(model.bytes[i]));
}

void step_facts_of(Facts& f, const Snapshot& s, const LaneSnapshot& lane, const StepRecord& step, int n_alike) {
  const bool compared = step.step < n_alike;
  const int seen = tokens_seen(step);
  f["tokens"] = count(seen);
  f["prompt"] = count(s.n_prompt);
  f["ratio"] = lane.slots_asked < 0 ? share(1) : share(std::min(1.0, static_cast<double>(lane.slots_asked) / std::max(1, s.n_prompt)));
  f["budgeted"] = count(lane.slots_asked >= 0 ? 1 : 0);
  f["limited"] = count(lane.slots_asked >= 0 && lane.slots_asked < seen ? 1 : 0);
  const auto any_head = [&step](auto is) { return std::ranges::any_of(step.heads, is); };
  f["budgets_differ"] = count(any_head([&step](const HeadRecord& head) { return head.budget != step.heads.front().budget; }));
  f["saves"] = count(!lane.stored_as.empty() || any_head([](const HeadRecord& head) { return !head.unread.empty(); }));
  const double kl = compared ? step.kl : kNotAvailable;
  f["kl"] = {nats_for_people(kl), kl};
  f["apart"] = word(apart_words(kl));
  f["changed"] = count(step.top1_same || !compared ? 0 : 1);
  f["parted"] = count(compared ? 0 : n_alike);
  f["choice"] = word(quoted(text_of_id(s, step.top1)));
  f["reference_choice"] = word(quoted(text_of_id(s, step.top1_reference)));
  for (const TopToken& t : step.top_tokens) {
    if (t.id == step.top1_reference) f["reference_p"] = share(t.p_reference), f["reference_p_here"] = share(t.p);
    if (t.id == step.top1) f["choice_p"] = share(t.p);
  }
  const RunFigures figures = run_figures(s, lane, false);
  f["after"] = count(figures.compared);
  f["differ"] = count(figures.compared - figures.top1_same);
  f["mean_apart"] = word(apart_words(figures.kl.mean()));
  f["says"] = word(answer_text(s, lane));
  f["reference_says"] = word(answer_text(s, s.lanes.front()));
  const HeldSlots held = held_slots(step);
  f["removed"] = count(held.fewest < seen ? 1 : 0);
  f["held"] = {format_mean(held.mean), held.mean};
  f["fewest_slots"] = count(held.fewest);
  f["most_slots"] = count(held.most);
}

struct ComparedRun {
  std::string name;
  double kl = 0, slots = 0, bytes = 0;
};

bool same_slots(const ComparedRun& a, const ComparedRun& b) {
  return std::abs(a.slots - b.slots) <= std::max(1.0, 0.05 * std::max(a.slots, b.slots));
}

/// Slots that are stored otherwise are worth as much as what they take.
bool same_budget(const ComparedRun& a, const ComparedRun& b) {
  return same_slots(a, b) || std::abs(a.bytes - b.bytes) <= 0.05 * std::max(a.bytes, b.bytes);
}

/// Runs with a mean KL after the prompt; their slots are those at `step`, or at the end of the prompt where that comes later.
std::vector<ComparedRun> compared_runs(const Snapshot& s, int step) {
  std::vector<ComparedRun> runs;
  for (std::size_t i = 1; i < s.lanes.size(); ++i) {
    const LaneSnapshot& lane = s.lanes[i];
    const auto end = std::ranges::find_if(lane.steps, [&s](const StepPtr& record) { return record && record->position >= s.n_prompt - 1; });
    const LaneMetrics m = lane_metrics(s, lane, std::max(step, static_cast<int>(end - lane.steps.begin())), 0);
    const double kl = m.means.kl.mean();
    if (!std::isnan(kl)) runs.push_back({lane.title, kl, m.slots, m.bytes});
  }
  return runs;
}

/// Of the largest group of runs with one budget: which stays closest to the full cache, and which goes farthest, over the steps after the
/// prompt. The others are named with what they hold: with more slots it is no feat to stay close.
void comparison_facts_of(Facts& f, const Snapshot& s, int step) {
  f["runs"] = count(static_cast<std::int64_t>(s.lanes.size()) - 1);
  const std::vector<ComparedRun> runs = compared_runs(s, step);
  std::vector<ComparedRun> group, others;
  for (const ComparedRun& middle : runs) {
    std::vector<ComparedRun> alike, rest;
    std::ranges::partition_copy(runs, std::back_inserter(alike), std::back_inserter(rest),
                                [&](const ComparedRun& run) { return same_budget(run, middle); });
    if (alike.size() > group.size()) group = alike, others = rest;
  }
  if (group.empty()) return;
  if (group.size() < 2) others = runs;
  std::string unlike;
  for (const ComparedRun& run : others) unlike += (unlike.empty() ? run.name + " holds " : ", " + run.name + " ") + format_mean(run.slots);
  f["unlike"] = word(unlike.empty() || runs.size() < 2 ? std::string() : unlike + " slots");  // a run alone is unlike nothing
  const auto [least, most] = std::ranges::minmax_element(group, {}, &ComparedRun::slots);
  const std::string low = format_mean(least->slots), high = format_mean(most->slots);
  f["alike"] = word(!same_slots(*least, *most) ? "about " + format_bytes(group.front().bytes)
                                               : (low == high ? low : low + " to " + high) + " slots");
  const auto [best, worst] = std::ranges::minmax_element(group, {}, &ComparedRun::kl);
  f["closest"] = word(best->name);
  f["worst"] = word(worst->name);
  f["best_kl"] = {nats_for_people(best->kl), best->kl};
  f["worst_kl"] = {nats_for_people(worst->kl), worst->kl};
  const std::string all = answer_text(s, s.lanes.front());
  const bool equal = std::ranges::all_of(s.lanes, [&](const LaneSnapshot& lane) { return answer_text(s, lane) == all; });
  f["all_say"] = word(equal ? all : std::string());
  f["several"] = count(group.size() > 1 ? 1 : 0);
  // "Less than 0.001 than less than 0.001" is no difference that can be seen.
  f["tie"] = count(group.size() > 1 && f["best_kl"].text == f["worst_kl"].text ? 1 : 0);
}

}  // namespace

HeldSlots held_slots(const StepRecord& step) {
  HeldSlots out;
  if (step.heads.empty()) return out;
  const auto [fewest, most] = std::ranges::minmax(step.heads, {}, &HeadRecord::n_slots);
  const double sum = std::transform_reduce(step.heads.begin(), step.heads.end(), 0.0, std::plus<>(),
                                           [](const HeadRecord& head) { return static_cast<double>(head.n_slots); });
  return {sum / static_cast<double>(step.heads.size()), fewest.n_slots, most.n_slots};
}

Facts lecture_facts(const Snapshot& s, const Selection& selection) {
  Facts f;
  std::istringstream names{std::string(kNames)};
  for (std::string name; names >> name;) f[name] = {};
  known_models_of(f);
  const ModelConfig& m = s.model;
  f["model"] = word(m.name);
  f["layers"] = count(m.n_layers);
  f["kv_heads"] = count(m.n_kv_heads);
  f["heads"] = count(n_heads_total(s));
  const HeadPick pick = pick_head(s, selection);
  if (pick.run == nullptr || pick.record == nullptr) return f;
  lane_facts_of(f, s, *pick.run, pick.lane, pick.step);
  step_facts_of(f, s, *pick.run, *pick.record, steps_of_one_text(s, *pick.run));
  const std::vector<HeadRecord>& heads = pick.record->heads;
  const auto part = [](const HeadRecord& a, const HeadRecord& b) { return a.layer == b.layer && a.pos != b.pos; };
  f["layers_decide"] = count(std::ranges::adjacent_find(heads, part) == heads.end() ? 1 : 0);
  f["heads_differ"] = count(std::ranges::any_of(
      heads, [&heads](const HeadRecord& head) { return head.n_slots != heads.front().n_slots || head.pos != heads.front().pos; }));
  if (pick.values != nullptr && pick.run->fates != nullptr) {
    head_facts_of(f, s, pick);
    framed_facts_of(f, s, pick, selection);
  }
  comparison_facts_of(f, s, pick.step);
  return f;
}

bool holds(const Facts& facts, std::string_view name) {
  if (name.starts_with('!')) return !holds(facts, name.substr(1));
  const auto it = facts.find(name);
  if (it == facts.end()) return false;
  return std::isnan(it->second.number) ? !it->second.text.empty() : it->second.number != 0;
}

std::string fill_in(std::string_view text, const Facts& facts) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{'), close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    out += text.substr(0, open);
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const std::size_t bar = inside.find('|');
    const auto it = facts.find(inside.substr(0, bar));
    if (it == facts.end()) {
      out += text.substr(open, close + 1 - open);
    } else {
      out += it->second.text;
      if (bar != std::string_view::npos) {
        const std::string_view words = inside.substr(bar + 1);
        const std::size_t other = words.find('|');
        out += " ";
        out += it->second.number == 1 || other == std::string_view::npos ? words.substr(0, other) : words.substr(other + 1);
      }
    }
    text.remove_prefix(close + 1);
  }
  out += text;
  return out;
}

namespace {

/// All that a scene is about as one row, in the numbers of its caption.
std::optional<PairRow> whole_row(const HeadPick& pick, const HeadColumns& columns, const Shares& shares, Category about) {
  PairRow row;
  row.whole = true;
  const CategorySum sum = sum_of(shares, columns, about);
  if (sum.n == 0) return std::nullopt;
  row.label = format_count(sum.n) + " " + category_word(*pick.run, about) + (about == Category::sink && sum.n > 1 ? "s" : "");
  row.reference = sum.all;
  row.lane = sum.here;
  if (sum.votes > sum.n) row.votes = sum.votes;
  if (about == Category::evicted && !(sum.here > 0)) row.state = PairRow::State::gone;  // else some left only after this query
  return row;
}

/// The `n` tokens that draw most, `first` before all others, and the one that is asked for in the last place.
std::vector<std::size_t> most_read(const Shares& shares, std::size_t n, int first, int asked) {
  std::vector<std::size_t> order(shares.here.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::size_t t) { return shares.spoken_by[t] >= 0; });
  const auto most = [&](std::size_t t) { return std::max(shares.here[t], t < shares.all.size() ? shares.all[t] : 0); };
  const auto leads = [first](std::size_t t) { return first >= 0 && t == static_cast<std::size_t>(first); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return leads(a) != leads(b) ? leads(a) : most(a) > most(b); });
  order.resize(std::min(order.size(), n));
  const auto meant = static_cast<std::size_t>(asked);
  if (meant < shares.here.size() && most(meant) >= kMissed && !order.empty() && std::ranges::find(order, meant) == order.end())
    order.back() = meant;
  return order;
}

}  // namespace

std::vector<PairRow> attention_pairs(const Snapshot& s, const HeadPick& pick, int n, const std::optional<int>& also,
                                     const std::optional<Category>& about) {
  std::vector<PairRow> rows;
  if (n < 1 || pick.values == nullptr || pick.run->fates == nullptr || pick.values->attention.empty()) return rows;
  const std::vector<TokenInfo>& tokens = tokens_of(s, pick.lane);
  const HeadColumns columns = head_columns(s, pick);
  Shares shares = shares_by_slot(pick, columns);
  if (pick.lane == 0) shares.all = shares.here;  // the full cache is its own reference
  const std::vector<double>&here = shares.here, &all = shares.all;
  const int slot = about == Category::merged ? telling_merge(s, pick).slot : -1;  // it is the token that is meant
  if (about && about != Category::merged)
    if (std::optional<PairRow> whole = whole_row(pick, columns, shares, *about)) rows.push_back(std::move(*whole));
  for (const std::size_t t : most_read(shares, static_cast<std::size_t>(n) - rows.size(), slot, slot >= 0 ? -1 : also.value_or(-1))) {
    PairRow row;
    row.whole = slot >= 0 && t == static_cast<std::size_t>(slot);
    row.label = numbered(tokens, token_text(tokens, static_cast<int>(t)), static_cast<int>(t), columns.size());
    row.reference = t < all.size() ? all[t] : kNotAvailable;
    row.lane = here[t];
    // A token that left in this very step was still seen by its query.
    const Category c = columns.category[t];
    if (here[t] == 0 && c == Category::evicted) row.state = PairRow::State::gone;
    if (here[t] == 0 && c == Category::merged) row.state = PairRow::State::merged;
    row.votes = columns.votes[t];
    row.meant = also && static_cast<std::size_t>(*also) == t;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PairRow> next_token_pairs(const Snapshot& s, const LaneSnapshot& lane, int step, int n) {
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const bool compared = compares(s, lane, step);
  std::vector<TopToken> top = candidates(s, lane, step);
  top.resize(std::min(top.size(), static_cast<std::size_t>(std::max(0, n))));
  std::vector<PairRow> rows;
  for (const TopToken& t : top) {
    rows.push_back(
        {text_of_id(s, t.id), t.p_reference, t.p, PairRow::State::here, compared && t.id == record.top1_reference, t.id == record.top1});
  }
  return rows;
}

std::vector<char> evicted_by_hand(const LaneSnapshot& lane, int n_tokens) {
  std::vector<char> out(static_cast<std::size_t>(std::max(0, n_tokens)), 0);
  for (const StepPtr& step : lane.steps) {
    for (const HeadRecord& head : step->heads) {
      for (const Event& e : head.events)
        if (e.by_hand && e.kind == Event::Kind::evict && e.pos >= 0 && e.pos < n_tokens) out[static_cast<std::size_t>(e.pos)] = 1;
    }
  }
  return out;
}

namespace {

struct LossQuestion {
  std::size_t first = 0, end = 0;             // steps
  std::span<const int> heads = {};            // none: all
  const std::vector<char>* tokens = nullptr;  // those that count; nullptr: all
  bool merges = false;                        // tokens that another slot stands for count, too
};

Loss largest_loss_of(const Snapshot& s, const LaneSnapshot& lane, const LossQuestion& asked) {
  Loss best;
  double most = 0;
  bool best_changed = false;
  for (std::size_t i = asked.first; i < std::min(asked.end, lane.steps.size()); ++i) {
    const StepRecord& step = *lane.steps[i];
    if (step.position < s.n_prompt - 1 || (step.top1_same && best_changed)) continue;
    for (const HeadRecord& head : step.heads) {
      const int index = head_index(s, head.layer, head.kv_head);
      if (!asked.heads.empty() && std::ranges::find(asked.heads, index) == asked.heads.end()) continue;
      const double moved = std::isnan(head.local_rel_l2) ? 1 : std::min(1.0, head.local_rel_l2);
      // Attention counts as missed where the query did not see the token and no other slot stands for it.
      std::vector<char> seen(head.reference_attention.size(), 0);
      for (const int pos : head.attended)
        if (static_cast<std::size_t>(pos) < seen.size()) seen[static_cast<std::size_t>(pos)] = 1;
      for (std::size_t t = 0; t < seen.size(); ++t) {
        const double a = static_cast<double>(head.reference_attention[t]);
        const bool first_changed = !step.top1_same && !best_changed;
        if (seen[t] || a < kMissed || (a <= most && !first_changed)) continue;
        if (asked.tokens != nullptr && (t >= asked.tokens->size() || !(*asked.tokens)[t])) continue;
        const int token = static_cast<int>(t), slot = lane.fates != nullptr ? slot_seen(lane, static_cast<int>(i), index, token) : -1;
        const double counts = slot < 0 ? a : asked.merges && slot != token ? a * moved : 0;
        if (counts < kMissed || (counts <= most && !first_changed)) continue;
        best = {static_cast<int>(i), head.layer, head.kv_head, token, a, slot};
        most = counts;
        best_changed = !step.top1_same;
      }
    }
  }
  return best;
}

Loss largest_at(const Snapshot& s, const LaneSnapshot& lane, int step, std::span<const int> heads, bool merges) {
  if (step < 0) return {};
  const auto first = static_cast<std::size_t>(step);
  return largest_loss_of(s, lane, {.first = first, .end = first + 1, .heads = heads, .merges = merges});
}

}  // namespace

Loss largest_loss(const Snapshot& s, const LaneSnapshot& lane) {
  // What was just removed by hand is what the audience looks for.
  const std::vector<char> by_hand = evicted_by_hand(lane, static_cast<int>(s.tokens.size()));
  const LossQuestion any{.end = lane.steps.size()}, of_hand{.end = lane.steps.size(), .tokens = &by_hand};
  const Loss own = std::ranges::count(by_hand, 1) > 0 ? largest_loss_of(s, lane, of_hand) : Loss{};
  return own.step >= 0 ? own : largest_loss_of(s, lane, any);
}

MergedSlot telling_merge(const Snapshot& s, const HeadPick& pick) {
  if (pick.values == nullptr || pick.run->fates == nullptr) return {};
  const std::vector<TokenInfo>& tokens = tokens_of(s, pick.lane);
  const HeadColumns columns = head_columns(s, pick);
  std::vector<MergedSlot> slots(static_cast<std::size_t>(columns.size()));
  int n_merged = 0;
  for (int t = 0; t < columns.size(); ++t) {
    if (columns.category[static_cast<std::size_t>(t)] != Category::merged) continue;
    ++n_merged;
    const int slot = slot_of(*pick.run->fates, *pick.record, pick.head, t);
    if (slot < 0 || slot >= columns.size()) continue;
    MergedSlot& of = slots[static_cast<std::size_t>(slot)];
    const bool alike = token_text(tokens, t) == token_text(tokens, slot);
    of.slot = slot;
    of.votes = static_cast<int>(columns.votes[static_cast<std::size_t>(slot)]);
    const bool nearer = std::abs(t - slot) < std::abs(of.member - slot);  // both are to be seen at once
    if (of.member < 0 || (alike && of.alike == 0) || (nearer && alike == (of.alike > 0))) of.member = t;
    of.alike += alike ? 1 : 0;
  }
  const auto most = std::ranges::max_element(slots, {}, [](const MergedSlot& m) { return std::pair(m.alike, m.votes); });
  MergedSlot out = most == slots.end() ? MergedSlot{} : *most;
  out.n_merged = n_merged;
  return out;
}

Loss largest_loss_at(const Snapshot& s, const LaneSnapshot& lane, int step, std::span<const int> heads) {
  return largest_at(s, lane, step, heads, false);
}

Loss largest_change_at(const Snapshot& s, const LaneSnapshot& lane, int step, std::span<const int> heads) {
  return largest_at(s, lane, step, heads, true);
}

}  // namespace kvscope::viz
