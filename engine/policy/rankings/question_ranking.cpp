// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/question_ranking.h"

#include <fmt/format.h>

#include "core/not_available.h"

namespace kvscope {

void QuestionRanking::require(StatNeeds& needs) const {
  needs.rows = std::max({needs.rows, w_, 1});
  needs.row_sums = RowSums::by_place;
}

std::vector<double> QuestionRanking::statistic(const SlotState& slots) const {
  const int rows = slots.rows.rows();
  const double before_first = static_cast<double>(slots.size() - rows);  // slots before the oldest row's own
  std::vector<double> score = slots.rows.sums();
  const std::vector<double> by_place = by_slots_seen_ ? slots.rows.sums_by_place() : std::vector<double>();
  for (std::size_t i = 0; i < score.size(); ++i) score[i] = (by_slots_seen_ ? before_first * score[i] + by_place[i] : score[i]) / rows;
  return score;
}

std::string QuestionRanking::equation() const {
  return fmt::format("mean attention of the last {} queries, the question's{}", w_,
                     by_slots_seen_ ? ", each × the slots before its own" : "");
}

std::vector<double> QuestionRanking::score(const HeadView& head) const {
  std::vector<double> score = statistic(*head.slots);
  const std::size_t ranked = score.size() - std::min(score.size(), static_cast<std::size_t>(w_));
  std::fill(score.begin() + static_cast<std::ptrdiff_t>(ranked), score.end(), kNotAvailable);
  return score;
}

}  // namespace kvscope
