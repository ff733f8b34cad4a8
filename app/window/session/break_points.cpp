// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/break_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <QCryptographicHash>
#include <QStringList>

#include "app/window/session/request_key.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"

namespace kvscope {

namespace {

constexpr double kLeast = 0.01, kPrecision = 0.005;  // shares of the prompt
constexpr viz::StepRange kAllSteps{0, std::numeric_limits<int>::max()};
constexpr std::size_t kRemembered = 256;

/// The key in which the budget of a run is given.
const char* unitOf(const LaneSpec& spec) {
  const bool fixed = std::ranges::any_of(spec.given, [](const auto& given) { return given.first == "slots"; });
  return fixed ? "slots" : "ratio";
}

/// The run with another budget. Throws UsageError where its policy has none.
std::string withSlots(const LaneSpec& spec, int n_slots, int n_prompt) {
  const std::string unit = unitOf(spec);
  const QString share = QString::number(static_cast<double>(n_slots) / std::max(1, n_prompt), 'g', 9);
  return with_param(spec, unit, unit == "slots" ? std::to_string(n_slots) : share.toStdString()).text;
}

QString shareWords(int n_slots, int n_prompt) { return qs(viz::format_percent(static_cast<double>(n_slots) / std::max(1, n_prompt))); }

QString budgetWords(int n_slots, int n_prompt) {
  return QString("%1 (%2 of %3 slots)")
      .arg(shareWords(n_slots, n_prompt), QString::fromStdString(viz::format_count(n_slots)),
           QString::fromStdString(viz::format_count(n_prompt)));
}

/// The budgets below the border that differ, or that answer.
QString belowBorder(const BudgetBisection& bisection, bool answering) {
  QStringList out;
  for (const auto& [n_slots, answers] : bisection.tried())
    if (answers == answering && n_slots < bisection.slots()) out << QString::number(n_slots);
  return out.join(", ");
}

/// The steps whose most likely token is not the full cache's. A text that has parted from the full cache's answers no more.
std::set<int> differingSteps(const Snapshot& snapshot, const LaneSnapshot& run) {
  std::set<int> out;
  for (int s = viz::next_changed_step(snapshot, run, -1); s >= 0; s = viz::next_changed_step(snapshot, run, s)) out.insert(s);
  const auto n_steps = static_cast<int>(run.steps.size()), n_alike = steps_of_one_text(snapshot, run);
  for (int s = n_alike - 1; n_alike < n_steps && s < n_steps; ++s) out.insert(s);  // a token that was drawn may part them, too
  return out;
}

}  // namespace

BreakPoints::BreakPoints(Workspace& workspace, SessionController& controller, RunQueue& queue, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller), m_queue(queue) {
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::staleChanged}) connect(&workspace, signal, this, &BreakPoints::refresh);
  connect(&workspace, &Workspace::selectionChanged, this, &BreakPoints::publish);
  connect(&controller, &SessionController::requestChanged, this, &BreakPoints::refresh);
  connect(&queue, &RunQueue::measured, this, &BreakPoints::take);
  connect(&queue, &RunQueue::changed, this, &BreakPoints::lookAtQueue);
}

bool BreakPoints::ready() const {
  const Snapshot& s = m_workspace.snapshot();
  return s.phase == RunPhase::idle && !s.lanes.empty() && s.lanes.size() == m_controller.request().lanes.size() && !m_workspace.stale() &&
         m_controller.answersNewest(s);
}

/// In prefill mode the prompt's own step sees every token and cannot differ.
int BreakPoints::firstStep() const { return m_workspace.snapshot().prefill_mode ? 1 : m_workspace.snapshot().n_prompt - 1; }

int BreakPoints::countedSteps() const { return m_n_steps - firstStep(); }

int BreakPoints::askedStep() const { return std::max(m_workspace.step(), firstStep()); }

int BreakPoints::Known::askFor(int slots) const {
  const auto has = [slots](const auto& one) { return one.second.slots == slots; };
  const auto found = std::find_if(tried.rbegin(), tried.rend(), has);
  return found == tried.rend() ? slots : found->first;
}

BudgetBisection BreakPoints::Known::of(const viz::StepRange& steps) const {
  BudgetBisection out(static_cast<int>(std::ceil(kLeast * n_prompt)), n_prompt, static_cast<int>(kPrecision * n_prompt));
  const auto answers = [&steps](const std::set<int>& differs) {
    const auto first = differs.lower_bound(steps.first);
    return first == differs.end() || *first > steps.last;
  };
  for (const auto& [asked, run] : tried) out.know(run.slots, answers(run.differs));
  for (const auto& [slots, differs] : seen) out.saw(slots, answers(differs));
  for (std::optional<int> n_slots = out.next(); n_slots; n_slots = out.next()) {
    const auto found = tried.find(*n_slots);
    if (found == tried.end()) break;
    out.take(found->second.slots, answers(found->second.differs));
  }
  return out;
}

