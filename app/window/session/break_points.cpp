// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/break_points.h"

#include <algorithm>
#include <cmath>

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
#include "viz/reduce/finding.h"

namespace kvscope {

namespace {

constexpr double kLeast = 0.01, kPrecision = 0.005;  // shares of the prompt
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

/// The budgets below the border, which all differ; "none" where the least one answers.
QString differing(const BudgetBisection& bisection) {
  QStringList out;
  for (const auto& [n_slots, answers] : bisection.tried())
    if (!answers) out << QString::number(n_slots);
  return out.join(", ");
}

}  // namespace

BreakPoints::BreakPoints(Workspace& workspace, SessionController& controller, RunQueue& queue, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller), m_queue(queue) {
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::staleChanged}) connect(&workspace, signal, this, &BreakPoints::refresh);
  connect(&controller, &SessionController::requestChanged, this, &BreakPoints::refresh);
  connect(&queue, &RunQueue::measured, this, &BreakPoints::take);
  connect(&queue, &RunQueue::changed, this, &BreakPoints::lookAtQueue);
}

bool BreakPoints::ready() const {
  const Snapshot& s = m_workspace.snapshot();
  return s.phase == RunPhase::idle && !s.lanes.empty() && s.lanes.size() == m_controller.request().lanes.size() && !m_workspace.stale() &&
         m_controller.answersNewest(s);
}

/// The steps that answer: in prefill mode the prompt's own step sees every token and cannot differ.
int BreakPoints::countedSteps() const {
  const Snapshot& s = m_workspace.snapshot();
  return s.prefill_mode ? m_n_steps - 1 : m_n_steps - (s.n_prompt - 1);
}

QByteArray BreakPoints::keyOf(const LaneSpec& spec) const {
  const RunRequest& r = m_controller.request();
  std::string of;
  try {
    check_lane_spec(parse_lane_spec(withSlots(spec, 1, 1)));
    of = with_param(with_param(spec, "slots", ""), "ratio", "").text + '\n' + unitOf(spec);
  } catch (const Error&) {
    return {};
  }
  of += '\n' + textKey(r) + '\n' + std::to_string(r.n_generate) + ' ' + std::to_string(m_n_steps) + '\n' +
        m_workspace.snapshot().model.name + '\n' + m_workspace.snapshot().precision + '\n' + m_controller.modelFolder().toStdString();
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
    const QByteArray key = keyOf(spec);
    if (key.isEmpty() || std::ranges::find(m_asked, key) != m_asked.end()) continue;
    const auto known = m_known.find(key);
    if (known != m_known.end() && known->second.failure.isEmpty()) continue;
    m_known.erase(key);
    m_asked.push_back(key);
  }
  refresh();
}

void BreakPoints::giveUp() {
  m_asked.clear();
  end();
  publish();
}

void BreakPoints::proceed() {
  const int lane = m_workspace.selection().lane;
  const BreakPoint point = m_workspace.breakPoint(lane);
  const auto& lanes = m_controller.request().lanes;
  if (point.state == BreakPoint::State::searching) return giveUp();
  if (!point.marked() || lane >= static_cast<int>(lanes.size())) return ask();
  const std::string wanted = withSlots(lanes[static_cast<std::size_t>(lane)], point.slots, m_workspace.snapshot().n_prompt);
  m_controller.setLaneSpec(lane, QString::fromStdString(wanted));
}

void BreakPoints::end() {
  if (!m_search) return;
  const int run = m_search->run;
  m_search.reset();  // first: the queue tells of it
  m_queue.cancel(run);
}

void BreakPoints::refresh() {
  if (ready()) m_n_steps = static_cast<int>(m_workspace.snapshot().lanes.front().steps.size());
  if (m_controller.viewOnly()) m_asked.clear();  // nothing can be computed from what is shown
  // What is not on screen any more is not wanted any more; a budget that was moved is none of it.
  if (!m_asked.empty()) std::erase_if(m_asked, [this](const QByteArray& key) { return specOf(key) == nullptr; });
  if (m_search && (m_asked.empty() || m_asked.front() != m_search->key)) end();
  if (ready()) begin();
  publish();
}

void BreakPoints::begin() {
  while (!m_search && !m_asked.empty()) {
    const int n_prompt = m_workspace.snapshot().n_prompt;
    const auto least = static_cast<int>(std::ceil(kLeast * n_prompt)), precision = static_cast<int>(kPrecision * n_prompt);
    const int n_read = m_workspace.snapshot().lanes.front().steps.back()->position + 1;
    m_search = {m_asked.front(), 0, {BudgetBisection(least, n_prompt, precision), 0, n_prompt, n_read, countedSteps(), {}}};
    if (m_search->known.n_steps < 1) {
      m_search->known.failure = "nothing was generated after the prompt";
      m_known[m_search->key] = m_search->known;
      m_asked.pop_front();
      m_search.reset();
      continue;
    }
    tryNext();
  }
}

