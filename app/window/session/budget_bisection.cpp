// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/budget_bisection.h"

#include <algorithm>

namespace kvscope {

BudgetBisection::BudgetBisection(int least, int most, int precision)
    : m_least(std::max(1, least)), m_most(std::max(m_least, most)), m_precision(std::max(1, precision)) {}

std::optional<int> BudgetBisection::next() const {
  if (m_state != State::searching) return std::nullopt;
  if (!m_above) return m_most;
  if (!m_below) return m_least;
  return *m_below + (*m_above - *m_below) / 2;
}

void BudgetBisection::take(int held, bool answers) {
  const std::optional<int> asked = next();
  if (!asked) return;
  m_tried[held] = answers;
  if (!m_above) {
    m_above = held;
    if (!answers) m_state = State::never;
    if (answers && held <= m_least) m_state = State::always;
    return;
  }
  if (!m_below) {
    if (answers) {
      m_above = held;
      m_state = State::always;
      return;
    }
    m_below = held;
  } else if (answers && held < *m_above) {
    m_above = held;
  } else {
    // Raised to a budget that is known already: what was asked for lies below everything that this run can have.
    m_below = std::max(*asked, answers ? *asked : std::min(held, *m_above - 1));
  }
  if (*m_above - *m_below <= m_precision) m_state = State::found;
}

}  // namespace kvscope