std::optional<int> BreakPoints::Known::wanted(int step, const viz::StepRange& word) const {
  for (const viz::StepRange& steps : {viz::StepRange{step, step}, word, kAllSteps})
    if (const std::optional<int> next = of(steps).next()) return next;
  return std::nullopt;
}

QByteArray BreakPoints::keyOf(const LaneSpec& spec) const {
  std::string of;
  try {
    check_lane_spec(parse_lane_spec(withSlots(spec, 1, 1)));
    of = with_param(with_param(spec, "slots", ""), "ratio", "").text + '\n' + unitOf(spec);
  } catch (const Error&) {
    return {};
  }
  of += '\n' + textKey(m_controller) + '\n' + std::to_string(m_controller.request().n_generate) + ' ' + std::to_string(m_n_steps) + '\n' +
        m_workspace.snapshot().precision;
  return QCryptographicHash::hash(QByteArray::fromStdString(of), QCryptographicHash::Sha256);
}

const LaneSpec* BreakPoints::specOf(const QByteArray& key) const {
  const auto& lanes = m_controller.request().lanes;
  const auto found = std::ranges::find_if(lanes, [&](const LaneSpec& spec) { return keyOf(spec) == key; });
  return found == lanes.end() ? nullptr : &*found;
}

void BreakPoints::ask() {
  if (!ready() || m_controller.refuses()) return;
  m_n_steps = static_cast<int>(m_workspace.snapshot().lanes.front().steps.size());
  if (m_known.size() > kRemembered) m_known.clear();
  std::vector<LaneSpec> lanes = m_controller.request().lanes;
  const int selected = m_workspace.selection().lane;
  if (selected >= 0 && selected < static_cast<int>(lanes.size())) std::rotate(lanes.begin(), lanes.begin() + selected, lanes.end());
  for (const LaneSpec& spec : lanes) {
    const Asked asked{keyOf(spec), askedStep()};
    if (asked.key.isEmpty() || std::ranges::find(m_asked, asked) != m_asked.end()) continue;
    if (const auto known = m_known.find(asked.key); known != m_known.end()) known->second.failure.clear();
    m_asked.push_back(asked);
  }
  refresh();
}

void BreakPoints::giveUp() {
  m_asked.clear();
  end();
  publish();
}

void BreakPoints::proceed() {
  const BreakPoint point = m_workspace.breakPoint(m_workspace.selection().lane);
  if (point.state == BreakPoint::State::searching) return giveUp();
  point.marked() ? give(point.asked) : ask();
}

void BreakPoints::give(int slots) {
  const int lane = m_workspace.selection().lane;
  const auto& lanes = m_controller.request().lanes;
  if (lane >= static_cast<int>(lanes.size())) return;
  const std::string wanted = withSlots(lanes[static_cast<std::size_t>(lane)], slots, m_workspace.snapshot().n_prompt);
  m_controller.setLaneSpec(lane, QString::fromStdString(wanted));
}

void BreakPoints::end() {
  if (const int run = std::exchange(m_run, 0); run > 0) m_queue.cancel(run);  // the queue tells of it
}

void BreakPoints::refresh() {
  if (ready()) m_n_steps = static_cast<int>(m_workspace.snapshot().lanes.front().steps.size());
  if (m_controller.viewOnly()) m_asked.clear();  // nothing can be computed from what is shown
  // What is not on screen any more is not wanted any more; a budget that was moved is none of it.
  const std::optional<Asked> now = m_asked.empty() ? std::nullopt : std::optional(m_asked.front());
  if (now) std::erase_if(m_asked, [this](const Asked& asked) { return specOf(asked.key) == nullptr; });
  if (m_asked.empty() || m_asked.front() != *now) end();
  see();
  if (ready()) begin();
  publish();
}

/// What the screen shows is known as well as what was tried.
void BreakPoints::see() {
  if (m_known.empty() || !ready()) return;
  const Snapshot& s = m_workspace.snapshot();
  for (std::size_t i = 0; i < s.lanes.size(); ++i) {
    const LaneSnapshot& run = s.lanes[i];
    if (run.slots_asked < 0 || static_cast<int>(run.steps.size()) != m_n_steps) continue;
    const auto known = m_known.find(keyOf(m_controller.request().lanes[i]));
    if (known != m_known.end()) known->second.seen[run.slots_asked] = differingSteps(s, run);
  }
}

