// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> geometry_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(preset({.name = "lagkv",
                         .title = "LagKV",
                         .paper = "LagKV: Lag-Relative Information of the KV Cache Tells Which Tokens Are Important, arXiv:2504.04704",
                         .idea = "Keeps what stands out against the text that follows it."},
                        "stat=lagkv", "sinks lag cross refresh recent"));
  rows.push_back(
      preset({.name = "leverage",
              .title = "Leverage scores",
              .paper = "Compactor: Calibrated Query-Agnostic KV Cache Compression with Approximate Leverage Scores, arXiv:2507.08143",
              .idea = "Keeps keys that no mix of others replaces."},
             "stat=leverage", "sinks recent sketch seed refresh"));
  rows.push_back(
      preset({.name = "noncausal",
              .title = "Non-causal attention",
              .paper = "Compactor: Calibrated Query-Agnostic KV Cache Compression with Approximate Leverage Scores, arXiv:2507.08143",
              .idea = "Neighbours on both sides vote by attention."},
             "stat=noncausal", "sinks recent chunk<attention_chunk"));
  rows.push_back(
      preset({.name = "compactor",
              .title = "Compactor",
              .paper = "Compactor: Calibrated Query-Agnostic KV Cache Compression with Approximate Leverage Scores, arXiv:2507.08143",
              .idea = "Leverage and non-causal attention, blended."},
             "stat=compactor", "sinks recent blend sketch chunk<attention_chunk seed"));
  rows.push_back(preset({.name = "cur",
                         .title = "CurDKV",
                         .paper = "Value-Guided KV Compression for LLMs via Approximated CUR Decomposition, arXiv:2509.15038",
                         .idea = "Keeps large keys with large values."},
                        "stat=cur", "sinks recent window refresh"));
  rows.push_back(preset({.name = "expected",
                         .title = "Expected Attention",
                         .paper = "Expected Attention: KV Cache Compression by Estimating Attention from Future Queries Distribution, "
                                  "arXiv:2510.00636",
                         .idea = "Expects later queries to be like the prompt's."},
                        "stat=expected", "sinks recent future cov vnorm eps<expected_eps"));
  rows.push_back(preset({.name = "qfilter",
                         .title = "Q-Filters",
                         .paper = "Q-Filters: Leveraging QK Geometry for Efficient KV Cache Compression, arXiv:2503.02812",
                         .idea = "One direction per head, measured once, tells which keys are attended to."},
                        "stat=qfilter", "sinks recent file refresh"));
  rows.push_back(preset({.name = "dropkv",
                         .title = "DropKV",
                         .paper = "DropKV: KV Cache Eviction via Decoupled Residual-Output Perturbation, openreview MqfNzH3TVH",
                         .idea = "Drops what changes the output least if it alone goes."},
                        "stat=dropkv", "sinks window kernel whole_window eps<removal_eps refresh"));
  rows.push_back(preset({.name = "tri",
                         .title = "TriAttention",
                         .paper = "TriAttention: Efficient Long Reasoning with Trigonometric KV Compression, arXiv:2604.04921",
                         .idea = "Each head likes some distances: keeps keys that come to lie there."},
                        "stat=tri", "sinks recent zscore every"));
  rows.push_back(preset({.name = "rkv",
                         .title = "R-KV",
                         .paper = "R-KV: Redundancy-aware KV Cache Compression for Reasoning Models, arXiv:2505.24133",
                         .idea = "Drops what other keys say as well."},
                        "stat=rkv", "sinks window kernel lambda<mix similar every"));
  rows.push_back(
      preset({.name = "chunkkv",
              .title = "ChunkKV",
              .paper = "ChunkKV: Semantic-Preserving KV Cache Compression for Efficient Long-Context LLM Inference, arXiv:2502.00299",
              .idea = "SnapKV by whole chunks of text."},
             "stat=pooled,select=chunks", "sinks=0 chunk window kernel pool whole_window refresh"));
  rows.push_back(preset({.name = "pages", .title = "Pages", .idea = "H2O by whole pages: what paging costs."}, "stat=sum,select=pages",
                        "sinks=0 recent block"));
  return rows;
}

}  // namespace kvscope
