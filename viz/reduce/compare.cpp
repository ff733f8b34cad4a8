// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/range.h"

namespace kvscope::viz {

namespace {

const StepRecord* record_at(const LaneSnapshot& lane, int step) {
  return step >= 0 && step < static_cast<int>(lane.steps.size()) ? lane.steps[static_cast<std::size_t>(step)].get() : nullptr;
}

constexpr std::string_view kBlank = "·";  // as token texts are shown

/// No part of the word before it.
bool begins_anew(const std::string& text) {
  return text.starts_with(kBlank) || text.find_first_of(".,;:?!") == 0 || text.starts_with("↵") || text.starts_with("⟨");
}

/// That the full cache says in a step.
std::string said_in(const Snapshot& snapshot, int step) {
  return text_of_id(snapshot, snapshot.lanes.front().steps[static_cast<std::size_t>(step)]->top1);
}

}  // namespace

std::size_t first_word(const Snapshot& snapshot, const std::vector<AnswerToken>& answer) {
  bool begun = false;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const std::string text = text_of_id(snapshot, answer[i].id);
    if (begun && begins_anew(text)) return i;
    begun = begun || text != kBlank;
  }
  return answer.size();
}

StepRange word_around(const Snapshot& snapshot, int step) {
  StepRange out{step, step};
  if (snapshot.lanes.empty() || step < 0) return out;
  const LaneSnapshot& full = snapshot.lanes.front();
  const int n = static_cast<int>(full.steps.size());
  if (step >= n) return out;
  const auto of_answer = [&](int s) { return full.steps[static_cast<std::size_t>(s)]->position >= snapshot.n_prompt - 1; };
  // A mark stands alone, and so does a blank; a blank and letters in one token begin a word.
  const auto of_word = [&](int s) {
    const std::string text = said_in(snapshot, s);
    return text != kBlank && (!begins_anew(text) || text.starts_with(kBlank));
  };
  if (!of_answer(step) || !of_word(step)) return out;
  while (out.first > 0 && of_answer(out.first - 1) && !begins_anew(said_in(snapshot, out.first)) && of_word(out.first - 1)) --out.first;
  while (out.last + 1 < n && !begins_anew(said_in(snapshot, out.last + 1))) ++out.last;
  return out;
}

std::string words_of_steps(const Snapshot& snapshot, const StepRange& steps) {
  std::string out;
  for (int s = steps.first; s <= steps.last; ++s) out += said_in(snapshot, s);
  return out;
}

void cut_to_word(std::vector<LaneMetrics>& lanes, const Snapshot& snapshot) {
  const std::size_t word = lanes.empty() ? 0 : first_word(snapshot, lanes.front().answer);
  for (LaneMetrics& m : lanes) m.answer.resize(std::min(m.answer.size(), std::max(word, first_word(snapshot, m.answer))));
}

void begin_answers(std::vector<LaneMetrics>& lanes, const Snapshot& snapshot) {
  const auto blank = [&snapshot](const LaneMetrics& lane) {
    if (lane.answer.size() < 2 || !lane.answer.front().same) return false;
    const std::string text = text_of_id(snapshot, lane.answer.front().id);
    return text == "·" || text == "↵" || text == "⇥";
  };
  if (lanes.empty() || !std::ranges::all_of(lanes, blank)) return;
  for (LaneMetrics& lane : lanes) lane.answer.erase(lane.answer.begin());
}

void fit_answers(std::vector<LaneMetrics>& lanes, const Snapshot& snapshot, int most) {
  begin_answers(lanes, snapshot);
  std::ptrdiff_t differs = std::numeric_limits<std::ptrdiff_t>::max();  // where the first run does
  for (const LaneMetrics& lane : lanes) {
    const auto at = std::ranges::find(lane.answer, false, &AnswerToken::same);
    if (at != lane.answer.end()) differs = std::min(differs, at - lane.answer.begin());
  }
  const bool later = differs >= most && differs < std::numeric_limits<std::ptrdiff_t>::max();
  for (LaneMetrics& lane : lanes) {
    if (later) lane.answer_before = static_cast<int>(std::min<std::ptrdiff_t>(differs - most + 1, std::ssize(lane.answer)));
    lane.answer.erase(lane.answer.begin(), lane.answer.begin() + lane.answer_before);
    if (static_cast<int>(lane.answer.size()) > most) lane.answer.resize(static_cast<std::size_t>(most));
  }
}

