// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/rows.h"

namespace kvscope {
namespace {

constexpr auto unlimited = plain<UnlimitedAllocation, Allocation>;

}  // namespace

std::vector<PolicyRow> position_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back({.info = {.name = "full",
                           .title = "Full cache",
                           .idea = "Keeps every token; the reference that every other policy is measured against.",
                           .ranking = "none",
                           .merging = "none: nothing is removed"},
                  .ranking = by_position,
                  .selection = top,
                  .allocation = unlimited,
                  .merger = evict,
                  .has_budget = false});
  rows.push_back({.info = {.name = "local",
                           .title = "Local window",
                           .idea = "Keeps the newest tokens and forgets the rest.",
                           .ranking = "position: the newest stay",
                           .merging = std::string(kEvicted),
                           .params = {sinks("0")}},
                  .ranking = by_position,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict});
  rows.push_back(
      {.info = {.name = "streaming",
                .title = "StreamingLLM",
                .paper = "Efficient Streaming Language Models with Attention Sinks, arXiv:2309.17453",
                .idea = "The first tokens soak up attention that has nowhere to go: keeps them beside the newest ones.",
                .ranking = "position: the first few and the newest stay",
                .merging = std::string(kEvicted),
                .params = {sinks("4"), choice("positions", {"cache", "original"},
                                              "position of a key: its index in the cache (as published), or its place in the text")}},
       .ranking = by_position,
       .selection = top,
       .allocation = uniform,
       .merger = evict});
  return rows;
}

}  // namespace kvscope
