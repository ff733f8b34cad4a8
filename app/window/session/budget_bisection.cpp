// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/budget_bisection.h"

#include <algorithm>
#include <cmath>

namespace kvscope {

BudgetBisection::BudgetBisection(int least, int most, int precision)
    : m_least(std::max(1, least)), m_most(std::max(m_least, most)), m_precision(std::max(1, precision)) {}

std::optional<int> BudgetBisection::next() const {
  if (m_state != State::searching) return std::nullopt;
  if (!m_above) return m_most;
  if (m_below) return *m_below + (*m_above - *m_below) / 2;
  return m_least_answers ? m_between.front() : m_least;
}

void BudgetBisection::take(int held, bool answers) {
  const std::optional<int> asked = next();
  if (!asked) return;
  m_tried[held] = answers;
  if (!m_above) return takeMost(held, answers);
  if (!m_below) return takeLeast(held, answers);
  if (answers && held < *m_above)
    m_above = held;
  else  // raised to a budget that is known already: what was asked for lies below everything that this run can have
    m_below = std::max(*asked, answers ? *asked : std::min(held, *m_above - 1));
  if (*m_above - *m_below <= m_precision) m_state = State::found;
}

void BudgetBisection::takeMost(int held, bool answers) {
  m_above = m_top = held;
  if (!answers) m_state = State::never;
  if (answers && held <= m_least) m_state = State::always;
  if (m_state == State::searching) takeBorder();
}

/// Or one of those between it and the most: that few slots answer may be chance.
void BudgetBisection::takeLeast(int held, bool answers) {
  if (!answers) {
    takeBorder();
    if (!m_below) m_below = std::min(held, m_top - 1);
    return;
  }
  if (!m_least_answers) {
    constexpr int kParts = 4;  // of equal ratio
    for (int part = kParts - 1; part > 0; --part) {
      const double share = std::pow(static_cast<double>(m_most) / m_least, part / double{kParts});
      const int slots = static_cast<int>(std::lround(m_least * share));
      if (slots > held && slots < m_most && (m_between.empty() || slots < m_between.back())) m_between.push_back(slots);
    }
    m_least_answers = true;
    m_above = std::min(*m_above, held);
  } else {
    m_between.erase(m_between.begin());
  }
  if (m_between.empty()) m_state = State::always;
}

/// Around the highest that is known not to answer; without one there is none yet.
void BudgetBisection::takeBorder() {
  std::map<int, bool> known = m_tried;
  known.insert(m_seen.begin(), m_seen.end());
  for (const auto& [slots, answers] : known)
    if (!answers && slots < m_top) m_below = slots;
  if (!m_below) return;
  const auto above = std::ranges::find_if(known, [&](const auto& one) { return one.second && one.first > *m_below; });
  m_above = above == known.end() ? m_top : above->first;
  m_tried[*m_below] = false;
  m_tried[*m_above] = true;
  if (*m_above - *m_below <= m_precision) m_state = State::found;
}

}  // namespace kvscope
