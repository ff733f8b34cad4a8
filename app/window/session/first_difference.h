// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <QObject>

#include "viz/reduce/finding.h"

namespace kvscope {

class SessionController;
class Workspace;

/// Where a run first answers differently from the full cache. After every run the view goes there, unless the user has chosen a step of
/// this text; a head that nobody chose goes with it to another text. What is only generated further, measured or forked by hand moves
/// nothing, nor does a run that was there already.
class FirstDifference : public QObject {
  Q_OBJECT

 public:
  FirstDifference(Workspace& workspace, SessionController& controller, QObject* parent = nullptr);

  /// The next result is shown as the program's first one is: at the first difference, and at the head that lost most there.
  void beginAnew() { m_begins = m_anew = true, m_chosen = false; }
  /// The step that is shown was asked for.
  void keepStep();
  /// What is taken back or done again is no new run: it is shown at the step at which it was shown, unless another one was chosen.
  void takeBack(std::optional<int> step);
  /// Of the selection; nullopt: the latest.
  std::optional<int> step() const { return m_step; }
  void takeSnapshot();

 public Q_SLOTS:
  /// To the next step of the selected run whose top choice differs, round at the end; nothing where there is none.
  void next();
  void previous();
  void nextInAnswer();  // of a streamed text not to those of its prompt

 Q_SIGNALS:
  /// The first result is shown where it goes wrong, which has no history.
  void begun();

 private:
  struct Asked {
    std::string text;               // textKey()
    std::vector<std::string> runs;  // as specified
    bool operator==(const Asked&) const = default;
  };

  Asked asked() const;
  using Search = std::function<int(const Snapshot&, const LaneSnapshot&, int step, bool forward)>;
  void go(const Search& search, bool forward);
  void show(int step, bool with_head);
  bool isNamed(std::pair<int, int> head);

  Workspace& m_workspace;
  SessionController& m_controller;
  Asked m_shown;                    // what the result answered that was looked at last
  std::string m_text, m_chosen_in;  // looked at last; in which a step was chosen
  std::optional<int> m_step;        // of the selection, as far as it was seen
  std::optional<std::pair<int, int>> m_head;
  viz::FindingOnce m_finding;  // heads are walked through by keys, within one step
  bool m_head_chosen = false;
  bool m_begins = true, m_anew = false, m_chosen = false, m_placing = false;
};

}  // namespace kvscope
