// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "app/window/panels/effect/step_votes.h"
#include "app/window/session/break_point.h"
#include "snapshot/snapshot.h"
#include "viz/canvas.h"
#include "viz/draw/theme.h"
#include "viz/selection.h"

namespace kvscope {

/// What every panel looks at: the newest snapshot, one selection, one hover, one theme. UI thread only. Panels listen and publish here;
/// they never talk to each other.
class Workspace : public QObject {
  Q_OBJECT

 public:
  explicit Workspace(QObject* parent = nullptr);

  const Snapshot& snapshot() const { return *m_snapshot; }  // never null; empty before the first result
  SnapshotPtr snapshotPtr() const { return m_snapshot; }
  const viz::Selection& selection() const { return m_selection; }
  const viz::Hover& hover() const { return m_hover; }
  const viz::Theme& theme() const { return *m_theme; }
  /// Step that views show: the selected one or the latest of the selected lane; -1 without steps.
  int step() const;
  bool atLatestStep() const;
  /// The selected lane; nullptr without lanes.
  const LaneSnapshot* lane() const;
  const StepRecord* stepRecord() const;
  /// What the selected run has read.
  const std::vector<TokenInfo>& read() const { return tokens_of(snapshot(), selection().lane); }
  /// Votes of all heads after it; zeros without a step.
  StepVotes stepVotes() const;
  /// Steps that the user marked; views of time show them.
  const std::vector<viz::StepMark>& stepMarks() const { return m_step_marks; }
  /// Runs that are asked for and not in the snapshot yet.
  const std::vector<viz::WaitingRun>& waitingRuns() const { return m_waiting; }
  /// All places that the search found; views mark them.
  const std::vector<viz::TokenRange>& found() const { return m_found; }
  /// What every head of the shown run does to the shown answer, as far as it was measured.
  const viz::HeadCauses& causes() const { return m_causes; }
  /// By run of the request: its lowest budget that still answers, as far as somebody asked. Empty: nobody did.
  const std::vector<BreakPoint>& breakPoints() const { return m_breaks; }
  BreakPoint breakPoint(int lane) const;
  /// True while the picture is of an older request than the newest one.
  bool stale() const { return m_stale; }
  /// For teaching: the category that is meant (the others step back; nullopt: all are equal), and over how many steps pictures look ahead
  /// and hatch what will have left by then (0: they do not).
  const std::optional<Category>& emphasis() const { return m_emphasis; }
  int ghostSteps() const { return m_ghost_steps; }
  /// Which heads an edit by hand made now would change: "all heads".
  const std::string& editScope() const { return m_edit_scope; }
  /// True once it has been stale for kDimAfterMs: panels dim their content. A quicker answer spares all of them two paints.
  bool dimmed() const { return m_dimmed; }
  /// By how much what is shown fades: a little while it is computed anew, clearly once that was refused and it stays. 0: it is the newest.
  double dim() const;
  static constexpr int kDimAfterMs = 150;

 public Q_SLOTS:
  void setSnapshot(kvscope::SnapshotPtr snapshot);  // clamps the selection to what exists; keeps tokens by identity of the common prefix
  void setSelection(const kvscope::viz::Selection& selection);
  void setHover(const kvscope::viz::Hover& hover);
  void setTheme(const kvscope::viz::Theme& theme);
  void setStale(bool stale);
  void setEmphasis(const std::optional<kvscope::Category>& category);
  void setGhostSteps(int steps);
  void setEditScope(const std::string& words) { m_edit_scope = words; }
  void setStepMarks(const std::vector<kvscope::viz::StepMark>& marks);
  void setCauses(const kvscope::viz::HeadCauses& causes);
  void setBreakPoints(const std::vector<kvscope::BreakPoint>& breaks);
  void setFound(const std::vector<kvscope::viz::TokenRange>& places);
  void setWaitingRuns(const std::vector<kvscope::viz::WaitingRun>& runs);

 Q_SIGNALS:
  void snapshotChanged();
  void selectionChanged();
  void hoverChanged();
  void themeChanged();
  void staleChanged();
  void dimmedChanged();
  void stepMarksChanged();
  void waitingRunsChanged();
  void teachingChanged();  // emphasis, ghosts
  void foundChanged();
  void causesChanged();
  void breakPointsChanged();

 private:
  SnapshotPtr m_snapshot;
  viz::Selection m_selection;
  viz::Hover m_hover;
  const viz::Theme* m_theme;
  std::vector<viz::StepMark> m_step_marks;
  std::vector<viz::WaitingRun> m_waiting;
  bool m_stale = false, m_dimmed = false;
  QTimer m_dim_after;
  std::optional<Category> m_emphasis;
  int m_ghost_steps = 0;
  std::string m_edit_scope = "all heads";
  std::vector<viz::TokenRange> m_found;
  viz::HeadCauses m_causes;
  std::vector<BreakPoint> m_breaks;
  mutable StepVotesOnce m_votes;
};

}  // namespace kvscope
