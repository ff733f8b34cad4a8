// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <QObject>
#include <QTimer>

#include "app/lessons/lesson.h"
#include "app/window/session/session_controller.h"

namespace kvscope {

class Workspace;

/// Brings a scene's text and runs onto the screen. Where only budgets differ from what is there, they move in a few steps, so that one sees
/// which tokens leave. UI thread only.
class LessonStage : public QObject {
  Q_OBJECT

 public:
  /// How many budgets are shown on the way, and how long each at least.
  static constexpr int kMoves = 6, kMoveMs = 160;

  LessonStage(Workspace& workspace, SessionController& controller, QObject* parent = nullptr);
  /// Who takes a request: it puts aside what the user had before the first one.
  void applyBy(std::function<void(const RunRequest&)> apply) { m_apply = std::move(apply); }
  /// What is on screen already is not asked for again.
  void set(const Stage& stage);
  /// The stage is on its way: what is on screen is not yet the scene's.
  bool waiting() const;

 Q_SIGNALS:
  /// A stage that was waited for stands, or cannot be computed.
  void ready();

 private:
  void move();
  void look();
  bool computed() const;

  Workspace& m_workspace;
  SessionController& m_controller;
  std::function<void(const RunRequest&)> m_apply;
  RunRequest m_from, m_wanted;
  QTimer m_timer;
  int m_moves = 0;  // that are left
  bool m_waiting = false;
};

}  // namespace kvscope
