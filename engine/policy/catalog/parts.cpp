// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "policy/allocations/head_allocations.h"
#include "policy/allocations/layer_allocations.h"
#include "policy/allocations/measured_heads_allocation.h"
#include "policy/allocations/variance_allocation.h"
#include "policy/catalog/keys.h"
#include "policy/mergers/gated_merge.h"
#include "policy/mergers/keepkv_merge.h"
#include "policy/mergers/neighbour_sets.h"
#include "policy/mergers/residual_merge.h"
#include "policy/mergers/value_spread.h"
#include "policy/mergers/weighted_neighbour.h"
#include "policy/rankings/expression_ranking.h"
#include "policy/selections/area_selection.h"

namespace kvscope {
namespace {

/// Null: none was handed in.
std::shared_ptr<const HeadTable> table_of(std::string_view key, const PartSetup& s) {
  const auto found = s.files.heads.find(key);
  return found == s.files.heads.end() ? nullptr : found->second;
}

int window(const PartSetup& s) { return std::max(1, s.params.count("window", s.slots)); }
double ema_alpha(const PartSetup& s) { return s.params.first_number({"ema_alpha", "alpha"}); }

Predict predict_of(std::string_view text) {
  if (text == "current") return Predict::current;
  return text == "window" ? Predict::window : Predict::ema;
}
MergeForm form_of(std::string_view text) {
  if (text == "zip") return MergeForm::zip;
  return text == "code" ? MergeForm::code : MergeForm::bias;
}

}  // namespace

// ---- rankings
std::unique_ptr<Ranking> by_decayed(const PartSetup& s) { return std::make_unique<DecayedRanking>(s.params.number("lambda")); }
std::unique_ptr<Ranking> by_mean_with_deviating(const PartSetup& s) {
  return std::make_unique<DeviationProtectedRanking>(s.params.count("spread", s.slots), s.slots);
}
std::unique_ptr<Ranking> by_hits(const PartSetup& s) { return std::make_unique<HitRanking>(window(s)); }
std::unique_ptr<Ranking> by_last_row(const PartSetup&) { return std::make_unique<WeightedRowsRanking>(1); }
std::unique_ptr<Ranking> by_weighted_rows(const PartSetup& s) { return std::make_unique<WeightedRowsRanking>(window(s)); }
std::unique_ptr<Ranking> by_pooled_window(const PartSetup& s) {
  const std::string& how = s.params.text("pool");
  const Pool pool = how == "avg" ? Pool::avg : how == "padded" ? Pool::padded : Pool::max;
  return std::make_unique<PooledWindowRanking>(s.observed, s.params.count("kernel", s.slots), pool);
}
std::unique_ptr<Ranking> by_ema_share(const PartSetup& s) { return std::make_unique<EmaShareRanking>(ema_alpha(s), window(s), s.group); }
std::unique_ptr<Ranking> by_expression(const PartSetup& s) {
  ScoreExpression score(s.params.text("score"));
  const EmaShareRanking ema(score.uses(Quantity::ema) ? ema_alpha(s) : 0, window(s), s.group);  // else nobody asks it
  return std::make_unique<ExpressionRanking>(std::move(score), ema);
}

// ---- selections
std::unique_ptr<Selection> top(const PartSetup& s) {
  return std::make_unique<TopSelection>(RemovalOrder::by_pos, s.params.count("drop", s.slots));
}
std::unique_ptr<Selection> one_by_one(const PartSetup&) { return std::make_unique<TopSelection>(RemovalOrder::lowest_first); }
std::unique_ptr<Selection> drawn(const PartSetup& s) { return std::make_unique<RandomSelection>(s.seed); }
std::unique_ptr<Selection> two_stages(const PartSetup& s) {
  return std::make_unique<TwoStageSelection>(s.params.first_number({"critical_alpha", "alpha"}), s.params.number("eps"),
                                             s.params.text("first_of") == "all");
}
int room_for_heavy(const Params& params, int slots) { return params.count("heavy", slots) + 1; }
std::unique_ptr<Selection> heavy_hitters(const PartSetup& s) { return std::make_unique<HeavySelection>(s.params.count("heavy", s.slots)); }
int room_for_residual(const Params& params, int slots) { return std::max(1, params.count("residual", slots)); }
std::unique_ptr<Selection> context_share(const PartSetup& s) {
  return std::make_unique<ContextSelection>(room_for_residual(s.params, s.slots));
}

// ---- allocations
std::unique_ptr<Allocation> pyramid(const PartSetup& s) {
  using Splits = PyramidAllocation::Splits;
  return std::make_unique<PyramidAllocation>(s.params.first_number({"pyramid_beta", "beta"}), s.observes,
                                             s.params.text("split") == "all" ? Splits::all : Splits::beside,
                                             s.params.has("ratio") ? s.params.number("ratio") : 0.0);
}
std::unique_ptr<Allocation> decaying(const PartSetup& s) { return std::make_unique<DecayingAllocation>(s.params.number("decay")); }
std::unique_ptr<Allocation> adaptive(const PartSetup& s) {
  using Safeguard = AdaptiveAllocation::Safeguard;
  return std::make_unique<AdaptiveAllocation>(s.params.first_number({"ada_alpha", "base_alpha", "alpha"}), s.slots,
                                              s.params.text("safeguard") == "floor" ? Safeguard::floor : Safeguard::blend);
}
std::unique_ptr<Allocation> by_importance(const PartSetup& s) {
  const std::shared_ptr<const HeadTable> scores = table_of("scores", s);
  if (!scores) throw UsageError("scores: expected a file with the importance of every query head, got none");
  return std::make_unique<ImportanceAllocation>(scores, s.params.first_number({"head_beta", "beta"}), s.group, s.observes);
}
std::unique_ptr<Allocation> by_variance(const PartSetup&) { return std::make_unique<VarianceAllocation>(); }
std::unique_ptr<Allocation> streaming_heads(const PartSetup& s) {
  const double sparsity = s.params.number("sparsity");
  const int sinks = s.params.count("sinks", s.slots), recent = s.params.count("recent", s.slots);
  if (s.params.text("fly") != "1") return std::make_unique<StreamingHeadsAllocation>(table_of("heads", s), sparsity, sinks, recent);
  if (const std::string& heads = s.params.text("heads"); heads != kOfModel)
    throw UsageError(fmt::format("fly=1 and heads={}: expected one source of the heads' scores, got two; leave one of them out", heads));
  return std::make_unique<MeasuredHeadsAllocation>(sparsity, sinks, recent);
}

// ---- mergers
std::unique_ptr<Merger> into_neighbour(const PartSetup&) { return std::make_unique<WeightedNeighbourMerger>(); }
std::unique_ptr<Merger> into_following_values(const PartSetup& s) {
  return std::make_unique<ValueSpreadMerger>(s.params.count("m", s.slots), s.seed);
}
std::unique_ptr<Merger> into_alike_enough(const PartSetup& s) {
  return std::make_unique<GatedMerger>(s.params.first_number({"d2o_beta", "beta"}),
                                       s.params.text("form") == "code" ? MergeForm::code : MergeForm::paper);
}
std::unique_ptr<Merger> into_pivots(const PartSetup& s) {
  NeighbourSetMerger::Options options;
  options.fits_budget = s.params.text("fit") == "budget";
  options.threshold = s.params.number("threshold");
  const std::string& sigma = s.params.text("sigma");
  if (sigma == "eq7")
    options.sigma.kind = Sigma::Kind::eq7;
  else if (sigma != "mean")
    options.sigma = {Sigma::Kind::number, s.params.number("sigma")};
  return std::make_unique<NeighbourSetMerger>(options);
}
std::unique_ptr<Merger> into_residual(const PartSetup& s) {
  return std::make_unique<ResidualMerger>(room_for_residual(s.params, s.slots), s.params.has("lambda"));
}
std::unique_ptr<Merger> into_nearest_key(const PartSetup& s) {
  KeepkvMerger::Options options;
  options.threshold = s.params.number("threshold");
  options.predict = predict_of(s.params.text("predict"));
  options.alpha = ema_alpha(s);
  options.window = window(s);
  options.form = form_of(s.params.text("form"));
  options.group = s.group;
  return std::make_unique<KeepkvMerger>(options);
}

}  // namespace kvscope
