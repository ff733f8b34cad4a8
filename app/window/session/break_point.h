// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <QString>
#include <QStringList>

namespace kvscope {

/// The lowest budget at which a run still says the full cache's token in the step that is shown, as far as it was asked for.
struct BreakPoint {
  enum class State : std::uint8_t {
    unknown,    // nobody asked
    no_budget,  // the policy has none
    searching,
    found,   // answers at `slots`, not at the lower budgets that were tried
    always,  // answers even at the least that was tried: `slots`
    never,   // does not even at the most
    failed,
  };
  State state = State::unknown;
  int slots = 0;       // per head, that the run has
  double held = 0;     // mean per head at the end, at that budget
  QString words;       // "says «7» from 23.0 % (47 of 204 slots)"; empty where nobody asked
  QString how;         // lines for who wants to know: what all steps need, how it was found, and what that does not say
  QString share = {};  // "23.0 %" of the prompt, where there is a budget to mark
  QString token = {};  // "«7»": the full cache's
  int step = -1;       // of which this is
  int asked = 0;       // slots to ask for, which may be fewer: what is protected raises them
  QString all = {};    // "all 12 steps from 93.2 %"; empty: not known, or there is one step
  QString below = {};  // the same of the whole word or number that the step is a part of, else `all`
  /// More than this step, from a budget of its own: what is right then, the budget's share, slots to ask for.
  struct Wider {
    QString what, share;
    int asked = 0;
    bool operator==(const Wider&) const = default;
  };
  std::vector<Wider> wider = {};  // as far as it is known
  /// Budgets to choose from.
  bool several() const { return marked() && !wider.empty(); }
  /// There is a budget to mark.
  bool marked() const { return state == State::found || state == State::always; }
  /// As the answer to "what saves it?" with what a click does, and in fewer words. What saves this step need not save the others: both
  /// are said, in two lines, as far as there is room.
  QStringList offers() const {
    return {inTwo(token + " from " + share + (several() ? ": set one" : ": set it")), several() ? "set a budget" : "set " + share};
  }
  /// The same where nothing is left to be set.
  QStringList found() const { return {inTwo(token + " from " + share), token + ' ' + share, share}; }
  QString both() const { return how.isEmpty() ? words : words + '\n' + how; }
  bool operator==(const BreakPoint&) const = default;

  QString inTwo(const QString& first) const { return below.isEmpty() ? first : first + '\n' + below; }
};

}  // namespace kvscope
