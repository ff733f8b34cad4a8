// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_checks.h"

#include <fmt/core.h>

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
    if (value == nullptr || (key != "slots" && !stays_as_given(keys, key))) continue;
    const std::optional<double> a = number_from<double>(given), b = number_from<double>(*value);
    const bool raised = key == "slots" && a && b && *a <= *b;
    if (!raised && (a && b ? *a != *b : given != *value))
      params.at(key).fail(fmt::format("{}{}, as the run {} says", key == "slots" ? "at least " : "", given, run.at("spec").shown()));
  }
}

void check_bytes_of_full_cache(const JsonCursor& run, const LaneSnapshot& lane, const ModelConfig& model, std::string_view precision) {
  constexpr std::array kTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};
  const auto* const dtype = std::ranges::find_if(kTypes, [&](DType t) { return name_of(t) == precision; });
  const bool windows = std::ranges::any_of(model.layers, [](const LayerConfig& layer) { return layer.window > 0; });
  if (!run.given("kv_bytes") || dtype == kTypes.end() || windows || !(lane.slots > 0) || !(lane.kv_bytes > 0)) return;
  const double bytes = lane.slots * model.n_layers * model.n_kv_heads * model.head_dim * 2.0 * static_cast<double>(size_of(*dtype));
  if (std::abs(lane.kv_bytes - bytes) > kRounding * bytes)
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
