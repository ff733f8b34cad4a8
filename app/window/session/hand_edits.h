// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <QObject>
#include <QString>

#include "policy/catalog.h"
#include "viz/selection.h"

namespace kvscope {

class SessionController;
class Workspace;
struct LaneSnapshot;
struct Snapshot;

/// What was done by hand to a run, for a heading: "«·cat» evicted in all heads · «·mat» pinned in L2 · H1". What is switched off is left
/// out.
QString handWords(const Snapshot& snapshot, const LaneEdits& edits);

/// What the user changes by hand in the selected run: tokens (in a fork beside the run, which itself is never changed) and budgets of
/// single heads (in the run, like its other parameters). Everything ends as an edit in the text of a lane, so it is undone as any edit of
/// the runs.
class HandEdits : public QObject {
  Q_OBJECT

 public:
  enum class Scope { head, layer, all };

  HandEdits(Workspace& workspace, SessionController& controller, QObject* parent = nullptr);

  Scope scope() const { return m_scope; }
  void setScope(Scope scope);
  /// The heads that an edit made now would change, in words: "L2 · H1", "all heads of L2", "all heads".
  QString scopeWords() const;
  /// Why the selection cannot be edited now; empty if it can.
  QString obstacle() const;
  /// Why an edit of this kind would change nothing; empty if it would.
  QString obstacleOf(kvscope::WhatIf::Kind kind) const;
  /// False: stored results are shown, whose edits stay what they are.
  bool changeable() const;
  bool choosingTarget() const { return m_merging.has_value(); }
  /// The runs change now because the text did: their edits are about tokens, wherever those are.
  bool followingText() const { return m_following; }

  /// The run whose what-ifs are looked at: the selected one if it has some, else its newest fork; -1: none.
  int fork() const;
  LaneEdits edits(int lane) const;

 public Q_SLOTS:
  /// Applies to the selected tokens so that the step shown already sees it, where that can be. A merge waits for the next token to be
  /// selected, its target.
  void edit(kvscope::WhatIf::Kind kind);
  /// Gives up a merge that waits for its target.
  void cancel();
  void setOn(int row, bool on);
  void remove(int row);
  void dropFork();
  /// Budget of one head of a lane, or of all heads of a layer (kvHead -1); nullopt: as allocated by its policy.
  void setBudget(int lane, int layer, int kvHead, std::optional<int> slots);
  void resetBudgets(int lane);

 Q_SIGNALS:
  void changed();                   // scope, waiting for a target
  void said(const QString& words);  // what was done, or what is waited for; empty: that is no longer so

 private:
  bool ofTwin(int fork, int run) const;
  void takeRefusalBack();
  HeadChoice heads() const;
  /// Of the selected tokens, done after this step; a token that has not been read by then is left out.
  WhatIf selected(WhatIf::Kind kind, int step) const;
  /// The same before the step shown; after it, where it could not be done earlier.
  WhatIf early(WhatIf::Kind kind) const;
  /// Why an edit would change nothing in any of its heads; empty: it changes something.
  QString emptyEdit(const WhatIf& what_if) const;
  QString resultWords(const LaneSnapshot& fork) const;
  void add(WhatIf what_if);
  void change(int lane, const LaneEdits& edits);
  void requestChanged();
  void selectionChanged();
  void snapshotChanged();
  void promptEdited();
  void followText();

  Workspace& m_workspace;
  SessionController& m_controller;
  Scope m_scope = Scope::all;
  std::optional<WhatIf> m_merging;
  std::string m_told;    // specification of the fork that was spoken of last
  std::string m_wanted;  // specification of the fork to be looked at as soon as it is there
  struct Done {
    std::string spec;  // of the fork
    QString edit;      // "With «8» back in L4 · H3"
    int from = 0;      // the first step that sees it
  };
  std::optional<Done> m_done;  // whose result has not been told yet
  struct Text {
    std::vector<int> ids;  // of the prompt
    std::vector<LaneSpec> lanes;
  };
  std::optional<Text> m_text;  // that edits are about, while it is being edited
  bool m_following = false;
  bool m_lost_told = false;  // that edits went with their tokens
  bool m_refused = false;    // why is said
};

}  // namespace kvscope
