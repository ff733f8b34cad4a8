// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"

namespace kvscope {
namespace {

std::unique_ptr<Merger> into_neighbour_or_off(const PartSetup& s) { return (s.params.text("merge") == "off" ? evict : into_neighbour)(s); }
std::unique_ptr<Allocation> uniform_or_by_variance(const PartSetup& s) {
  return (s.params.text("alloc") == "variance" ? by_variance : uniform)(s);
}

/// Of the base, and of this model's shape.
std::shared_ptr<const FeatureMaps> maps_of_base(const PartSetup& s) {
  const std::string& base = s.params.text("base");
  const std::shared_ptr<const FeatureMapsFile>& file = s.files.maps;
  if (!file) throw UsageError("maps: expected a safetensors file with the feature maps of this model, got none");
  const auto set = file->sets.find(base);
  if (set == file->sets.end()) {
    std::vector<std::string> names;
    for (const auto& [name, maps] : file->sets) names.push_back(kvscope::quoted(name));
    throw UsageError(fmt::format("maps: {}: expected feature maps for base={}, got those for {}", kvscope::quoted(file->path), base,
                                 fmt::join(names, ", ")));
  }
  const FeatureMaps& maps = set->second;
  if (maps.n_layers != s.model.n_layers || maps.n_kv_heads != s.model.n_kv_heads || maps.head_dim != s.model.head_dim)
    throw UsageError(
        fmt::format("maps: {}: expected feature maps [{} layers, {} KV heads, {}], got [{}, {}, {}]: they are trained for one model",
                    kvscope::quoted(file->path), s.model.n_layers, s.model.n_kv_heads, s.model.head_dim, maps.n_layers, maps.n_kv_heads,
                    maps.head_dim));
  return {file, &maps};
}

}  // namespace

std::vector<PolicyRow> merging_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(
      preset({.name = "cam",
              .title = "CaM",
              .paper = "CaM: Cache Merging for Memory-efficient LLMs Inference, ICML 2024",
              .idea = "Before a token goes, chance decides by its attention whether its value is spread over the tokens after it.",
              .ranking = "as its base"},
             "stat=none,merge=cam", "base m seed", {choice("base", {"streaming", "h2o"}, "whose ranking and protection are used")}));
  rows.back().bases = {"streaming", "h2o"};
  rows.back().own_keys = {"alpha", "refresh"};
  rows.push_back(preset({.name = "d2o",
                         .title = "D2O",
                         .paper = "D2O: Dynamic Discriminative Operations, arXiv:2406.13035",
                         .idea = "Merges a removed token into the most similar key, if that is similar enough."},
                        "stat=sum,merge=d2o", "sinks recent beta<d2o_beta form alloc",
                        {choice("alloc", {"uniform", "variance"},
                                "slots of the layers: equal, or by the variance of the prompt's attention (prefill only)")}));
  rows.back().allocation = uniform_or_by_variance;
  rows.push_back(
      preset({.name = "kvmerger",
              .title = "KVMerger",
              .paper = "Model Tells You Where to Merge, arXiv:2407.08454",
              .idea = "Keys of neighbouring tokens are alike: joins similar ones around the most attended of them, once after the prompt."},
             "stat=sum,merge=kvmerger", "sinks=0 recent=0.34 heavy fit threshold sigma refresh",
             {share_or_count("heavy", "0.24", "slots of most accumulated attention that are never merged (0.24 = share of the budget)")}));
  rows.push_back(preset({.name = "weightedkv",
                         .title = "WeightedKV",
                         .paper = "WeightedKV: Attention Scores Weighted Key-Value Cache Merging, arXiv:2503.01330",
                         .idea = "Drops the key of the least attended token and mixes its value into the next one."},
                        "stat=mean,merge=weightedkv", "sinks recent merge",
                        {choice("merge", {"on", "off"}, "off: the value is dropped too (the paper's ablation)")}));
  rows.back().merger = into_neighbour_or_off;
  rows.push_back(preset({.name = "zeromerge",
                         .title = "ZeroMerge",
                         .paper = "ZeroMerge: Parameter-Free KV Cache Compression, arXiv:2503.10714",
                         .idea = "A few slots collect everything that the context cannot hold; their count lifts their attention.",
                         .merging = "into the residual slot of largest dot product, as a mean by counts; bias alpha ln count"},
                        "stat=decayed,merge=zeromerge", "sinks recent=0.4 residual alpha lambda",
                        {number("alpha", "0.6", 0, 10, "how much the count of a residual slot lifts its attention"),
                         number("lambda", "0.98", 0, 1, "weight of a query against the next one in the score")}));
  rows.back().vote_factor_key = "alpha";
  rows.push_back(
      preset({.name = "less",
              .title = "LESS",
              .paper = "Get More with LESS: Synthesizing Recurrence with KV Cache Compression for Efficient LLM Inference, ICML 2024",
              .idea = "What is evicted lives on in a small state per head, which trained feature maps read like one more slot.",
              .ranking = "as its base",
              .merging = "none: evicted tokens go into the head's state, sums that each query reads like one more slot",
              .statistic = "accumulated attention",
              .computed = "on the host: what each query reads of the state; a device waits for it in every layer"},
             "stat=none", "base maps", {choice("base", {"h2o", "streaming"}, "whose ranking and protection are used"), maps_file()}));
  rows.back().bases = {"h2o", "streaming"};
  rows.back().own_keys = {"positions"};  // the state holds keys as they were rotated
  rows.back().maps = maps_of_base;
  return rows;
}

}  // namespace kvscope
