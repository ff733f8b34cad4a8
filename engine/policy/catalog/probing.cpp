// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/probing_parts.h"

#include "policy/allocations/flat_allocation.h"
#include "policy/allocations/head_allocations.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"
#include "policy/rankings/probed_ranking.h"
#include "policy/selections/threshold_selection.h"

namespace kvscope {
namespace {

std::unique_ptr<Ranking> by_probe(const PartSetup& s) {
  return std::make_unique<ProbedRanking>(StatNeeds::Probe{
      .stretch = s.params.count("repeat", s.slots), .sinks = s.params.count("sinks", s.slots), .by_output = s.params.text("plus") == "1"});
}
std::unique_ptr<Allocation> flat(const PartSetup& s) {
  if (s.params.text("layerwise") == "1") return std::make_unique<AdaptiveAllocation>(0.0, s.slots);
  return std::make_unique<FlatAllocation>();
}
std::unique_ptr<Selection> at_threshold(const PartSetup& s) {
  return std::make_unique<ThresholdSelection>(s.params.first_number({"score_threshold", "threshold"}));
}
std::unique_ptr<Allocation> as_given(const PartSetup& s) {
  if (s.params.has("slots") || s.params.has("ratio")) return std::make_unique<UniformAllocation>();
  return std::make_unique<OutcomeAllocation>();
}

}  // namespace

PartChoice probe_ranking() {
  return {"probe",
          "the most attention that a token gets while the model is asked to repeat the prompt",
          [](PolicyRow& r) {
            r.ranking = by_probe;
            r.reads_attention = false;
            r.info.statistic = "most attention of the probe";
          },
          {{.key = "repeat",
            .kind = ParamInfo::Kind::count,
            .default_text = "2048",
            .min = 1,
            .max = 1'000'000,
            .help = "tokens of the prompt that are repeated in one go"},
           choice("plus", {"0", "1"}, "1: times the norm of the projected value, over that of what the probe's token brings in (KVzip+)")},
          {"4", "0"}};
}

PartChoice flat_allocation() {
  return {"flat",
          "all layers and heads compete: those with more high scores keep more (prefill only)",
          [](PolicyRow& r) { r.allocation = flat; },
          {choice("layerwise", {"0", "1"}, "1: only the heads of a layer compete")}};
}

PartChoice threshold_selection() {
  return {"threshold",
          "all scores below a threshold, so that the number of slots is an outcome; a budget is the most that stays",
          [](PolicyRow& r) {
            r.selection = at_threshold;
            r.allocation = as_given;
            r.budget_may_lack = true;
          },
          {number("score_threshold", "-4", -1e9, 1e9, "score below which a slot goes, once it is not recent any more")}};
}

std::vector<PolicyRow> probing_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(preset({.name = "kvzip",
                         .title = "KVzip",
                         .paper = "KVzip: Query-Agnostic KV Cache Compression with Context Reconstruction, arXiv:2505.23416",
                         .idea = "Keeps what the model looks at when it repeats the prompt; all heads share one budget."},
                        "stat=probe,alloc=flat", "sinks recent repeat plus layerwise"));
  rows.push_back(preset({.name = "dms",
                         .title = "DMS",
                         .paper = "Inference-Time Hyper-Scaling with KV Cache Compression, arXiv:2506.05345",
                         .idea = "Removes what scores below a threshold: how much stays is an outcome."},
                        "stat=knorm,select=threshold", "threshold<score_threshold recent=128 sinks=0"));
  return rows;
}

}  // namespace kvscope
