// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <QString>

namespace kvscope {

class FirstDifference;
class SessionController;
class Workspace;

/// What a change of the selected run came to that was offered as the answer to a wrong step: the view stays at that step, and says it.
class StepAnswer {
 public:
  StepAnswer(Workspace& workspace, SessionController& controller, FirstDifference& difference)
      : m_workspace(workspace), m_controller(controller), m_difference(difference) {}

  /// Makes the change. with: "L4 H3 in full".
  void make(const QString& with, const std::function<void()>& change);
  /// "With L4 H3 in full «7» again: KL 4.50 → 0.0700 nats."; empty: there was none, or another run, step or text is
  /// shown.
  QString words() const;

 private:
  struct Made {
    QString with;
    std::string spec;  // of the run with the change
    std::string text;  // textKey() of what it was made on
    int step = 0;
    int top1 = -1;  // before it
    double kl = 0;
  };
  Workspace& m_workspace;
  SessionController& m_controller;
  FirstDifference& m_difference;
  std::optional<Made> m_made;
};

}  // namespace kvscope