int run_of_lane(int lane) {
  constexpr int kReference = 4, kOthers[] = {0, 1, 2, 3, 5};
  return lane <= 0 ? kReference : kOthers[static_cast<std::size_t>(lane - 1) % std::size(kOthers)];
}

LaneMetrics lane_metrics(const Snapshot& snapshot, const LaneSnapshot& lane, int wanted, int max_answer,
                         const std::optional<StepRange>& range) {
  LaneMetrics out;
  const int n = static_cast<int>(lane.steps.size());
  if (n == 0) return out;
  for (int s = 0; s < n; ++s) {
    const StepRecord* record = record_at(lane, s);
    if (record == nullptr || record->position < snapshot.n_prompt - 1) continue;
    if (static_cast<int>(out.answer.size()) >= max_answer) break;
    out.answer.push_back({s, record->top1, record->top1 == record->top1_reference});
  }
  out.means = range ? run_figures(snapshot, lane, range->first, range->last) : run_figures(snapshot, lane, false);
  if (range) out.range = steps_within(lane, range);
  out.work = policy_work(snapshot, lane);
  out.step = wanted < 0 ? n - 1 : std::min(wanted, n - 1);
  const StepRecord* record = record_at(lane, out.step);
  if (record == nullptr) return out;
  out.position = record->position;
  out.kl = compared_kl(snapshot, lane, out.step);
  out.next_token = record->next_token;
  const RunFigures here = run_figures(snapshot, lane, out.step, out.step);
  out.nll = (out.range ? out.means : here).nll.mean();
  out.attention_loss = (out.range ? out.means : here).attention_loss.mean();
  out.slots = here.slots;
  out.bytes = here.bytes;
  out.read = here.read.mean();
  return out;
}

TextSplit first_text_difference(const Snapshot& snapshot, int lane) {
  TextSplit out;
  if (lane < 0 || lane >= static_cast<int>(snapshot.lanes.size())) return out;
  constexpr std::size_t kTokens = 6;
  const LaneSnapshot &run = snapshot.lanes[static_cast<std::size_t>(lane)], &reference = snapshot.lanes.front();
  const auto text = [&](const std::vector<int>& ids, std::size_t from) {
    std::string joined;
    for (std::size_t i = from; i < std::min(ids.size(), from + kTokens); ++i) joined += text_of_id(snapshot, ids[i]);
    return joined + (ids.size() > from + kTokens ? "…" : "");
  };
  const auto split = [&](const std::vector<int>& own, const std::vector<int>& other) {
    const std::size_t n = std::min(own.size(), other.size());
    out.compared = static_cast<int>(n);
    for (std::size_t i = 0; i < n && out.position < 0; ++i) {
      if (own[i] == other[i]) continue;
      out.position = snapshot.n_prompt + static_cast<int>(i);
      out.own = text(own, i);
      out.reference = text(other, i);
    }
  };
  const auto after_prompt = [&](const LaneSnapshot& of) {  // of a streamed text the prompt's tokens have steps, too
    std::vector<int> ids = lane_tokens(snapshot, of);
    ids.erase(ids.begin(), ids.begin() + std::min(snapshot.n_prompt, static_cast<int>(snapshot.tokens.size())));
    return ids;
  };
  split(after_prompt(run), after_prompt(reference));
  if (out.position >= 0) return out;
  std::vector<int> chosen, wanted;  // fed the same text: where it would have gone another way
  for (const StepPtr& step : run.steps) {
    if (step == nullptr || step->position < snapshot.n_prompt - 1) continue;
    chosen.push_back(step->top1);
    wanted.push_back(step->top1_reference);
  }
  out.forced = true;
  split(chosen, wanted);
  return out;
}

