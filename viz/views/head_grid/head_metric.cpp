// SPDX-License-Identifier: Apache-2.0
// What a cell of the head grid can show: names, units, numbers.
#include "viz/views/head_grid/head_metric.h"

#include <array>
#include <cmath>

#include "snapshot/figures.h"
#include "viz/draw/format.h"

namespace kvscope::viz {

std::optional<Habit> habit_in(HeadMetric metric) {
  const int i = static_cast<int>(metric) - kRecordMetrics;
  return i >= 0 && i < kHabits ? std::optional(static_cast<Habit>(i)) : std::nullopt;
}

bool is_damage(HeadMetric m) {
  return m != HeadMetric::retained && m != HeadMetric::slots && m != HeadMetric::disagreement && !habit_in(m);
}

bool is_of_one_step(HeadMetric m) { return m == HeadMetric::disagreement || m == HeadMetric::cause; }

bool needs_history(HeadMetric m) {
  return m == HeadMetric::local_l1_wo || m == HeadMetric::local_rel_l2 || m == HeadMetric::attention_loss || m == HeadMetric::theta;
}

std::string metric_unit(const Snapshot& snapshot, HeadMetric m) {
  switch (m) {
    case HeadMetric::local_l1_wo:
      return "sum of |x|, this step";
    case HeadMetric::local_rel_l2:
      return "relative L2, this step";
    case HeadMetric::retained:
      return "slots / tokens seen";
    case HeadMetric::votes_lost:
      return "tokens, up to this step";
    case HeadMetric::attention_loss:
      return "of the reference, this step";
    case HeadMetric::slots:
      return "slots, after this step";
    case HeadMetric::theta:
      return "sum of |x| at most, eviction only";
    case HeadMetric::disagreement:
      return "share of the other heads without its tokens, this step";
    case HeadMetric::cause:
      return "nats";
    case HeadMetric::key_error:
    case HeadMetric::value_error:
      return "as stored, relative L2, mean of the stored slots";
    default:
      break;
  }
  const auto habit = habit_in(m);
  if (!habit || !snapshot.characters) return "";
  const bool groups = snapshot.characters->n_heads > snapshot.model.n_kv_heads;
  return habit_unit(*snapshot.characters, *habit) + (groups ? ", highest query head" : "");
}

double head_metric(const HeadRecord& head, HeadMetric metric, int tokens_seen) {
  const auto mean = [](const std::vector<double>& of_slots) {
    Statistics out;
    for (const double error : of_slots) out.add(error);  // NaN: in full precision
    return out.mean();
  };
  switch (metric) {
    case HeadMetric::key_error:
      return mean(head.key_error);
    case HeadMetric::value_error:
      return mean(head.value_error);
    case HeadMetric::local_l1_wo:
      return head.local_l1_wo;
    case HeadMetric::local_rel_l2:
      return head.local_rel_l2;
    case HeadMetric::retained:
      return tokens_seen > 0 ? static_cast<double>(head.n_slots) / tokens_seen : kNotAvailable;
    case HeadMetric::votes_lost:
      return head.evicted_votes;
    case HeadMetric::attention_loss:
      return head.attention_loss;
    case HeadMetric::slots:
      return head.n_slots;
    case HeadMetric::theta:
      return head.theta;
    default:
      return kNotAvailable;
  }
}

std::string format_metric(HeadMetric metric, double value) {
  if (std::isnan(value)) return std::string(kNotAvailableText);
  if (const auto habit = habit_in(metric)) return format_habit(*habit, value);
  switch (metric) {
    case HeadMetric::local_l1_wo:
    case HeadMetric::theta:
    case HeadMetric::cause:
      return format_number(value);
    case HeadMetric::votes_lost:
    case HeadMetric::slots:
      return format_count(std::llround(value));
    default:
      return format_percent(value);
  }
}

const char* metric_name(HeadMetric metric) {
  switch (metric) {
    case HeadMetric::local_l1_wo:
      return "local error after Wₒ";
    case HeadMetric::local_rel_l2:
      return "local error";
    case HeadMetric::retained:
      return "retained";
    case HeadMetric::votes_lost:
      return "votes lost";
    case HeadMetric::attention_loss:
      return "attention lost";
    case HeadMetric::slots:
      return "slots";
    case HeadMetric::theta:
      return "bound of the error after Wₒ";
    case HeadMetric::disagreement:
      return "disagreement in its layer";
    case HeadMetric::cause:
      return "KL saved, full head";
    case HeadMetric::key_error:
      return "error of its stored keys";
    case HeadMetric::value_error:
      return "error of its stored values";
    default:
      break;
  }
  constexpr std::array<const char*, kHabits> habits = {"habit: first tokens", "habit: newest tokens", "habit: previous token",
                                                       "habit: induction",    "habit: retrieval",     "habit: entropy"};
  const auto habit = habit_in(metric);
  return habit ? habits[static_cast<std::size_t>(*habit)] : "";
}

}  // namespace kvscope::viz
