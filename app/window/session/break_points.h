// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>

#include <QByteArray>
#include <QObject>

#include "app/window/session/break_point.h"
#include "app/window/session/budget_bisection.h"
#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope {

class RunQueue;
class SessionController;
class Workspace;
struct LaneSpec;
struct QueuedRun;

/// What would have saved the answer: for every run on screen the lowest budget at which it says the full cache's most likely token in the
/// step that is shown, then the one at which it does in every step after the prompt; both by bisection. Its runs go through the queue one
/// at a time, so that anything that the user does comes first, and they can be cancelled there. Nothing is computed unless somebody asks,
/// and what was found holds for exactly what was asked: another step, text, length or setting has no mark.
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
  /// The selected run gets this budget, slots per head.
  void give(int slots);

 private:
  /// A run with a budget that was tried.
  struct Tried {
    int slots = 0;          // per head, that it was given: more than asked for where its policy needs them
    double held = 0;        // mean per head at the end
    std::set<int> differs;  // steps after the prompt whose most likely token is not the full cache's
  };
  struct Known {
    std::map<int, Tried> tried;         // by what was asked for
    std::map<int, std::set<int>> seen;  // of runs that were on the screen: by their slots the steps that differ
    int n_prompt = 0;                   // tokens
    int n_read = 0;                     // tokens up to the last step: what the full cache holds there
    int n_steps = 0;                    // after the prompt
    QString failure;                    // why there is no more; empty: there can be

    /// What these say of steps. It is still searching where they say too little.
    BudgetBisection of(const viz::StepRange& steps) const;
    /// To be tried next for a step, then for its word, then for all steps.
    std::optional<int> wanted(int step, const viz::StepRange& word) const;
    /// What was asked for where a run had so many: fewer, where its policy raised them.
    int askFor(int slots) const;
  };
  struct Asked {
    QByteArray key;
    int step = 0;
    bool operator==(const Asked&) const = default;
  };

  bool ready() const;
  int firstStep() const;
  int countedSteps() const;
  /// Of which the sentence speaks, or would.
  int askedStep() const;
  /// Everything that the answer depends on, but for the budget; empty: the run has none.
  QByteArray keyOf(const LaneSpec& spec) const;
  const LaneSpec* specOf(const QByteArray& key) const;
  void refresh();
  void see();
  void begin();
  void end();
  void fail(const QString& why);
  void take(const QueuedRun& run, const SnapshotPtr& result);
  void lookAtQueue();
  void publish();
  BreakPoint pointOf(std::size_t lane) const;
  void addWider(BreakPoint& point, const Known& known) const;
  QString allSteps(const Known& known, bool searching) const;
  QString contradiction(std::size_t lane, const BudgetBisection& bisection, int step) const;

  Workspace& m_workspace;
  SessionController& m_controller;
  RunQueue& m_queue;
  int m_n_steps = 0;  // of the newest result
  std::map<QByteArray, Known> m_known;
  std::deque<Asked> m_asked;  // the first one is being searched
  int m_run = 0;              // of the queue
  int m_trying = 0;           // slots per head that it was asked for
};

}  // namespace kvscope
