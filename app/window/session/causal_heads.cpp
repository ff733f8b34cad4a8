// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/causal_heads.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "app/window/session/request_key.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "policy/text/lane_edits.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {
constexpr double kLongMs = 30000;  // nobody waits for it unasked
}

CausalHeads::CausalHeads(Workspace& workspace, SessionController& controller, RunQueue& queue, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller), m_queue(queue) {
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::staleChanged})
    connect(&workspace, signal, this, &CausalHeads::refresh);
  connect(&queue, &RunQueue::measured, this, &CausalHeads::take);
  connect(&queue, &RunQueue::changed, this, &CausalHeads::lookAtQueue);
}

void CausalHeads::want(bool on) {
  if (on == m_wanted) return;
  m_wanted = on;
  if (!on) {
    end();
    if (!complete()) m_of = {};  // begins again when it is shown
  }
  refresh();
}

void CausalHeads::ask() {
  m_stopped = false;
  m_asked = true;
  refresh();
}

bool CausalHeads::complete() const {
  return std::ranges::none_of(m_answers, [](const HeadAnswers& of) { return of.steps.empty(); });
}

bool CausalHeads::measuring() const {
  return m_batch > 0 && std::ranges::any_of(m_queue.runs(), [this](const QueuedRun& run) { return run.batch == m_batch && run.open(); });
}

void CausalHeads::end() {
  if (const int batch = std::exchange(m_batch, 0); batch > 0) m_queue.cancelBatch(batch);
}

/// Whoever cancels one of its runs wants none of them.
void CausalHeads::lookAtQueue() {
  const auto cancelled = [this](const QueuedRun& run) { return run.batch == m_batch && run.state == QueuedRun::State::cancelled; };
  if (m_batch > 0 && std::ranges::any_of(m_queue.runs(), cancelled)) {
    m_stopped = true;
    m_asked = false;
    return end();  // which tells of it again
  }
  publish();
}

double CausalHeads::expectedMs(const LaneSnapshot& lane) const {
  const ModelConfig& model = m_workspace.snapshot().model;
  const double one = estimateRuns(m_workspace.snapshot(), {lane.spec}, m_queue.times(), false).ms;
  return std::isnan(one) ? -1 : model.n_layers * model.n_kv_heads * one;
}

CausalHeads::Question CausalHeads::question(const LaneSnapshot& lane) const {
  return {textKey(m_controller) + m_workspace.snapshot().precision, lane.spec, lane.steps.size()};
}

void CausalHeads::refresh() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  const bool ready = snapshot.phase == RunPhase::idle && !m_workspace.stale() && m_controller.answersNewest(snapshot);
  if (!m_wanted || lane == nullptr || !ready || m_controller.viewOnly()) return publish();
  if (Question of = question(*lane); of != m_of) {
    end();
    if (recall(of)) return publish();
    if (m_asked || !(m_stopped || expectedMs(*lane) > kLongMs)) {
      m_of = std::move(of);
      m_answers.clear();
      start(*lane);
    }
  } else if (m_asked && !complete() && !measuring()) {  // a run of it failed, as where its engine ended, or was stopped
    start(*lane);
  }
  publish();
}

/// What was measured before an edit holds again once that is undone.
bool CausalHeads::recall(const Question& of) {
  constexpr std::size_t kRemembered = 32;
  if (!m_answers.empty() && complete()) {
    m_remembered.emplace_front(m_of, m_answers);
    if (m_remembered.size() > kRemembered) m_remembered.pop_back();
  }
  const auto found = std::ranges::find(m_remembered, of, &std::pair<Question, std::vector<HeadAnswers>>::first);
  if (found == m_remembered.end()) return false;
  m_of = of;
  m_heads.clear();
  m_answers = found->second;
  m_remembered.erase(found);
  return true;
}

/// The run in which this head keeps every token: by its budget, or, where the run has none, by pinning them.
static std::string keepingAll(const LaneSnapshot& lane, int layer, int head, int n_tokens) {
  LaneEdits edits = edits_of(lane.spec);
  if (lane.slots_asked >= 0) {
    edits.budgets.push_back({.heads = {{layer}, {head}}, .slots = n_tokens + 1, .factor = {}});
  } else {
    WhatIf pins{.heads = {{layer}, {head}}, .positions = std::vector<int>(static_cast<std::size_t>(n_tokens))};
    std::iota(pins.positions.begin(), pins.positions.end(), 0);
    edits.what_ifs.insert(edits.what_ifs.begin(), std::move(pins));
  }
  return with_edits(lane.spec, edits);
}

/// How many of a head's slots may be gone after a step because somebody took them by hand.
static int takenByHand(const LaneEdits& edits, int layer, int head, int step) {
  std::set<int> taken;
  for (const WhatIf& w : edits.what_ifs)
    if (w.on && w.step <= step && (w.kind == WhatIf::Kind::evict || w.kind == WhatIf::Kind::merge) && w.heads.has(layer, head))
      taken.insert(w.positions.begin(), w.positions.end());
  return static_cast<int>(taken.size());
}

