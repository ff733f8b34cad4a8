// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/undo/step_words.h"

#include <algorithm>
#include <utility>

#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/run_queue.h"
#include "app/window/shell/panel_paint.h"
#include "policy/budget_share.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

using Lanes = std::vector<LaneSpec>;

std::size_t first_other(const Lanes& a, const Lanes& b) { return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin()); }

/// How many of them differ, of two lists as long.
auto n_other(const Lanes& a, const Lanes& b) {
  std::ptrdiff_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += a[i] != b[i];
  return n;
}

QString runName(std::size_t i) { return "run " + qs(viz::lane_letter(static_cast<int>(i))); }

struct Given {
  std::string key, value;
  bool down = false;  // its whole slots are rounded down
};

/// A share is said as the toolbar has it: what its whole slots are of the prompt. `with_share`: slots are said as one, too.
QString budgetText(const Given& budget, int n_prompt, bool with_share) {
  const auto& [key, value, down] = budget;
  if (value.empty()) return "no budget";
  if (key == "slots") {
    const QString slots = qs(value) + (value == "1" ? " slot" : " slots");
    return !with_share || n_prompt <= 0 ? slots : QString("%1 (%2)").arg(slots, qs(viz::format_percent(std::stod(value) / n_prompt)));
  }
  const double share = std::stod(value);
  if (key == "bytes") return QString::number(100 * share, 'g', 4) + " % of bytes";
  return qs(viz::format_percent(n_prompt <= 0 ? share : static_cast<double>(slots_of_ratio(share, n_prompt, down)) / n_prompt));
}

/// Of the keys that say how much memory a run has, the one that is given.
Given budget_of(const LaneSpec& spec) {
  for (const auto& [key, value] : spec.given)
    if (key == "ratio" || key == "slots" || key == "bytes") return {key, value, given_value(spec, "round") == "down"};
  return {};
}

/// Keys that are no budget and have other values.
std::vector<std::string> other_keys(const LaneSpec& a, const LaneSpec& b) {
  std::vector<std::string> out;
  for (const LaneSpec* of : {&a, &b})
    for (const auto& [key, value] : of->given)
      if (key != budget_of(*of).key && given_value(a, key) != given_value(b, key) && std::ranges::find(out, key) == out.end())
        out.push_back(key);
  return out;
}

bool only_budgets_differ(const Lanes& a, const Lanes& b) {
  return std::ranges::equal(a, b, [](const LaneSpec& from, const LaneSpec& to) {
    return from.name == to.name && from.edits == to.edits && other_keys(from, to).empty();
  });
}

/// The edit of a token that is in only one of both, or is switched otherwise; nullptr: none.
const WhatIf* other_what_if(const LaneEdits& a, const LaneEdits& b) {
  const std::vector<WhatIf>&longer = a.what_ifs.size() > b.what_ifs.size() ? a.what_ifs : b.what_ifs,
        &shorter = &longer == &a.what_ifs ? b.what_ifs : a.what_ifs;
  const auto [in_longer, in_shorter] = std::ranges::mismatch(longer, shorter);
  if (in_longer == longer.end()) return nullptr;
  return in_shorter == shorter.end() ? &longer.back() : &*in_longer;  // a pin may have brought its token back first
}

/// `run`: that has the edit, or had it.
QString handStepWords(const Snapshot& snapshot, const LaneSpec& run, WhatIf edit) {
  edit.on = true;
  const auto shown = std::ranges::find(snapshot.lanes, run.text, &LaneSnapshot::spec);
  return handWords(shown != snapshot.lanes.end() ? tokens_of(snapshot, *shown) : snapshot.tokens,
                   {.what_ifs = {std::move(edit)}, .budgets = {}});
}

bool other_budget(const LaneSpec& from, const LaneSpec& to) {
  const Given before = budget_of(from), now = budget_of(to);
  return before.key != now.key || before.value != now.value;
}

/// What of a run differs: "budget of run F".
QString changeName(const LaneSpec& from, const LaneSpec& to, const QString& run) {
  if (from.name != to.name) return "policy of " + run;
  if (other_what_if(from.edits, to.edits)) return "edit by hand of " + run;
  if (from.edits.budgets != to.edits.budgets) return "budgets of single heads of " + run;
  const std::vector<std::string> keys = other_keys(from, to);
  const bool budget = other_budget(from, to);
  if (budget && keys.empty()) return "budget of " + run;
  return (budget || keys.size() != 1 ? QString("settings") : qs(keys.front())) + " of " + run;
}

