// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

namespace kvscope {

/// The lowest budget from which on a run answers as the full cache does, by trying some. The most and the least come first, then the
/// middle of what is left. More slots need not be better, and few may answer by chance: what is found is a border between a budget that
/// answers, as all higher ones that are known do, and one below it that does not. Nothing is said about budgets that are not known.
class BudgetBisection {
 public:
  enum class State {
    searching,
    found,   // answers at slots(), not at the next lower one that was tried
    always,  // answers at all that were tried: the most, the least, and some between them
    never,   // does not even at the most
  };

  /// Slots per head, 1 <= least <= most. It ends when the border is known to `precision` slots.
  BudgetBisection(int least, int most, int precision);

  /// Before the first next(): a run that had so many slots was tried for another question, or was on the screen.
  void know(int held, bool answers) { m_tried[held] = answers; }
  void saw(int held, bool answers) { m_seen[held] = answers; }

  State state() const { return m_state; }
  /// What to try; nullopt: nothing more.
  std::optional<int> next() const;
  /// What came of next(). `held`: the slots that the run really had, which are more where its policy needs them.
  void take(int held, bool answers);

  /// found, always: the lowest from which on it answers; never: the most.
  int slots() const { return m_above.value_or(m_most); }
  /// What was tried, and what was seen where the border is it, with the slots that the runs had: does it answer?
  const std::map<int, bool>& tried() const { return m_tried; }
  int precision() const { return m_precision; }

 private:
  void takeMost(int held, bool answers);
  void takeLeast(int held, bool answers);
  void takeBorder();

  int m_least, m_most, m_precision;
  State m_state = State::searching;
  std::optional<int> m_above, m_below;  // the lowest that answers, the highest below it that does not
  int m_top = 0;                        // slots of the run that was given the most
  std::vector<int> m_between;           // to be tried where the least answers, the highest first
  bool m_least_answers = false;
  std::map<int, bool> m_tried, m_seen;
};

}  // namespace kvscope