void BreakPoints::begin() {
  const Snapshot& s = m_workspace.snapshot();
  while (m_run == 0 && !m_asked.empty()) {
    const Asked asked = m_asked.front();
    Known& known = m_known[asked.key];
    if (known.tried.empty()) {
      known = {{}, {}, s.n_prompt, s.lanes.front().steps.back()->position + 1, countedSteps(), {}};
      see();
    }
    if (known.n_steps < 1) {
      fail("nothing was generated after the prompt");
      continue;
    }
    const LaneSpec* spec = specOf(asked.key);
    const std::optional<int> n_slots = known.wanted(asked.step, viz::word_around(s, asked.step));
    if (spec == nullptr || !n_slots) {
      m_asked.pop_front();
      continue;
    }
    const std::size_t before = m_queue.runs().size();
    m_queue.add({withSlots(*spec, *n_slots, known.n_prompt)}, QueuedRun::Purpose::budget);
    if (m_queue.runs().size() > before) m_run = m_queue.runs().back().id, m_trying = *n_slots;
    return;
  }
}

void BreakPoints::fail(const QString& why) {
  m_run = 0;
  m_known[m_asked.front().key].failure = why;
  m_asked.pop_front();
}

void BreakPoints::take(const QueuedRun& run, const SnapshotPtr& result) {
  if (m_run == 0 || run.id != m_run || m_asked.empty() || result->lanes.empty()) return;
  const LaneSnapshot& lane = result->lanes.back();
  Known& known = m_known[m_asked.front().key];
  if (static_cast<int>(lane.steps.size()) != m_n_steps || specOf(m_asked.front().key) == nullptr) {
    fail("a run of the search was stopped before its end");
  } else {
    known.tried[m_trying] = {lane.slots_asked, run_figures(*result, lane, false).slots, differingSteps(*result, lane)};
  }
  m_run = 0;
  if (ready()) begin();
  publish();
}

/// Whoever cancels one of its runs wants the search to end.
void BreakPoints::lookAtQueue() {
  const auto run = std::ranges::find(m_queue.runs(), m_run, &QueuedRun::id);
  if (m_run == 0 || m_asked.empty() || run == m_queue.runs().end()) return;
  if (run->state == QueuedRun::State::cancelled) return giveUp();
  if (run->state != QueuedRun::State::failed) return;
  fail(run->failure);
  if (ready()) begin();
  publish();
}

void BreakPoints::publish() {
  std::vector<BreakPoint> out;
  if (!m_known.empty() || !m_asked.empty())
    for (std::size_t i = 0; i < m_controller.request().lanes.size(); ++i) out.push_back(pointOf(i));
  m_workspace.setBreakPoints(out);
}

BreakPoint BreakPoints::pointOf(std::size_t lane) const {
  using State = BreakPoint::State;
  const Snapshot& s = m_workspace.snapshot();
  const LaneSpec& spec = m_controller.request().lanes[lane];
  const QByteArray key = keyOf(spec);
  if (key.isEmpty()) return {State::no_budget, 0, 0, "no budget to lower", "Its policy has none: there is nothing to search."};
  const int step = askedStep();
  const bool asked = std::ranges::find(m_asked, Asked{key, step}) != m_asked.end();
  const auto found = m_known.find(key);
  if (!asked && found == m_known.end()) return {};
  const Known known = found == m_known.end() ? Known{} : found->second;
  if (!known.failure.isEmpty()) return {State::failed, 0, 0, "the search failed", known.failure};
  if (s.lanes.empty()) return {};  // a model is being opened
  const BudgetBisection bisection = known.of({step, step});
  if (known.n_steps < 1 || bisection.next()) {
    if (!asked) return {};
    const bool now = m_run > 0 && m_asked.front().key == key;
    const QString n = counted(static_cast<int>(bisection.tried().size()), "budget", "budgets");
    return {State::searching, 0, 0, now ? "searching: " + n + " tried" : QString("waits for its search"), {}};
  }
  const auto& reference = s.lanes.front().steps;
  if (step >= static_cast<int>(reference.size())) return {};
  const QString token = qs(viz::quoted(viz::text_of_id(s, reference[static_cast<std::size_t>(step)]->top1)));
  const QString budget = budgetWords(bisection.slots(), known.n_prompt);
  BreakPoint out{State::found, bisection.slots(), 0, {}, {}, {}, token, step};
  out.asked = known.askFor(out.slots);
  for (const auto& [n_slots, tried] : known.tried)
    if (tried.slots == out.slots) out.held = tried.held;
  if (bisection.state() == BudgetBisection::State::never) {
    out.state = State::never;
    // No share of the prompt: as many slots as that has tokens are fewer than the full cache has behind it.
    out.words = QString("not %1 even with %2 of %3 slots")
                    .arg(token, QString::fromStdString(viz::format_count(bisection.slots())),
                         QString::fromStdString(viz::format_count(known.n_read)));
    out.how = QString(
                  "Not the full cache's most likely token in step %1.\nThe largest budget that was tried is %2; the full cache has %3 at "
                  "the last step. Smaller ones were not tried: one of them may answer all the same.")
                  .arg(step)
                  .arg(counted(bisection.slots(), "slot", "slots"), QString::fromStdString(viz::format_count(known.n_read)));
  } else {
    const bool always = bisection.state() == BudgetBisection::State::always;
    out.state = always ? State::always : State::found;
    out.words = QString(always ? "says %1 even at %2" : "says %1 from %2").arg(token, budget);
    out.how = QString("With the full cache's most likely token in step %1.\n").arg(step);
    out.how += always ? QString("It is the least of %1 that were tried.")
                            .arg(counted(static_cast<int>(bisection.tried().size()), "budget", "budgets"))
                      : "By bisection, to " + counted(bisection.precision(), "slot", "slots") +
                            "; below it the answer differs at the budgets tried (" + belowBorder(bisection, false) +
                            " slots). Others were not tried: more slots need not be better.";
    if (const QString lucky = belowBorder(bisection, true); !lucky.isEmpty())
      out.how += QString("\nSome budgets with fewer slots answer, too (%1), but not all between them and this one.").arg(lucky);
    if (const QString all = allSteps(known, asked); !all.isEmpty()) out.how += '\n' + all.chopped(1);
  }
  if (out.marked()) {
    out.share = shareWords(bisection.slots(), known.n_prompt);
    addWider(out, known);
  }
  const QString other = contradiction(lane, bisection, step);
  if (!other.isEmpty()) out.how += '\n' + other;
  return out;
}

