// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/latency.h"

#include <algorithm>
#include <cmath>

#include <QCoreApplication>
#include <QEvent>
#include <QMetaEnum>

namespace kvscope {

namespace {

using Ms = std::chrono::duration<double, std::milli>;

double ms(Latency::Clock::duration d) { return Ms(d).count(); }

std::int64_t us(Latency::Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}

bool isInput(QEvent::Type type) {
  switch (type) {
    case QEvent::KeyPress:
    case QEvent::InputMethod:
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseMove:
    case QEvent::Wheel:
    case QEvent::Drop:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Durations::add(double value) {
  if (m_ms.size() < kMost)
    m_ms.push_back(value);
  else
    m_ms[m_next] = value;
  m_next = (m_next + 1) % kMost;
}

double Durations::newest() const { return m_ms.empty() ? kNotAvailable : m_ms[(m_next + kMost - 1) % kMost]; }

double Durations::quantile(double q) const {
  if (m_ms.empty()) return kNotAvailable;
  std::vector<double> sorted = m_ms;
  const double rank = std::ceil(q * static_cast<double>(sorted.size())) - 1;
  const auto at = static_cast<std::ptrdiff_t>(std::clamp(rank, 0.0, static_cast<double>(sorted.size() - 1)));
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
  return sorted[static_cast<std::size_t>(at)];
}

const char* Latency::nameOf(Stage stage) {
  static constexpr const char* kNames[kStages] = {"input to command",
                                                  "command to engine",
                                                  "engine",
                                                  "snapshot to window",
                                                  "window to paint",
                                                  "input to snapshot",
                                                  "input to view",
                                                  "CPU submit",
                                                  "frame",
                                                  "UI event"};
  return kNames[static_cast<int>(stage)];
}

Latency::Latency(Clock::time_point program_start, QObject* parent) : QObject(parent), m_program_start(program_start) {
  QCoreApplication::instance()->installEventFilter(this);
}

Latency::~Latency() = default;

void Latency::clear() {
  for (Durations& stage : m_stages) stage.clear();
  m_longest_ms = 0;
  m_longest_event.clear();
}

bool Latency::eventFilter(QObject* object, QEvent* event) {
  if (isInput(event->type())) m_last_input = Clock::now();
  return QObject::eventFilter(object, event);
}

void Latency::requestChanged() {
  // An input that is long ago is not the cause: a menu, a script.
  const Clock::time_point now = Clock::now();
  m_changed = now - m_last_input < std::chrono::milliseconds(200) ? m_last_input : now;
  m_change_pending = true;
}

void Latency::submitted(quint64 generation) {
  m_edit = Edit{.generation = generation, .command = Clock::now()};
  m_edit->input = m_change_pending ? m_changed : m_edit->command;
  m_change_pending = false;
}

void Latency::snapshotTaken(const Snapshot& snapshot) {
  m_has_result =
      m_has_result || std::any_of(snapshot.lanes.begin(), snapshot.lanes.end(), [](const LaneSnapshot& l) { return !l.steps.empty(); });
  if (!m_edit || m_edit->answered || snapshot.generation < m_edit->generation || snapshot.phase == RunPhase::failed ||
      snapshot.published_us == 0)
    return;
  m_edit->answered = true;
  m_edit->taken = Clock::now();
  m_edit->started_us = snapshot.started_us;
  m_edit->published_us = snapshot.published_us;
  // submitted() comes when the engine has been woken: it may have begun by then.
  m_edit->command = std::min(m_edit->command, Clock::time_point(std::chrono::microseconds(snapshot.started_us)));
  m_edit->input = std::min(m_edit->input, m_edit->command);
}

void Latency::canvasPainted(Clock::time_point begin, double submit_ms) {
  if (!m_frame_begun) {
    m_frame_begun = true;
    m_frame_begin = begin;
    m_submit_ms = 0;
    // Runs when the update that this paint is part of is over and flushed.
    QMetaObject::invokeMethod(
        this, [this] { frameDone(); }, Qt::QueuedConnection);
  }
  m_submit_ms += submit_ms;
}

void Latency::frameDone() {
  m_frame_begun = false;
  ++m_frames;
  const Clock::time_point now = Clock::now();
  add(Stage::submit, m_submit_ms);
  add(Stage::frame, ms(now - m_frame_begin));
  if (m_has_result && !m_open_ms) m_open_ms = ms(now - m_program_start);
  if (m_edit && m_edit->answered) {
    const Edit& e = *m_edit;
    const auto between = [](std::int64_t from, std::int64_t to) { return static_cast<double>(to - from) * 1e-3; };
    add(Stage::command, ms(e.command - e.input));
    add(Stage::waiting, between(us(e.command), e.started_us));
    add(Stage::engine, between(e.started_us, e.published_us));
    add(Stage::hand_over, between(e.published_us, us(e.taken)));
    add(Stage::paint, ms(now - e.taken));
    add(Stage::published, between(us(e.input), e.published_us));
    add(Stage::view, ms(now - e.input));
    m_viewed = e.generation;
    m_edit.reset();
  }
  Q_EMIT recorded();
}

void Latency::eventDone(double value, const char* receiver, int type) {
  if (value <= 1) return;
  add(Stage::event, value);
  if (value <= m_longest_ms) return;
  m_longest_ms = value;
  m_longest_event =
      QString("%1 ms in event %2 of %3").arg(value, 0, 'f', 1).arg(QMetaEnum::fromType<QEvent::Type>().valueToKey(type)).arg(receiver);
}

}  // namespace kvscope
