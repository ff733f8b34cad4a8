// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <QElapsedTimer>
#include <QLabel>

#include "policy/catalog.h"

namespace kvscope {

class SessionController;
class Workspace;

/// What the last change of single heads (a value or a budget of their own, or taken back) did to the selected run, against the run as it
/// was before: mean KL and top-1 of the decode steps. Hidden unless run and text are as that change left them.
class HeadEffect : public QLabel {
  Q_OBJECT

 public:
  HeadEffect(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// "threshold 0.6 only in L4 · H1: mean KL 1.20 → 1.10 nats (−8.3 %), top-1 same 10 → 11 of 12"; empty: nothing is said.
  QString words() const;

 private:
  struct Figures {
    double mean_kl = 0;
    int top1_same = 0, n_steps = 0;
  };
  std::optional<Figures> figures(int lane, const std::string& spec) const;
  void takeRequest();
  void refresh();

  Workspace& m_workspace;
  SessionController& m_controller;
  std::vector<LaneSpec> m_lanes;  // of the request before
  std::string m_text;             // that it was about
  struct Change {
    int lane = -1;
    LaneSpec base, spec;  // without and with it
    QString what;
    std::optional<Figures> before;
  };
  std::optional<Change> m_change;
  QElapsedTimer m_age;
};

/// What differs between two specifications in single heads: "threshold 0.6 only in L4 · H1"; empty: nothing, or more than that differs.
QString headChangeWords(const LaneSpec& before, const LaneSpec& after);

}  // namespace kvscope
