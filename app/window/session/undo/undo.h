// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <QElapsedTimer>
#include <QUndoCommand>

#include "app/window/session/first_difference.h"
#include "app/window/session/hand/common_ends.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/undo/step_words.h"

namespace kvscope {

/// A step of the text, the runs, or how they are read: says what it changes and where that is seen.
class RunsStep : public QUndoCommand {
 public:
  /// "budget of run F, 10 % → 20 %"; back: it is taken back.
  virtual QString words(const Snapshot& snapshot, bool back) const = 0;
  virtual std::optional<StepPlace> place(bool back) const = 0;
  void redo() final {
    if (m_applied) again();  // the first time it has been done already
    m_applied = true;
  }

 protected:
  /// takingBack: true while a step changes the request itself.
  RunsStep(SessionController& controller, bool& takingBack) : m_controller(controller), m_taking_back(takingBack) {}
  /// After it was taken back.
  virtual void again() = 0;
  const RunRequest& request() const { return m_controller.request(); }
  void ask(const RunRequest& request) {
    const bool outer = std::exchange(m_taking_back, true);
    m_controller.replaceRequest(request);
    m_taking_back = outer;
  }

 private:
  SessionController& m_controller;
  bool& m_taking_back;
  bool m_applied = false;
};

/// An edit of the runs (budget, policy, added, removed). One step back are: the edits of one drag; edits of the same run within a second,
/// or before the one before them was answered; runs of one batch.
class LanesEdit : public RunsStep {
 public:
  struct Occasion {
    int batch = 0;            // of runs that were asked for together; 0: none
    int drag = 0;             // SessionController::drag()
    bool unanswered = false;  // the effect of the edit before it was not shown yet
    int looked_at = 0;        // run
    std::optional<int> step;  // at which it was looked at
  };
  struct Runs {
    std::vector<LaneSpec> lanes;
    int n_generate = 0;
  };
  LanesEdit(SessionController& controller, FirstDifference& difference, bool& takingBack, Runs before, Runs after, Occasion occasion)
      : RunsStep(controller, takingBack),
        m_difference(difference),
        m_before(std::move(before.lanes)),
        m_after(std::move(after.lanes)),
        m_generate_before(before.n_generate),
        m_generate_after(after.n_generate),
        m_occasion(occasion) {
    setText(runsName(m_before, m_after));
    m_age.start();
  }
  /// Of tokens, in a run that it adds or changes.
  bool byHand() const { return m_after.size() > m_before.size() ? handEditOf(m_after.back()) != nullptr : changesHand(); }
  void undo() override {
    m_step_after = m_difference.step();
    apply(m_before, m_generate_after, m_generate_before, m_occasion.step);
  }
  QString words(const Snapshot& snapshot, bool back) const override {
    return back ? runsWords(snapshot, m_after, m_before, true) : runsWords(snapshot, m_before, m_after, false);
  }
  std::optional<StepPlace> place(bool back) const override {
    const auto before = static_cast<std::size_t>(std::max(0, m_occasion.looked_at));
    if (!back || m_after.size() <= m_before.size() || before >= m_before.size())
      return back ? runsPlace(m_after, m_before) : runsPlace(m_before, m_after);
    // Where a run goes again, what was looked at before it came.
    StepPlace place{.lane = m_occasion.looked_at, .spec = m_before[before].text, .look = {}};
    if (const WhatIf* edit = handEditOf(m_after.back())) place.look = look_of(*edit);
    return place;
  }
  int id() const override { return 1; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const LanesEdit*>(other);
    if (m_occasion.batch > 0 && m_occasion.batch == next->m_occasion.batch) {
      take(*next);
      setText(QString("add %1 runs").arg(m_after.size() - m_before.size()));
      return true;
    }
    const Occasion &now = m_occasion, &then = next->m_occasion;
    const bool together = now.drag == then.drag && (now.drag > 0 || then.unanswered || m_age.elapsed() <= 1000);
    if (!together || m_before.size() != next->m_after.size() || editedLane(m_before, m_after) < 0 ||
        editedLane(m_before, m_after) != editedLane(next->m_before, next->m_after))
      return false;
    // Every change of a token by hand is a step back of its own.
    const auto edited = static_cast<std::size_t>(editedLane(m_before, m_after));
    if (m_before[edited].edits.what_ifs != next->m_after[edited].edits.what_ifs) return false;
    if (m_before[edited].name != next->m_after[edited].name) return false;  // and so is the choice of a policy
    take(*next);
    setText(runsName(m_before, m_after));
    m_age.restart();
    return true;
  }

 private:
  void again() override { apply(m_after, m_generate_before, m_generate_after, m_step_after); }
  void take(const LanesEdit& next) {
    m_after = next.m_after;
    m_generate_after = next.m_generate_after;
  }
  /// The step that an edit asked for, to show its effect, goes with it; what was generated since then stays.
  void apply(const std::vector<LaneSpec>& lanes, int generate_from, int generate_to, std::optional<int> step) {
    RunRequest wanted = request();
    wanted.lanes = lanes;
    if (wanted.n_generate == generate_from) wanted.n_generate = generate_to;
    ask(wanted);
    m_difference.takeBack(step);
  }
  /// The only lane that differs; -1 if there are none or several.
  static int editedLane(const std::vector<LaneSpec>& a, const std::vector<LaneSpec>& b) {
    int edited = -1;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (edited >= 0) return -1;
      edited = static_cast<int>(i);
    }
    return a.size() == b.size() ? edited : -1;
  }
  bool changesHand() const {
    const int edited = editedLane(m_before, m_after);
    if (edited < 0) return false;
    const auto i = static_cast<std::size_t>(edited);
    return m_before[i].edits.what_ifs != m_after[i].edits.what_ifs;
  }

