// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <QObject>

#include "snapshot/snapshot.h"

namespace kvscope {

class RunQueue;
class SessionController;
class Workspace;
struct QueuedRun;

/// Which head breaks the answer: the selected run again, once for every head, in which only this head keeps its full cache. What a head
/// gets wrong by itself (its local error) only correlates with that. The runs go through the queue: anything that the user does comes
/// first, and they can be cancelled there. Nothing is computed unless somebody shows it, nor, where it would take long or was stopped,
/// before somebody asks; what is known is said as long as it holds.
class CausalHeads : public QObject {
  Q_OBJECT

 public:
  CausalHeads(Workspace& workspace, SessionController& controller, RunQueue& queue, QObject* parent = nullptr);

  /// While a view is to show it; once asked it goes on behind another page.
  void want(bool on);
  /// Somebody asks for it, however long it takes, and whether or not it was stopped.
  void ask();

 private:
  struct Answer {
    double kl = kNotAvailable;  // KL(full || run), nats
    bool same = false;          // with the full cache's most likely token
  };

  /// Of one head.
  struct HeadAnswers {
    std::vector<Answer> steps;  // empty: not measured
    int n_right = 0;            // of the steps that count
  };

  struct Question {
    std::string text, spec;
    std::size_t n_steps = 0;
    bool operator==(const Question&) const = default;
    bool ofSameRun(const Question& other) const { return text == other.text && spec == other.spec; }
  };

  Question question(const LaneSnapshot& lane) const;
  void refresh();
  bool complete() const;
  bool measuring() const;
  /// Takes over what is known of another question; false: nothing is. What is asked now is remembered, where it is whole.
  bool recall(const Question& of);
  /// Of all heads; -1: unknown.
  double expectedMs(const LaneSnapshot& lane) const;
  /// Gives up what is being measured.
  void end();
  void start(const LaneSnapshot& lane);
  void take(const QueuedRun& run, const SnapshotPtr& result);
  void lookAtQueue();
  void publish();

  Workspace& m_workspace;
  SessionController& m_controller;
  RunQueue& m_queue;
  bool m_wanted = false;
  bool m_asked = false;                                                    // for what is measured next
  bool m_stopped = false;                                                  // by the user, who has not asked since
  Question m_of;                                                           // that was asked last
  std::map<std::string, std::size_t> m_heads;                              // head by the specification of its run
  std::vector<HeadAnswers> m_answers;                                      // by head
  std::deque<std::pair<Question, std::vector<HeadAnswers>>> m_remembered;  // the newest first
  int m_batch = 0;
};

}  // namespace kvscope