/// What the whole word or number needs that the step is a part of, then all steps: "«913» from 26.8 %", "all 12 steps from 93.2 %".
void BreakPoints::addWider(BreakPoint& point, const Known& known) const {
  const viz::StepRange word = viz::word_around(m_workspace.snapshot(), point.step);
  const auto add = [&](const viz::StepRange& steps, const QString& what, const QString& right) {
    const BudgetBisection needs = known.of(steps);
    if (needs.next()) return QString();
    if (needs.state() == BudgetBisection::State::never) return what + " at none tried";
    const QString share = shareWords(needs.slots(), known.n_prompt);
    if (needs.slots() != point.slots) point.wider.push_back({right, share, known.askFor(needs.slots())});
    return what + " from " + share;
  };
  const bool longer = word.first < word.last;
  if (longer) {
    const QString what = qs(viz::quoted(viz::words_of_steps(m_workspace.snapshot(), word)));
    point.below = add(word, what, what);
  }
  const QString all = QString("all %1 steps").arg(known.n_steps);
  if (known.n_steps > 1) point.all = add(kAllSteps, all, all + " right");
  if (!longer) point.below = point.all;
}

/// The same as a line, as far as it is known.
QString BreakPoints::allSteps(const Known& known, bool searching) const {
  if (known.n_steps < 2) return {};
  const BudgetBisection all = known.of(kAllSteps);
  const QString steps = QString("All %1 steps").arg(known.n_steps);
  if (all.next())
    return steps + (searching ? QString(": still searching, ") : QString(": not searched to its end, ")) +
           counted(static_cast<int>(all.tried().size()), "budget", "budgets") + " tried.\n";
  if (all.state() == BudgetBisection::State::never)
    return steps + ": not even with " + counted(all.slots(), "slot", "slots") + ", the most that was tried.\n";
  return steps + " from " + budgetWords(all.slots(), known.n_prompt) + ".\n";
}

/// Where the run on screen shows that more slots are not always better here.
QString BreakPoints::contradiction(std::size_t lane, const BudgetBisection& bisection, int step) const {
  if (!ready()) return {};
  const Snapshot& s = m_workspace.snapshot();
  const LaneSnapshot& shown = s.lanes[lane];
  const bool answers = !differingSteps(s, shown).contains(step);
  int below = 0;  // the highest that was tried and differs
  for (const auto& [n_slots, same] : bisection.tried())
    if (!same) below = n_slots;
  const bool unlike =
      answers ? shown.slots_asked <= below : shown.slots_asked >= bisection.slots() && bisection.state() != BudgetBisection::State::never;
  if (!unlike) return {};
  return QString("The run on screen %1 with %2: more is not always better here.")
      .arg(answers ? "answers" : "differs", counted(shown.slots_asked, "slot", "slots"));
}

}  // namespace kvscope
