// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/from_chars.h"
#include "policy/catalog.h"

namespace kvscope {

namespace {

constexpr double kRounding = 1e-6;
constexpr double kRoundingOfSums = 0.01;  // of many, on devices that compute in 16 bits

/// What the value of a parameter may be beside what the specification gives.
enum class AsGiven { any, same, at_least, at_most };

/// Counts are shares of a budget, or no more than there is room for; slots are raised to what is protected.
AsGiven as_given(const std::vector<ParamInfo>& keys, const std::string& key, const std::string& given) {
  using Kind = ParamInfo::Kind;
  if (key == "slots") return AsGiven::at_least;
  const auto info = std::ranges::find(keys, key, &ParamInfo::key);
  if (info == keys.end() || info->kind == Kind::text) return AsGiven::any;
  if (info->kind == Kind::number || info->kind == Kind::choice) return AsGiven::same;
  const bool is_count = !is_budget_key(key) && given.find_first_not_of("0123456789") == std::string::npos;
  return is_count ? AsGiven::at_most : AsGiven::any;
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

double cosine_or_null(const JsonCursor& at) {
  const double cosine = at.real_or_null();
  if (std::abs(cosine) > 1 + kRoundingOfSums) at.fail("a cosine from -1 to 1");
  return cosine;
}

void read_weights(const JsonCursor& event, Event& out) {
  if (!event.has("weights")) return;
  const JsonCursor weights = event.at("weights");
  const auto weight = [&](std::size_t i) {  // an authors' code may weigh by the cosine itself, which has a sign
    return out.form == "code" ? weights.at(i).real_or_null() : share_or_null(weights.at(i));
  };
  out.w_removed = weight(0);
  out.w_target = weight(1);
}

void check_shares(const JsonCursor& list, std::span<const float> shares) {
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
    const std::string* value = lane.param(key);
    const AsGiven wanted = as_given(keys, key, given);
    if (value == nullptr || wanted == AsGiven::any) continue;
    const std::optional<double> a = number_from<double>(given), b = number_from<double>(*value);
    const bool in_numbers = a && b, same = in_numbers ? *a == *b : given == *value;
    if (same || (in_numbers && (wanted == AsGiven::at_least ? *b > *a : wanted == AsGiven::at_most && *b < *a))) continue;
    const char* const bound = wanted == AsGiven::at_least ? "at least " : wanted == AsGiven::at_most ? "at most " : "";
    params.at(key).fail(fmt::format("{}{}, as the run {} says", bound, given, run.at("spec").shown()));
  }
}

void check_param(const JsonCursor& run, const char* param, const char* own_key, int own) {
  if (!run.has("params")) return;
  const JsonCursor params = run.at("params");  // of which the value knows its place
  if (!params.given(param)) return;
  const JsonCursor value = params.at(param);
  if (value.is_whole() && value.written() != fmt::to_string(own)) value.fail(fmt::format("{}, the run's {}", own, own_key));
}

void check_sizes(const JsonCursor& run, const LaneSnapshot& lane, const ModelConfig& model, std::string_view precision, bool is_full) {
  const bool has_heads = !lane.steps.empty() && !lane.steps.back()->heads.empty();
  if (has_heads && run.given("slots")) {
    double slots = 0;
    for (const HeadRecord& head : lane.steps.back()->heads) slots += head.n_slots;
    slots /= static_cast<double>(lane.steps.back()->heads.size());
    if (std::abs(lane.slots - slots) > kRounding * std::max(1.0, slots))
      run.at("slots").fail(fmt::format("{:.12g}, the mean of what the heads of the last step hold", slots));
  }
  constexpr std::array kTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};
  const auto* const dtype = std::ranges::find_if(kTypes, [&](DType t) { return name_of(t) == precision; });
  const bool windows = std::ranges::any_of(model.layers, [](const LayerConfig& layer) { return layer.window > 0; });
  if (!run.given("kv_bytes") || dtype == kTypes.end() || windows || !(lane.slots > 0) || !(lane.kv_bytes > 0)) return;
  const double row = model.head_dim * 2.0 * static_cast<double>(size_of(*dtype));
  if (!is_full && !has_heads) return;
  double bytes = is_full ? lane.slots * model.n_layers * model.n_kv_heads * row : 0;
  if (!is_full)
    for (const HeadRecord& head : lane.steps.back()->heads) bytes += std::isnan(head.kv_bytes) ? head.n_slots * row : head.kv_bytes;
  if (std::abs(lane.kv_bytes - bytes) <= kRounding * bytes) return;
  if (!is_full) run.at("kv_bytes").fail(fmt::format("{:.12g}, the sum of what the heads of the last step hold", bytes));
  run.at("kv_bytes")
      .fail(fmt::format("{:.12g}, as {:.12g} slots a head of {} x {} heads have by head_dim {} in {}", bytes, lane.slots, model.n_layers,
                        model.n_kv_heads, model.head_dim, precision));
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