QString changeWords(const Snapshot& snapshot, const LaneSpec& from, const LaneSpec& to, const QString& run) {
  const QString name = changeName(from, to, run);
  const auto arrow = [&name](const QString& a, const QString& b) { return QString("%1, %2 → %3").arg(name, a, b); };
  if (from.name != to.name) return arrow(qs(wordsOf(from.text).title), qs(wordsOf(to.text).title));
  if (const WhatIf* edit = other_what_if(from.edits, to.edits)) {
    const bool switched = from.edits.what_ifs.size() == to.edits.what_ifs.size();
    const QString off = !switched ? QString() : edit->on ? QString(", switched on") : QString(", switched off");
    return QString("%1, %2%3")
        .arg(name, handStepWords(snapshot, from.edits.what_ifs.size() > to.edits.what_ifs.size() ? from : to, *edit), off);
  }
  if (from.edits.budgets != to.edits.budgets) return name;
  const std::vector<std::string> keys = other_keys(from, to);
  if (other_budget(from, to)) {
    const Given before = budget_of(from), now = budget_of(to);
    const bool with_share = before.key != now.key;
    return keys.empty() ? arrow(budgetText(before, snapshot.n_prompt, with_share), budgetText(now, snapshot.n_prompt, with_share)) : name;
  }
  if (keys.size() != 1) return name;
  const auto value = [&keys](const LaneSpec& of) {
    const std::string text = given_value(of, keys.front());
    return text.empty() ? QString("as usual") : qs(text);
  };
  return arrow(value(from), value(to));
}

QString shortened(std::string_view text) {
  constexpr qsizetype kMost = 24;
  QString out = QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())).replace('\n', QChar(0x21B5));
  if (out.size() > kMost) out = out.left(kMost - 1) + QChar(0x2026);
  return QString("“%1”").arg(out);
}

}  // namespace

std::optional<StepPlace> runsPlace(const Lanes& from, const Lanes& to) {
  const std::size_t at = first_other(from, to);
  if (at == to.size() || to.size() < from.size() || (from.size() == to.size() && n_other(from, to) != 1)) return std::nullopt;
  StepPlace place{.lane = static_cast<int>(at), .spec = to[at].text, .look = {}};
  const LaneEdits before = from.size() == to.size() ? from[at].edits : LaneEdits{};
  if (const WhatIf* edit = other_what_if(before, to[at].edits)) place.look = look_of(*edit);
  return place;
}

const WhatIf* handEditOf(const LaneSpec& run) { return run.edits.what_ifs.empty() ? nullptr : &run.edits.what_ifs.back(); }

StepPlace::Look look_of(const WhatIf& edit) {
  const std::vector<int>& tokens = edit.positions;
  StepPlace::Look look{.tokens = {tokens.front(), tokens.front()}, .step = edit.step + 1, .layer = {}, .kv_head = {}};
  for (const int token : tokens)
    if (token == look.tokens.last + 1) look.tokens.last = token;
  if (edit.heads.layers.size() == 1) look.layer = edit.heads.layers.front();
  if (look.layer && edit.heads.kv_heads.size() == 1) look.kv_head = edit.heads.kv_heads.front();
  return look;
}

QString runsName(const Lanes& from, const Lanes& to) {
  if (from.size() != to.size()) return from.size() < to.size() ? "add run" : "remove run";
  const std::size_t at = first_other(from, to);
  if (n_other(from, to) == 1) return changeName(from[at], to[at], runName(at));
  return only_budgets_differ(from, to) ? "budget of several runs" : "change of several runs";
}

QString runsWords(const Snapshot& snapshot, const Lanes& from, const Lanes& to, bool back) {
  const std::size_t at = first_other(from, to);
  if (from.size() == to.size())
    return n_other(from, to) == 1          ? changeWords(snapshot, from[at], to[at], runName(at))
           : only_budgets_differ(from, to) ? QString("budget of several runs")
                                           : QString("change of several runs");
  const Lanes &longer = from.size() > to.size() ? from : to, &shorter = from.size() > to.size() ? to : from;
  const QString verb = (to.size() > from.size()) != back ? "adding" : "removing";
  if (longer.size() > shorter.size() + 1) return QString("%1 %2 runs").arg(verb).arg(longer.size() - shorter.size());
  const LaneSpec& run = longer[at];
  if (const WhatIf* edit = handEditOf(run)) return QString("%1 %2, %3").arg(verb, runName(at), handStepWords(snapshot, run, *edit));
  const RunWords words = wordsOf(run.text);
  return QString("%1 %2, %3").arg(verb, runName(at), qs(words.title)) + (words.budget.empty() ? QString() : ", " + qs(words.budget));
}

QString textWords(std::string_view removed, std::string_view added) {
  const QString what = "edit of the text";
  if (removed.empty() && added.empty()) return what;
  if (removed.empty()) return QString("%1, %2 is there again").arg(what, shortened(added));
  if (added.empty()) return QString("%1, %2 is gone again").arg(what, shortened(removed));
  return QString("%1, %2 → %3").arg(what, shortened(removed), shortened(added));
}

}  // namespace kvscope