/// The heads that nothing is known of yet.
void CausalHeads::start(const LaneSnapshot& lane) {
  m_asked = false;
  m_heads.clear();
  const Snapshot& snapshot = m_workspace.snapshot();
  if (m_workspace.selection().lane == 0) return;
  m_answers.resize(static_cast<std::size_t>(snapshot.model.n_layers) * snapshot.model.n_kv_heads);
  std::vector<std::string> specs;
  std::size_t head = 0;
  for (int l = 0; l < snapshot.model.n_layers; ++l)
    for (int h = 0; h < snapshot.model.n_kv_heads; ++h, ++head) {
      if (!m_answers[head].steps.empty()) continue;
      specs.push_back(keepingAll(lane, l, h, static_cast<int>(snapshot.tokens.size())));
      m_heads[specs.back()] = head;
    }
  m_queue.add(specs, QueuedRun::Purpose::head);
  if (!m_queue.runs().empty()) m_batch = m_queue.runs().back().batch;
}

void CausalHeads::take(const QueuedRun& run, const SnapshotPtr& result) {
  const auto head = m_heads.find(run.spec);
  if (run.purpose != QueuedRun::Purpose::head || run.batch != m_batch || head == m_heads.end() || result->lanes.empty()) return;
  const LaneSnapshot& lane = result->lanes.back();
  HeadAnswers answers;
  const LaneEdits edits = edits_of(lane.spec);
  const auto n_kv_heads = static_cast<std::size_t>(result->model.n_kv_heads);
  const auto is_whole = [&](const StepRecord& step, int s) {
    const int taken = takenByHand(edits, static_cast<int>(head->second / n_kv_heads), static_cast<int>(head->second % n_kv_heads), s);
    const HeadRecord& record = step.heads[head->second];
    return record.n_slots + taken > step.position && record.unread.empty() && lane.stored_as.empty();
  };
  const int first = first_counted_step(*result, lane), n_alike = steps_of_one_text(*result, lane);
  for (const StepPtr& step : lane.steps) {
    // A policy that removes, leaves unread or stores otherwise whatever the budget is has no such run, and one that reads another text by
    // now has no answer.
    const int s = static_cast<int>(answers.steps.size());
    const bool whole = s < n_alike && head->second < step->heads.size() && is_whole(*step, s);
    answers.steps.push_back(whole ? Answer{step->kl, step->top1_same} : Answer{});
    answers.n_right += answers.steps.back().same && static_cast<int>(answers.steps.size()) > first;
  }
  m_answers[head->second] = std::move(answers);
  publish();
}

void CausalHeads::publish() {
  viz::HeadCauses out;
  const LaneSnapshot* lane = m_workspace.lane();
  const StepRecord* record = m_workspace.stepRecord();
  const auto step = static_cast<std::size_t>(std::max(0, m_workspace.step()));
  // While a view asks, the answers there are stand beside a run whose steps are not all there yet.
  const bool one_text = lane != nullptr && compares(m_workspace.snapshot(), *lane, m_workspace.step());
  const bool of_this = one_text && record != nullptr && (m_wanted ? m_of.ofSameRun(question(*lane)) : m_of == question(*lane));
  if (of_this && !m_answers.empty()) {
    out.kl_without = record->kl;
    out.n_heads = static_cast<int>(m_answers.size());
    out.running = measuring();
    double ms = 0;  // of those that were measured now
    int n_timed = 0;
    for (const QueuedRun& run : m_queue.runs())
      if (run.batch == m_batch && run.state == QueuedRun::State::done) ms += run.ms, ++n_timed;
    out.n_steps = static_cast<int>(lane->steps.size()) - first_counted_step(m_workspace.snapshot(), *lane);
    const viz::StepRange word = viz::word_around(m_workspace.snapshot(), static_cast<int>(step));
    const bool longer = word.first < word.last;
    if (longer) out.word = viz::quoted(viz::words_of_steps(m_workspace.snapshot(), word));
    const auto right = [](const Answer& of) { return of.same; };
    for (const auto& [answers, n_right] : m_answers) {
      const Answer answer = step < answers.size() ? answers[step] : Answer{};
      out.n_measured += answers.empty() ? 0 : 1;
      out.kl.push_back(answer.kl);
      out.returns.push_back(!record->top1_same && answer.same ? 1 : 0);
      const bool same_steps = answers.size() == lane->steps.size();
      out.n_right.push_back(same_steps ? n_right : -1);
      const bool word_there = word.last < static_cast<int>(answers.size());
      if (longer) out.word_right.push_back(word_there && std::all_of(answers.begin() + word.first, answers.begin() + word.last + 1, right));
    }
    const double each = n_timed > 0 ? ms / n_timed : expectedMs(*lane) / out.n_heads;
    if (out.running) out.ms_left = each * (out.n_heads - out.n_measured);
    if (!out.running && m_stopped && !complete()) out.n_unasked = out.n_heads;
  } else if (m_wanted && one_text && m_workspace.selection().lane > 0 && !m_controller.viewOnly() && record != nullptr) {
    const double ms = expectedMs(*lane);
    const ModelConfig& model = m_workspace.snapshot().model;
    if (m_stopped || ms > kLongMs) out.n_unasked = model.n_layers * model.n_kv_heads, out.ms_left = ms;
  }
  m_workspace.setCauses(out);
}

}  // namespace kvscope
