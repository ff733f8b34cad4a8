// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lesson_stage.h"

#include <algorithm>
#include <cmath>

#include "app/window/session/request_key.h"
#include "app/window/session/workspace.h"
#include "policy/catalog.h"

namespace kvscope {

namespace {

/// The share that a run may keep; 0: its budget is not a share.
double ratioOf(const LaneSpec& spec) {
  const auto ratio = std::ranges::find(spec.given, "ratio", &std::pair<std::string, std::string>::first);
  return ratio == spec.given.end() ? 0 : QString::fromStdString(ratio->second).toDouble();
}

bool sameButRatio(const LaneSpec& a, const LaneSpec& b) {
  const double ratio = ratioOf(a);
  return a.text == b.text || (a.name == b.name && ratio > 0 && ratioOf(b) > 0 &&
                              same_policy(with_param(a, "ratio", "0.5"), with_param(b, "ratio", "0.5")) && a.edits == b.edits);
}

/// Only shares differ, and at least one does.
bool onlyBudgetsDiffer(const RunRequest& a, const RunRequest& b) {
  if (a.prompt != b.prompt || a.mode != b.mode || a.n_generate != b.n_generate || a.lanes == b.lanes || a.lanes.size() != b.lanes.size())
    return false;
  return std::ranges::equal(a.lanes, b.lanes, sameButRatio);
}

/// Shares move by equal factors: from 100 % to 10 % as from 10 % to 1 %.
RunRequest between(const RunRequest& from, const RunRequest& to, double part) {
  RunRequest out = to;
  for (std::size_t i = 0; i < out.lanes.size(); ++i) {
    const double a = ratioOf(from.lanes[i]), b = ratioOf(to.lanes[i]);
    if (a > 0 && b > 0 && a != b)
      out.lanes[i] = with_param(to.lanes[i], "ratio", QString::number(a * std::pow(b / a, part), 'g', 6).toStdString());
  }
  return out;
}

}  // namespace

LessonStage::LessonStage(Workspace& workspace, SessionController& controller, QObject* parent)
    : QObject(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_apply([&controller](const RunRequest& r) { controller.replaceRequest(r); }) {
  m_timer.setInterval(kMoveMs);
  connect(&m_timer, &QTimer::timeout, this, &LessonStage::move);
  // After whatever else the result brings with it.
  connect(&workspace, &Workspace::snapshotChanged, this, &LessonStage::look, Qt::QueuedConnection);
}

bool LessonStage::computed() const {
  const Snapshot& snapshot = m_workspace.snapshot();
  return (snapshot.phase == RunPhase::idle || snapshot.phase == RunPhase::failed) && m_controller.answersNewest(snapshot);
}

bool LessonStage::waiting() const { return m_waiting; }

void LessonStage::set(const Stage& stage) {
  m_timer.stop();
  m_moves = 0;
  m_waiting = false;
  m_from = m_controller.request();
  if (stage.empty() || m_from.lanes.empty()) return;  // the window has not begun
  m_wanted = staged(m_from, stage);
  const bool there = textKey(m_wanted) == textKey(m_from) && m_wanted.lanes == m_from.lanes && m_wanted.n_generate == m_from.n_generate;
  m_waiting = !there || !computed();
  if (there) return;
  m_moves = onlyBudgetsDiffer(m_from, m_wanted) && computed() ? kMoves : 1;
  move();
}

void LessonStage::move() {
  --m_moves;
  m_apply(m_moves > 0 ? between(m_from, m_wanted, static_cast<double>(kMoves - m_moves) / kMoves) : m_wanted);
  m_moves > 0 ? m_timer.start() : m_timer.stop();
}

void LessonStage::look() {
  if (!m_waiting || m_moves > 0 || !computed()) return;
  m_waiting = false;
  Q_EMIT ready();
}

}  // namespace kvscope