  FirstDifference& m_difference;
  std::vector<LaneSpec> m_before, m_after;
  int m_generate_before, m_generate_after;
  Occasion m_occasion;
  std::optional<int> m_step_after;  // at which it was looked at when it was taken back
  QElapsedTimer m_age;
};

/// How the text is read and goes on.
struct ReadingChoices {
  PromptMode mode = PromptMode::prefill;
  Follow follow = Follow::reference;
  double temperature = 0;
  std::uint64_t seed = 0;
  static ReadingChoices of(const RunRequest& request) { return {request.mode, request.follow, request.temperature, request.seed}; }
  bool operator==(const ReadingChoices&) const = default;
};
/// "seed, 0 → 5", "prompt mode, prefill → stream"
QString choicesWords(const ReadingChoices& from, const ReadingChoices& to);

/// Another way to read the text or to go on. Each choice is a step.
class ChoicesEdit : public RunsStep {
 public:
  ChoicesEdit(SessionController& controller, bool& takingBack, const ReadingChoices& before, const ReadingChoices& after)
      : RunsStep(controller, takingBack), m_before(before), m_after(after) {
    setText(choicesWords(before, after).section(',', 0, 0));
  }
  void undo() override { apply(m_before); }
  QString words(const Snapshot&, bool back) const override {
    return back ? choicesWords(m_after, m_before) : choicesWords(m_before, m_after);
  }
  std::optional<StepPlace> place(bool) const override { return std::nullopt; }

 private:
  void again() override { apply(m_after); }
  void apply(const ReadingChoices& choices) {
    RunRequest wanted = request();
    wanted.mode = choices.mode;
    wanted.follow = choices.follow;
    wanted.temperature = choices.temperature;
    wanted.seed = choices.seed;
    ask(wanted);
  }

  ReadingChoices m_before, m_after;
};

/// An edit of the prompt, with what became of edits by hand of its tokens. One step back are: characters that are typed or deleted one by
/// one, each within a second of the one before it; the first of them may take the place of what was selected.
class TextEdit : public RunsStep {
 public:
  TextEdit(SessionController& controller, bool& takingBack, const RunRequest& before, const RunRequest& after)
      : RunsStep(controller, takingBack),
        m_change(Change::between(before.prompt, after.prompt)),
        m_before(meaningOf(before)),
        m_after(meaningOf(after)),
        m_begins(m_change.added.size() <= kCharacter && before.prompt_text == after.prompt_text),
        m_by_key(m_begins && m_change.removed.size() <= kCharacter) {
    setText("edit of the text");
    m_age.start();
  }
  void undo() override { apply(m_change.at, m_change.added, m_change.removed, m_before); }
  QString words(const Snapshot&, bool back) const override {
    return back ? textWords(m_change.added, m_change.removed) : textWords(m_change.removed, m_change.added);
  }
  std::optional<StepPlace> place(bool back) const override {
    return back ? runsPlace(m_after.lanes, m_before.lanes) : runsPlace(m_before.lanes, m_after.lanes);
  }
  int id() const override { return 2; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const TextEdit*>(other);
    const bool moved = next->m_change.removed.empty() && next->m_change.added.empty();  // what was done by hand has followed the text
    if (!moved && !(m_begins && next->m_by_key && m_age.elapsed() <= 1000)) return false;
    const std::string& now = request().prompt;
    std::string before = now;
    for (const Change* change : {&next->m_change, &std::as_const(m_change)})
      before.replace(change->at, change->added.size(), change->removed);
    m_change = Change::between(before, now);
    m_after = next->m_after;
    setObsolete(before == now && m_before == m_after);
    m_age.restart();
    return true;
  }

 private:
  void again() override { apply(m_change.at, m_change.removed, m_change.added, m_after); }
  static constexpr std::size_t kCharacter = 4;  // bytes of UTF-8
  struct Change {
    std::size_t at = 0;
    std::string removed, added;
    static Change between(const std::string& before, const std::string& after) {
      const auto [begin, same] = common_ends(before, after);
      return {begin, before.substr(begin, before.size() - begin - same), after.substr(begin, after.size() - begin - same)};
    }
  };
  struct Meaning {
    PromptText what = PromptText::plain;
    std::vector<int> ids;
    std::vector<LaneSpec> lanes;
    bool operator==(const Meaning&) const = default;
  };
  static Meaning meaningOf(const RunRequest& request) { return {request.prompt_text, request.prompt_ids, request.lanes}; }
  void apply(std::size_t at, const std::string& old_part, const std::string& new_part, const Meaning& meaning) {
    RunRequest wanted = request();
    wanted.prompt.replace(at, old_part.size(), new_part);
    wanted.prompt_text = meaning.what;
    wanted.prompt_ids = meaning.ids;
    wanted.lanes = meaning.lanes;
    ask(wanted);
  }

  Change m_change;
  Meaning m_before, m_after;
  bool m_begins, m_by_key;
  QElapsedTimer m_age;
};

}  // namespace kvscope
