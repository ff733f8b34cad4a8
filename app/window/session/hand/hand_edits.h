// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include <QObject>
#include <QString>

#include "app/window/session/hand/hand_words.h"
#include "app/window/session/hand/moved_edits.h"
#include "policy/catalog.h"
#include "viz/selection.h"

namespace kvscope {

class SessionController;
class Workspace;

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
  /// For an audience: what is restored is pinned, too, so that no later step takes it again.
  void setRestoredStays(bool on) { m_restored_stays = on; }
  /// The heads that an edit made now would change, in words: "L2 · H1", "all heads of L2", "all heads".
  QString scopeWords() const;
  /// Why the selection cannot be edited now; empty if it can.
  QString obstacle() const;
  /// Why an edit of this kind would change nothing; empty if it would.
  QString obstacleOf(kvscope::WhatIf::Kind kind) const;
  /// False: stored results are shown, whose edits stay what they are.
  bool changeable() const;
  bool choosingTarget() const { return m_merging.has_value(); }
  /// The selected tokens are all pinned in the selected head at the step shown: to pin them is to take that back.
  bool unpins() const;
  /// The runs change now because the text did: their edits are about tokens, wherever those are.
  bool followingText() const { return m_following; }

  /// The run whose what-ifs are looked at: the selected one if it has some, else its newest fork; -1: none.
  int fork() const;
  LaneEdits edits(int lane) const;

 public Q_SLOTS:
  /// Applies to the selected tokens so that the step shown already sees it, where that can be. A merge waits for the next token to be
  /// selected, its target.
  void edit(kvscope::WhatIf::Kind kind);
  /// The same as a picture asks for it.
  void editSelected(kvscope::viz::EditTokens::What what);
  /// Takes the selected tokens out of the pins that hold in the selected head, wherever else those hold.
  void unpin();
  /// Gives up a merge that waits for its target.
  void cancel();
  void setOn(int row, bool on);
  void remove(int row);
  void dropFork();
  /// Budget of one head of a lane, or of all heads of a layer (kvHead -1); nullopt: as allocated by its policy.
  void setBudget(int lane, int layer, int kvHead, std::optional<int> slots);
  void resetBudgets(int lane);
  /// One head of the selected run keeps all that it has read; nothing where the run has no budget.
  void giveFullCache(int layer, int kvHead);

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
  /// What an edit is made of: a pin gives a token its slot back first in the heads in which it is gone.
  EditsMade made(WhatIf::Kind kind) const;
  /// In how many of an edit's heads its tokens have a slot at its step, which is no negative one.
  struct Held {
    int n_there = 0, n_gone = 0;
    int last_there = -1;  // of those that are gone: the last step at which one of them had it
  };
  Held held(const WhatIf& what_if) const;
  /// Why an edit would change nothing in any of its heads; empty: it changes something.
  QString emptyEdit(const WhatIf& what_if) const;
  QString noRoom() const;
  /// The run that an edit is made to: the selected one, or the fork of it that is being computed.
  int edited() const;
  /// The edit holds in the selected head (with no head selected: in all of them) at the step shown.
  bool holdsHere(const WhatIf& what_if) const;
  bool pinsHere(const WhatIf& what_if) const { return what_if.kind == WhatIf::Kind::pin && holdsHere(what_if); }
  /// Says why nothing was changed; false: nothing is in the way.
  bool refused(const QString& why);
  void add(EditsMade made);
  void change(int lane, const LaneEdits& edits);
  void tell(const std::string& fork);
  void forgetTold();
  void requestChanged();
  void selectionChanged();
  void snapshotChanged();
  void promptEdited();
  void followText();
  /// A model with other tokens: what was done by hand keeps its places, and that is said where these are other words now.
  void tellOtherTokens();
  /// The runs with what is left of their edits. Where tokens are lost, that is said.
  void keepOnly(const std::function<MovedEdits(const LaneEdits&)>& left);

  Workspace& m_workspace;
  SessionController& m_controller;
  Scope m_scope = Scope::all;
  bool m_restored_stays = false;
  std::optional<WhatIf> m_merging;
  std::string m_told;      // specification of the fork that was spoken of last
  std::string m_told_of;   // textKey() of what it was made on
  std::string m_wanted;    // specification of the fork to be looked at as soon as it is there
  int m_wanted_from = -1;  // the run that was looked at when it was made
  struct Done {
    std::string spec;  // of the fork
    EditsMade made;
    int from() const { return made.front().step + 1; }  // the first step that sees it
  };
  std::optional<Done> m_done;  // whose result has not been told yet
  struct Text {
    ReadPrompt prompt;
    std::vector<LaneSpec> lanes;  // what is left of them
  };
  std::optional<Text> m_text;  // that edits are about, while it is being edited
  struct Named {
    std::string of;                    // the prompt, whatever the model makes of it
    std::map<int, std::string> texts;  // of the tokens that edits name, in the model in which they were named
  } m_named;
  QString m_other_tokens;  // what was said of them; empty: they are the same
  QString m_said;          // last
  bool m_following = false;
  std::size_t m_n_lost = 0;  // tokens with which edits went, of which that is said
  bool m_typed = false;      // the text is being edited: the change of what is asked for that comes is no other one
  QString m_refused;         // why, as it is said; empty: nothing was
};

}  // namespace kvscope
