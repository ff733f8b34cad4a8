// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"
#include "policy/selections/hindsight_selection.h"

namespace kvscope {
namespace {

std::unique_ptr<Selection> missed_least(const PartSetup& s) {
  return std::make_unique<HindsightSelection>(s.params.count("horizon", s.slots));
}

}  // namespace

std::vector<PolicyRow> hindsight_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(
      {.info = {.name = "best",
                .title = "Best in hindsight",
                .idea = "Not a method: it knows what comes, and evicts what the next queries would miss least.",
                .ranking = "change of the next queries' outputs (none known: the last ones of the prompt), one removal after the other",
                .merging = std::string(kEvicted),
                .sees_question_in_prefill = true,
                .params = {sinks("4"),
                           recent("0"),
                           {.key = "horizon",
                            .kind = ParamInfo::Kind::count,
                            .default_text = "16",
                            .min = 1,
                            .max = 4096,
                            .help = "queries of the full cache that it knows in advance (tokens of the followed text)"}}},
       .ranking = by_nothing,
       .selection = missed_least,
       .allocation = uniform,
       .merger = evict,
       .takes_group = false});
  return rows;
}

}  // namespace kvscope
