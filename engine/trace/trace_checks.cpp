// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "core/from_chars.h"
#include "policy/catalog.h"

namespace kvscope {

namespace {

constexpr double kRounding = 1e-6;

/// True where the value is used as it is given: counts are shares of a budget, no more than there is, or raised to what is protected.
bool stays_as_given(const std::vector<ParamInfo>& keys, const std::string& key) {
  const auto info = std::ranges::find(keys, key, &ParamInfo::key);
  return info != keys.end() && (info->kind == ParamInfo::Kind::number || info->kind == ParamInfo::Kind::choice);
}

}  // namespace

double share_or_null(const JsonCursor& at, double rounding) {
  const double share = at.real_or_null();
  if (share < -rounding || share > 1 + rounding) at.fail("a share from 0 to 1");
  return share;
}

double amount_or_null(const JsonCursor& at) {
  const double amount = at.real_or_null();
  if (amount < -kRounding) at.fail("a number from 0");
  return amount;
}

void check_shares(const JsonCursor& list, std::span<const float> shares) {
  constexpr double kRoundingOfSums = 0.01;  // of many, on devices that compute in 16 bits
  for (std::size_t i = 0; i < shares.size(); ++i) share_or_null(list.at(i), kRoundingOfSums);
  double sum = 0;
  for (const float share : shares) sum += share > 0 ? share : 0;  // what is not known counts as nothing
  if (sum > 1 + kRoundingOfSums) list.fail(fmt::format("shares of one whole, together at most 1 and not {:.4g}", sum));
}

void check_sum(const JsonCursor& list, std::span<const TopToken> tokens) {
  double own = 0, reference = 0;
  for (const TopToken& t : tokens) {
    own += t.p > 0 ? t.p : 0;
    reference += t.p_reference > 0 ? t.p_reference : 0;
  }
  if (std::max(own, reference) > 1 + kRounding)
    list.fail(fmt::format("probabilities that are together at most 1 and not {:.4g}", std::max(own, reference)));
}

void check_run_is_one(const JsonCursor& run, const LaneSnapshot& lane) {
  const LaneSpec spec = lane_spec_of_result(lane.spec);
  const std::string name = spec.name.empty() ? lane.spec.substr(0, lane.spec.find_first_of(":@")) : spec.name;
  if (lane.policy != name) run.at("policy").fail(fmt::format("{}, the policy of the run {}", name, run.at("spec").shown()));
  if (spec.name.empty() || !run.has("params")) return;
  const JsonCursor params = run.at("params");
  const std::vector<ParamInfo> keys = params_of(spec);
  for (const auto& [key, given] : spec.given) {
    const auto param = std::ranges::find(lane.params, key, &ParamText::key);
    if (param == lane.params.end() || (key != "slots" && !stays_as_given(keys, key))) continue;
    const std::optional<double> a = number_from<double>(given), b = number_from<double>(param->value);
    const bool raised = key == "slots" && a && b && *a <= *b;
    if (!raised && (a && b ? *a != *b : given != param->value))
      params.at(key).fail(fmt::format("{}{}, as the run {} says", key == "slots" ? "at least " : "", given, run.at("spec").shown()));
  }
}

void check_choice(const JsonCursor& step, const StepRecord& record, const StepRecord* reference) {
  const int own = record.top1;
  if (!record.logits_top.empty() && own != record.logits_top.front().first)
    step.at("top1").fail(fmt::format("{}, the first of logits_top", record.logits_top.front().first));
  const auto compare = [&](int with, const char* whose) {
    if (own < 0 || with < 0 || record.top1_same == (own == with)) return;
    step.at("top1_same").fail(fmt::format("{}: the most likely token is {}, and {} {}", own == with, own, whose, with));
  };
  compare(record.top1_reference, "the reference's");
  if (reference == nullptr || reference->top1 < 0) return;
  compare(reference->top1, "the full cache's");
  if (record.top1_reference >= 0 && record.top1_reference != reference->top1)
    step.at("top1_reference").fail(fmt::format("{}, the full cache's most likely token", reference->top1));
}

}  // namespace kvscope