std::vector<std::string> lane_params(const LaneSnapshot& lane) {
  std::vector<std::string> out;
  const auto in_full = [](const LaneWarning& w) { return w.kind == LaneWarning::Kind::as_if_stored && w.asked > 0 && w.got == w.asked; };
  if (std::ranges::any_of(lane.warnings, in_full)) out.push_back("all still in full");  // or few bits would seem to be had for nothing
  const auto named = [&lane](const std::string& key) {  // what somebody wrote tells more than what is always there
    return lane.spec.find(':' + key + '=') != std::string::npos || lane.spec.find(',' + key + '=') != std::string::npos;
  };
  for (const bool written : {true, false})
    for (const ParamText& param : lane.params)
      if (param.key != "slots" && param.key != "ratio" && named(param.key) == written) out.push_back(param.key + " " + param.value);
  return out;
}

std::vector<std::string> telling_params(const Snapshot& snapshot, const LaneSnapshot& lane, std::size_t* n_differ) {
  std::vector<std::string> out = lane_params(lane);
  std::size_t differ = 0;
  bool budget = false;
  for (const LaneSnapshot& twin : snapshot.lanes) {
    if (&twin == &lane || twin.policy != lane.policy) continue;
    budget = budget || twin.slots_asked != lane.slots_asked;
    const std::vector<std::string> other = lane_params(twin);
    const auto own = [&](const std::string& param) { return std::find(other.begin(), other.end(), param) == other.end(); };
    differ =
        static_cast<std::size_t>(std::stable_partition(out.begin() + static_cast<std::ptrdiff_t>(differ), out.end(), own) - out.begin());
  }
  if (budget && lane.slots_asked >= 0) {
    out.insert(out.begin(), fmt::format("{} slots", format_count(lane.slots_asked)));
    ++differ;
  }
  if (n_differ != nullptr) *n_differ = differ;
  return out;
}

std::optional<std::pair<int, int>> unequal_budgets(const Snapshot& snapshot) {
  std::set<int> asked;
  for (const LaneSnapshot& lane : snapshot.lanes)
    if (lane.slots_asked >= 0) asked.insert(lane.slots_asked);
  return asked.size() < 2 ? std::nullopt : std::optional(std::pair(*asked.begin(), *asked.rbegin()));
}

std::vector<std::string> specs_of(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const LaneSnapshot& lane : snapshot.lanes) out.push_back(lane.spec);
  return out;
}

int place_now(const std::vector<std::string>& before, const std::vector<std::string>& now, int run) {
  const auto n_before = static_cast<int>(before.size()), n = static_cast<int>(now.size());
  if (run < 0 || run >= n_before) return -1;
  if (n == n_before) return run;  // same places; at most its parameters were edited
  const auto alike_before = std::ranges::mismatch(before, now).in1 - before.begin();
  if (run < alike_before) return run;
  const auto alike_behind = std::mismatch(before.rbegin(), before.rend(), now.rbegin(), now.rend()).first - before.rbegin();
  if (run >= n_before - alike_behind) return run + n - n_before;
  const std::string& spec = before[static_cast<std::size_t>(run)];
  if (run < n && now[static_cast<std::size_t>(run)] == spec) return run;
  const auto found = std::ranges::find(now, spec);
  return found == now.end() ? -1 : static_cast<int>(found - now.begin());
}

std::string lane_letter(int lane) {
  return lane >= 0 && lane < 26 ? std::string(1, static_cast<char>('A' + lane)) : fmt::format("{}", lane + 1);
}

std::string text_of_id(const Snapshot& snapshot, int id) {
  if (id < 0) return std::string(kNotAvailableText);  // no token yet
  const TokenInfo* const token = token_known(snapshot, id);
  return token ? token_text(*token) : fmt::format("#{}", id);
}

}  // namespace kvscope::viz
