// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>

#include <QByteArray>
#include <QObject>

#include "app/window/session/break_point.h"
#include "app/window/session/budget_bisection.h"
#include "snapshot/snapshot.h"

namespace kvscope {

class RunQueue;
class SessionController;
class Workspace;
struct LaneSpec;
struct QueuedRun;

/// What would have saved the answer: for every run on screen the lowest budget with the full cache's most likely token in every step after
/// the prompt, found by bisection. Its runs go through the queue one at a time, so that anything that the user does comes first, and they
/// can be cancelled there. Nothing is computed unless somebody asks, and what was found holds for exactly what was asked: another text,
/// length or setting has no mark.
class BreakPoints : public QObject {
  Q_OBJECT

 public:
  BreakPoints(Workspace& workspace, SessionController& controller, RunQueue& queue, QObject* parent = nullptr);

 public Q_SLOTS:
  /// For all runs on screen whose border is not known, the selected one first.
  void ask();
  void giveUp();
  /// With the selected run: asks, gives a search up, or gives the run the budget that was found.
  void proceed();

 private:
  struct Known {
    BudgetBisection bisection{1, 1, 1};
    double held = 0;   // at the lowest budget that answers
    int n_prompt = 0;  // tokens
    int n_read = 0;    // tokens up to the last step: what the full cache holds there
    int n_steps = 0;   // after the prompt
    QString failure;   // why there is none; empty: it is known
  };
  struct Search {
    QByteArray key;
    int run = 0;  // of the queue
    Known known;
  };

  bool ready() const;
  int countedSteps() const;
  /// Everything that the answer depends on, but for the budget; empty: the run has none.
  QByteArray keyOf(const LaneSpec& spec) const;
  const LaneSpec* specOf(const QByteArray& key) const;
  void refresh();
  void begin();
  void tryNext();
  void end();
  void take(const QueuedRun& run, const SnapshotPtr& result);
  void lookAtQueue();
  void publish();
  BreakPoint pointOf(std::size_t lane) const;
  QString contradiction(std::size_t lane, const BudgetBisection& bisection) const;

  Workspace& m_workspace;
  SessionController& m_controller;
  RunQueue& m_queue;
  int m_n_steps = 0;  // of the newest result
  std::map<QByteArray, Known> m_known;
  std::deque<QByteArray> m_asked;  // the first one is being searched
  std::optional<Search> m_search;
};

}  // namespace kvscope
