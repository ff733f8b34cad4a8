// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

namespace kvscope {

/// The lowest budget at which a run still answers as the full cache does, by trying some. The most and the least come first, then the
/// middle of what is left. More slots need not be better: what is found is a border between a budget that answers and one below it that
/// does not, and nothing is said about budgets that were not tried.
class BudgetBisection {
 public:
  enum class State {
    searching,
    found,   // answers at slots(), not at the next lower one that was tried
    always,  // answers even at the least
    never,   // does not even at the most
  };

  /// Slots per head, 1 <= least <= most. It ends when the border is known to `precision` slots.
  BudgetBisection(int least, int most, int precision);

  State state() const { return m_state; }
  /// What to try; nullopt: nothing more.
  std::optional<int> next() const;
  /// What came of next(). `held`: the slots that the run really had, which are more where its policy needs them.
  void take(int held, bool answers);

  /// found, always: the lowest at which it answers; never: the most.
  int slots() const { return m_above.value_or(m_most); }
  /// What was tried, with the slots that the runs had: does it answer?
  const std::map<int, bool>& tried() const { return m_tried; }
  int precision() const { return m_precision; }

 private:
  int m_least, m_most, m_precision;
  State m_state = State::searching;
  std::optional<int> m_above, m_below;  // the lowest that answers, the highest below it that does not
  std::map<int, bool> m_tried;
};

}  // namespace kvscope
