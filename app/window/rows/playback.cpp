// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/playback.h"

#include <algorithm>

#include "app/window/session/workspace.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

int intervalOf(int speed) { return static_cast<int>(1000 / Playback::kSpeeds[static_cast<std::size_t>(speed)]); }

}  // namespace

Playback::Playback(Workspace& workspace, QObject* parent) : QObject(parent), m_workspace(workspace) {
  m_timer.setTimerType(Qt::PreciseTimer);
  m_timer.setInterval(intervalOf(m_speed));
  connect(&m_timer, &QTimer::timeout, this, [this] { tick(); });
}

QString Playback::speedName(int index) {
  static const char* const kNames[] = {"¼", "½", "1", "2", "4", "8"};
  return QString::fromUtf8(kNames[std::clamp(index, 0, static_cast<int>(kSpeeds.size()) - 1)]);
}

QString Playback::clock() const {
  const LaneSnapshot* lane = m_workspace.lane();
  if (!lane || lane->steps.empty()) return {};
  if (m_workspace.atLatestStep()) return "now";
  const auto count = [](std::size_t n) { return QString::fromStdString(viz::format_count(static_cast<std::int64_t>(n))); };
  return QString("step %1 of %2").arg(count(static_cast<std::size_t>(m_workspace.step())), count(lane->steps.size() - 1));
}

void Playback::stepBy(int steps) {
  if (m_workspace.step() >= 0) goTo(std::max(0, m_workspace.step() + steps));
}

void Playback::goTo(int step) {
  const LaneSnapshot* lane = m_workspace.lane();
  if (!lane) return;
  viz::Selection selection = m_workspace.selection();
  if (step < 0 || step >= static_cast<int>(lane->steps.size()) - 1)
    selection.step.reset();
  else
    selection.step = step;
  m_workspace.setSelection(selection);
}

void Playback::play(bool on) {
  if (on == playing()) return;
  if (on) {
    if (m_workspace.atLatestStep() || m_workspace.step() == m_rest) goTo(0);
    m_timer.start();
  } else {
    m_timer.stop();
  }
  Q_EMIT playingChanged(on);
}

void Playback::setSpeed(int index) {
  index = std::clamp(index, 0, static_cast<int>(kSpeeds.size()) - 1);
  if (index == m_speed) return;
  m_speed = index;
  m_timer.setInterval(intervalOf(index));
  Q_EMIT speedChanged(index);
}

void Playback::tick() {
  stepBy(1);
  const RunPhase phase = m_workspace.snapshot().phase;
  const bool more = m_workspace.stale() || phase == RunPhase::computing || phase == RunPhase::loading;
  if (m_workspace.atLatestStep() && !more) play(false);
}

}  // namespace kvscope
