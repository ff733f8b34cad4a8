// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/flat_allocation.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/refit_parts.h"
#include "policy/catalog/rows.h"
#include "policy/mergers/refit_merge.h"
#include "policy/rankings/reference_ranking.h"

namespace kvscope {
namespace {

ReferenceQueries queries_of(const PartSetup& s) {
  using Asked = ReferenceQueries::Asked;
  const std::string& asked = s.params.text("queries");
  std::vector<LogitRule> logits;
  for (int l = 0; l < s.model.n_layers; ++l) logits.push_back(s.model.layer(l).logits);
  return {.asked = asked == "again"   ? Asked::again
                   : asked == "whole" ? Asked::whole
                                      : Asked::observed,
          .logits = std::move(logits),
          .most = s.params.count("references", s.slots)};
}
std::unique_ptr<Ranking> by_reference(const PartSetup& s) {
  return std::make_unique<ReferenceRanking>(queries_of(s), s.params.text("strength") == "max");
}
std::unique_ptr<Merger> refitted(const PartSetup& s) {
  return std::make_unique<RefitMerger>(
      RefitMerger::Options{.queries = queries_of(s), .ridge = s.params.number("ridge"), .limit = s.params.number("limit")});
}

std::unique_ptr<Allocation> flat_or_uniform(const PartSetup& s) {
  if (s.params.text("alloc") == "uniform") return std::make_unique<UniformAllocation>();
  return std::make_unique<FlatAllocation>();
}

ParamInfo queries() {
  return choice(
      "queries", {"again", "whole", "observed"},
      "the prompt's queries: each asked again by the token that comes next; or at its own place, over all slots (authors' code) or "
      "over those that it saw");
}
ParamInfo references() {
  return {.key = "references",
          .kind = ParamInfo::Kind::count,
          .default_text = "1024",
          .min = 1,
          .max = 1'000'000,
          .help = "tokens whose queries count (at most; of a longer prompt those that are evenly spaced)"};
}

}  // namespace

PartChoice reference_ranking() {
  return {"reference",
          "attention that the prompt's queries pay, asked again after it: root mean square, or the largest",
          [](PolicyRow& r) {
            r.ranking = by_reference;
            r.reads_attention = false;
          },
          {queries(), choice("strength", {"rms", "max"}, "over the queries: root mean square, or the largest"), references()},
          {"4", "0"}};
}

PartChoice refit_merger() {
  return {
      "refit",
      "none: removed tokens are evicted, and what stays gets a bias and a value with which it answers the prompt's queries as all did",
      [](PolicyRow& r) { r.merger = refitted; },
      {queries(), number("ridge", "0.01", 1e-9, 1e6, "how strongly weights and values are held where they were, against the mean square"),
       number("limit", "3", 0, 50, "largest size of a bias (0: none, only values are fitted)"), references()}};
}

std::vector<PolicyRow> refit_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(
      preset({.name = "refit",
              .title = "Attention Matching",
              .paper = "Fast KV Compaction via Attention Matching, arXiv:2602.16284",
              .idea = "Gives what stays other weights and values, so that it answers the prompt's queries as the whole cache did."},
             "stat=reference,alloc=flat,merge=refit", "sinks recent alloc queries strength ridge limit references",
             {choice("alloc", {"flat", "uniform"}, "slots of the heads: all heads of all layers compete, or equal")}));
  rows.back().allocation = flat_or_uniform;
  return rows;
}

}  // namespace kvscope
