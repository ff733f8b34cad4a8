// SPDX-License-Identifier: Apache-2.0
// What was trained or measured for one model, and comes from a file.
#include "policy/allocations/curve_allocation.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/learned_parts.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"
#include "policy/rankings/learned_ranking.h"

namespace kvscope {
namespace {

std::unique_ptr<Ranking> by_network(const PartSetup& s) { return std::make_unique<NetworkRanking>(s.files.scorer, s.model); }
std::unique_ptr<Ranking> by_gate(const PartSetup& s) {
  return std::make_unique<GateRanking>(s.files.scorer, s.model, s.params.number("local"));
}
std::unique_ptr<Allocation> by_curves(const PartSetup& s) {
  return std::make_unique<CurveAllocation>(s.files.curves, s.model, s.params.has("ratio") ? s.params.number("ratio") : -1.0);
}

ParamInfo network_file() {
  return needed_file(
      "kvzap_file", "kvzap.safetensors",
      "networks of the model's layers: safetensors as KVzap's authors publish it (layers.L.weight, or layers.L.0 and "
      "layers.L.2); model: kvzap.safetensors in the model's folder",
      FileHolds::scorer,
      "its networks are trained for one model, and without them it would be another method under its name; the authors publish them for "
      "some models (nvidia/KVzap-mlp-MODEL, model.safetensors): put it there, or name another file");
}
ParamInfo gate_file() {
  return needed_file(
      "gates_file", "fastkvzip.safetensors",
      "gates of the model's layers: safetensors with the authors' tensors of gate L behind \"L.\" (POLICIES.md section "
      "4.5); model: fastkvzip.safetensors in the model's folder",
      FileHolds::scorer,
      "its gates are trained for one model, and without them it would be another method under its name; the authors publish them for some "
      "models (Jang-Hyun/Fast-KVzip) as files of PyTorch: write one as safetensors (POLICIES.md section 4.5), or name another file");
}
ParamInfo curves_file() {
  return needed_file(
      "curves", "lukv_curves.safetensors",
      "share that every KV head gives up when 1 to 99 % are to go: safetensors with the tensor budget_curves [99, layers, "
      "KV heads]; model: lukv_curves.safetensors in the model's folder",
      FileHolds::curves,
      "its curves are measured for one model and one ranking, and without them it would be another method under its name; the authors "
      "publish one for Llama-3.1-8B as an array of numpy: write it as safetensors (POLICIES.md section 4.5), or name another file");
}

}  // namespace

PartChoice network_ranking() {
  return {"kvzap",
          "what a network trained for the model makes of the token's hidden state, from a file",
          [](PolicyRow& r) {
            r.ranking = by_network;
            r.reads_attention = false;
            r.info.statistic = "network's score";
          },
          {network_file()},
          {"0", "0"}};
}

PartChoice gate_ranking() {
  return {
      "fastkvzip",
      "how far a gate trained for the model lets the token's hidden state through, from a file; the newest tokens stay",
      [](PolicyRow& r) {
        r.ranking = by_gate;
        r.reads_attention = false;
        r.info.statistic = "gate";
      },
      {gate_file(), number("local", "0.02", 0, 1, "share of the text whose newest tokens score 1 (at least one; of 32000 tokens: 4096)")},
      {"4", "0"}};
}

PartChoice curve_allocation() {
  return {"curves",
          "to each KV head what was measured for it at this budget, from a file",
          [](PolicyRow& r) { r.allocation = by_curves; },
          {curves_file()}};
}

std::vector<PolicyRow> learned_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(preset({.name = "kvzap",
                         .title = "KVzap",
                         .paper = "KVzap: Fast, Adaptive, and Faithful KV Cache Pruning, arXiv:2601.07891",
                         .idea = "A small network says of every token what KVzip would."},
                        "stat=kvzap", "sinks recent file<kvzap_file refresh"));
  rows.push_back(preset({.name = "fastkvzip",
                         .title = "Fast KVzip",
                         .paper = "Fast KVzip: Efficient and Accurate LLM Inference with Gated KV Eviction, arXiv:2601.17668",
                         .idea = "Gates say of every token what KVzip would; all heads share one budget."},
                        "stat=fastkvzip,alloc=flat", "sinks recent local file<gates_file layerwise"));
  rows.push_back(preset({.name = "lukv",
                         .title = "LU-KV",
                         .paper = "Predicting Future Utility: Global Combinatorial Optimization for Task-Agnostic KV Cache Eviction, "
                                  "arXiv:2602.08585",
                         .idea = "Expected Attention with a budget that was measured once for every head."},
                        "stat=expected,alloc=curves", "sinks recent=1 future cov vnorm eps file<curves",
                        {number("eps", "0.02", 0, 1, "added to the expected attention before it meets the norm")}));
  return rows;
}

}  // namespace kvscope