void BreakPoints::tryNext() {
  const LaneSpec* spec = specOf(m_search->key);
  const std::optional<int> n_slots = m_search->known.bisection.next();
  if (spec == nullptr || !n_slots) return;
  const std::size_t before = m_queue.runs().size();
  m_search->run = 0;
  m_queue.add({withSlots(*spec, *n_slots, m_search->known.n_prompt)}, QueuedRun::Purpose::budget);
  if (m_search && m_queue.runs().size() > before) m_search->run = m_queue.runs().back().id;
}

void BreakPoints::take(const QueuedRun& run, const SnapshotPtr& result) {
  if (!m_search || run.id != m_search->run || result->lanes.empty()) return;
  const LaneSnapshot& lane = result->lanes.back();
  Known& known = m_search->known;
  if (static_cast<int>(lane.steps.size()) != m_n_steps || specOf(m_search->key) == nullptr) {
    known.failure = "a run of the search was stopped before its end";
  } else {
    const bool answers = viz::next_changed_step(*result, lane, -1) < 0;
    known.bisection.take(lane.slots_asked, answers);
    if (answers && known.bisection.slots() == lane.slots_asked) {
      const RunFigures figures = run_figures(*result, lane);
      known.held = figures.held.n > 0 ? figures.held.mean() : figures.slots;
    }
  }
  if (known.failure.isEmpty() && known.bisection.next()) {
    tryNext();
  } else {
    m_known[m_search->key] = known;
    m_asked.pop_front();
    m_search.reset();
    if (ready()) begin();
  }
  publish();
}

/// Whoever cancels one of its runs wants the search to end.
void BreakPoints::lookAtQueue() {
  if (!m_search) return;
  const auto run = std::ranges::find(m_queue.runs(), m_search->run, &QueuedRun::id);
  if (run == m_queue.runs().end()) return;
  if (run->state == QueuedRun::State::cancelled) return giveUp();
  if (run->state != QueuedRun::State::failed) return;
  m_search->known.failure = run->failure;
  m_known[m_search->key] = m_search->known;
  m_asked.pop_front();
  m_search.reset();
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
  const LaneSpec& spec = m_controller.request().lanes[lane];
  const QByteArray key = keyOf(spec);
  if (key.isEmpty()) return {State::no_budget, 0, 0, "no budget to lower", "Its policy has none: there is nothing to search."};
  if (std::ranges::find(m_asked, key) != m_asked.end()) {
    const bool now = m_search && m_search->key == key;
    const auto n = now ? static_cast<int>(m_search->known.bisection.tried().size()) : 0;
    return {State::searching, 0, 0, now ? "searching: " + counted(n, "budget", "budgets") + " tried" : QString("waits for its search"), {}};
  }
  const auto found = m_known.find(key);
  if (found == m_known.end()) return {};
  const Known& known = found->second;
  if (!known.failure.isEmpty()) return {State::failed, 0, 0, "not found", known.failure};
  const BudgetBisection& bisection = known.bisection;
  const QString budget = budgetWords(bisection.slots(), known.n_prompt);
  const QString same = QString("the full cache's most likely token in %1 after the prompt.")
                           .arg(known.n_steps == 1 ? QString("the step") : QString("all %1 steps").arg(known.n_steps));
  BreakPoint out{State::found, bisection.slots(), known.held, {}, {}};
  if (bisection.state() == BudgetBisection::State::never) {
    out.state = State::never;
    // No share of the prompt: as many slots as that has tokens are fewer than the full cache has behind it.
    out.words =
        QString("wrong even with %1 of %2 slots")
            .arg(QString::fromStdString(viz::format_count(bisection.slots())), QString::fromStdString(viz::format_count(known.n_read)));
    out.how = "Not " + same +
              QString(
                  "\nThe largest budget that was tried is %1; the full cache has %2 at the last step. Smaller ones were "
                  "not tried: one of them may answer all the same.")
                  .arg(counted(bisection.slots(), "slot", "slots"), QString::fromStdString(viz::format_count(known.n_read)));
  } else if (bisection.state() == BudgetBisection::State::always) {
    out.state = State::always;
    out.words = "answers even at " + budget;
    out.how = "With " + same + "\nIt is the least that was tried.";
  } else {
    out.words = "answers from " + budget;
    out.how = "With " + same + "\nBy bisection, to " + counted(bisection.precision(), "slot", "slots") +
              "; below it the answer differs at the budgets tried (" + differing(bisection) +
              " slots). Others were not tried: more slots need not be better.";
  }
  if (out.marked()) out.share = shareWords(bisection.slots(), known.n_prompt);
  const QString other = contradiction(lane, bisection);
  if (!other.isEmpty()) out.how += '\n' + other;
  return out;
}

/// Where the run on screen shows that more slots are not always better here.
QString BreakPoints::contradiction(std::size_t lane, const BudgetBisection& bisection) const {
  if (!ready()) return {};
  const Snapshot& s = m_workspace.snapshot();
  const LaneSnapshot& shown = s.lanes[lane];
  const bool answers = viz::next_changed_step(s, shown, -1) < 0;
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
