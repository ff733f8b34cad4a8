// SPDX-License-Identifier: Apache-2.0
// Which parts go together. A rule is a combination that makes no sense, with the reason and what to change.
#include <fmt/format.h>

#include <algorithm>

#include "policy/catalog/custom.h"
#include "policy/catalog/geometry_parts.h"

namespace kvscope {
namespace {

using Parts = Composition;

struct Rule {
  bool (*broken)(const Parts&);
  std::string_view keys;  // that the sentence names first, with their values
  std::string_view reason;
  std::string_view remedy;
};

bool spreads(const Parts& p) { return p.is("stat", "mean") && !p.given("spread").empty() && p.given("spread") != "0"; }
bool merges_keys(const Parts& p) { return p.is_any("merge", "keepkv zeromerge kvmerger d2o"); }

constexpr Rule kRules[] = {
    {[](const Parts& p) { return !p.given("score").empty() && !p.is("stat", "score"); }, "stat score",
     "a score of your own ranks by itself", "leave out stat or score"},
    // areas and their mergers
    {[](const Parts& p) { return p.is("reweight", "critical") && p.is_any("merge", "zeromerge kvmerger"); }, "reweight merge",
     "both say which slots stay", "take another merge, or leave reweight out"},
    {[](const Parts& p) { return p.is("merge", "zeromerge") != p.is("select", "context"); }, "merge select",
     "the residual slots collect what the context sends away, and nothing else", "take merge=zeromerge with select=context"},
    {[](const Parts& p) { return p.is("merge", "kvmerger") != p.is("select", "heavy"); }, "merge select",
     "similar neighbours are joined in what the heavy hitters leave over, and nowhere else", "take merge=kvmerger with select=heavy"},
    // what needs a ranking
    {[](const Parts& p) { return p.is("select", "random") && !p.is("stat", "none"); }, "select stat", "random draws look at no statistic",
     "leave stat out"},
    {[](const Parts& p) { return p.is("stat", "none") && p.is("reweight", "critical"); }, "stat reweight",
     "there is no score that the values could weigh", "choose a statistic, or leave reweight out"},
    {[](const Parts& p) { return p.is("stat", "none") && p.is_any("select", "chunks pages"); }, "stat select",
     "without a score no chunk is worth more than another", "choose a statistic"},
    {[](const Parts& p) { return p.is("stat", "none") && p.is("unit", "layer"); }, "stat unit",
     "there are no scores that the heads of a layer could share", "choose a statistic, or leave unit out"},
    {[](const Parts& p) { return p.is("stat", "none") && p.is_any("alloc", "ada flat"); }, "stat alloc",
     "there are no scores by which heads could compete for slots", "choose a statistic, or another alloc"},
    {[](const Parts& p) { return p.is("stat", "none") && p.is_any("select", "context heavy"); }, "stat select",
     "without a score there are no heavy hitters and the context has no order", "choose a statistic"},
    {[](const Parts& p) { return p.is("alloc", "duo") && !p.is("stat", "none"); }, "alloc stat",
     "a streaming head keeps the first and the newest slots, the others keep everything, so there is nothing to rank", "leave stat out"},
    {[](const Parts& p) { return p.is("alloc", "duo") && p.is("select", "random"); }, "alloc select",
     "a streaming head keeps the first and the newest slots, so there is nothing to draw", "leave select out"},
    // two-stage choice
    {[](const Parts& p) { return p.is("reweight", "critical") && !p.is("select", "top"); }, "reweight select",
     "it chooses in two stages itself", "leave select out"},
    {[](const Parts& p) {
       return p.is("reweight", "critical") && p.is_any("stat", "knorm keydiff leverage noncausal compactor rkv tri qfilter kvzap");
     },
     "reweight stat", "it multiplies a score of 0 or more with the value's norm, and this one may be negative",
     "choose another statistic, or leave reweight out"},
    {[](const Parts& p) { return p.is("reweight", "critical") && p.is("unit", "layer"); }, "reweight unit",
     "the values of every head weigh differently, so the heads cannot decide as one", "leave out unit or reweight"},
    // chunks of tokens
    {[](const Parts& p) { return p.is("select", "pages") && p.is("unit", "head"); }, "select unit",
     "a page holds the same tokens of all heads of a layer", "leave unit out, or take select=chunks"},
    {[](const Parts& p) { return p.is_any("alloc", "ada flat") && p.is_any("select", "chunks pages"); }, "alloc select",
     "the heads' shares are counted in best slots, not in chunks", "choose another alloc, or leave select out"},
    // a threshold instead of a budget
    {[](const Parts& p) { return p.is("stat", "none") && p.is("select", "threshold"); }, "stat select",
     "without a score there is nothing to hold against the threshold", "choose a statistic"},
    {[](const Parts& p) { return p.is("stat", "pooled") && p.is("select", "threshold"); }, "stat select",
     "the observation window is a part of the budget, which may be missing", "take stat=window"},
    {[](const Parts& p) { return p.is("select", "threshold") && !p.is("alloc", "uniform"); }, "select alloc",
     "the threshold says how many slots a head keeps, so there is nothing to split", "leave alloc out"},
    {[](const Parts& p) { return p.is("select", "threshold") && spreads(p); }, "select stat spread",
     "what spread protects is a part of the budget, which may be missing", "leave out select or spread"},
    {[](const Parts& p) { return p.is("select", "threshold") && !p.given("refresh").empty() && p.given("refresh") != "0"; },
     "select refresh", "a threshold is no size that a cache could exceed by so many tokens",
     "leave refresh out, or take cadence=every_step"},
    // one decision for a layer
    {[](const Parts& p) { return p.is("unit", "layer") && p.is_any("alloc", "ada head flat curves"); }, "unit alloc",
     "one decision for all heads of a layer gives them the same slots, this split gives them different numbers", "leave out unit or alloc"},
    {[](const Parts& p) { return p.is("unit", "layer") && p.is("merge", "kvmerger"); }, "unit merge",
     "similar neighbours differ from head to head, so the heads cannot decide as one", "leave out unit or merge"},
    {[](const Parts& p) { return p.is("unit", "layer") && spreads(p); }, "unit stat spread",
     "the attention of every head varies at other tokens, which spread protects", "leave out unit or spread"},
    // budgets of heads
    {[](const Parts& p) { return p.is_any("alloc", "ada flat") && p.is_any("select", "context heavy"); }, "alloc select",
     "the heads' shares are counted in best slots, the areas have sizes of their own", "choose another alloc"},
    {[](const Parts& p) { return p.is_any("alloc", "ada flat") && spreads(p); }, "alloc stat spread",
     "the heads' shares leave no room for what spread protects", "leave out alloc or spread"},
    {[](const Parts& p) { return p.is("stat", "recent") && p.is_any("alloc", "head variance flat curves"); }, "stat alloc",
     "the rows that a layer keeps must be known before the prompt and be the same for all its heads", "take stat=window, or another alloc"},
    // positions and bias
    {[](const Parts& p) { return p.is("positions", "ceiling") && !p.is("stat", "none"); }, "positions stat",
     "slots kept between the first and the newest would be seen from farther away than the first",
     "leave stat out, or take positions=cache"},
    {[](const Parts& p) { return p.is("positions", "ceiling") && (!p.is("alloc", "uniform") || !p.is("select", "top")); },
     "positions alloc select", "the ceiling is the length of one window of newest slots", "leave out alloc and select"},
    {[](const Parts& p) { return !p.is("positions", "original") && merges_keys(p); }, "positions merge",
     "keys are averaged as they were rotated to their places in the text", "take a merge that leaves keys alone, or positions=original"},
    {[](const Parts& p) { return !p.is("bias", "none") && p.is_any("merge", "none cam"); }, "bias merge",
     "every slot stands for one token, there is no vote to count", "choose a merge, or leave bias out"},
    // fitted weights and values
    {[](const Parts& p) { return p.is("merge", "refit") && !p.is("bias", "votes"); }, "bias merge", "the fitted weights are the bias",
     "leave bias out"},
    {[](const Parts& p) { return p.is("merge", "refit") && !p.is("positions", "original"); }, "positions merge",
     "what fits keys at their places in the text does not fit them elsewhere", "leave positions or merge out"},
    {[](const Parts& p) { return p.is("merge", "refit") && !p.is("cadence", "once"); }, "merge cadence",
     "it is fitted to the queries of the whole prompt, which there are only right after it", "take cadence=once"},
    {[](const Parts& p) { return p.is("merge", "refit") && !p.given("refresh").empty() && p.given("refresh") != "0"; }, "merge refresh",
     "it is fitted to the queries of the whole prompt, which there are only right after it", "leave refresh out"},
    // storage
    {[](const Parts& p) { return !p.given("bytes").empty() && p.is("select", "threshold"); }, "select bytes",
     "the threshold says how many slots a head keeps, so their bytes are an outcome", "leave out bytes or select"},
    {[](const Parts& p) { return !p.is("storage", "full") && !p.is("merge", "none"); }, "storage merge",
     "a merge makes a new row, which what the rows around it are stored with does not fit", "leave out merge or storage"},
    {[](const Parts& p) { return !p.is("storage", "full") && !p.is("positions", "original"); }, "storage positions",
     "keys would be rotated anew when the first slot goes, and those that are stored cannot be", "leave out positions or storage"},
    // when
    {[](const Parts& p) { return p.is_any("stat", kOfWholePrompt) && !p.is("cadence", "once"); }, "stat cadence",
     "it looks at the queries of the whole prompt, which there are only right after it", "leave cadence out"},
    {[](const Parts& p) { return p.is_any("stat", kOfWholePrompt) && !p.given("refresh").empty() && p.given("refresh") != "0"; },
     "stat refresh", "it looks at the queries of the whole prompt, which there are only right after it", "leave refresh out"},
    {[](const Parts& p) { return p.is_any("stat", kOfWholePrompt) && p.is("select", "context"); }, "stat select",
     "it ranks once after the prompt, the context ranks in every step", "take stat=window"},
    {[](const Parts& p) { return p.is_any("stat", kOfWindow) && p.is("select", "context"); }, "stat select",
     "its scores are made only when something is removed, the context ranks in every step", "take stat=window"},
    {[](const Parts& p) { return !p.is("cadence", "every_step") && p.is("select", "context"); }, "cadence select",
     "the context hands slots on in every step", "leave cadence out"},
};

}  // namespace

std::string objection(const Composition& parts) {
  const auto is_part = [](std::string_view key) { return std::ranges::find(part_keys(), key, &PartKey::key) != part_keys().end(); };
  for (const Rule& rule : kRules) {
    if (!rule.broken(parts)) continue;
    std::string words;
    for (std::string_view keys = rule.keys; !keys.empty();) {
      const std::string_view key = keys.substr(0, keys.find(' '));
      words += fmt::format("{}{}={}", words.empty() ? "" : " and ", key, is_part(key) ? std::string_view(parts.at(key)) : parts.given(key));
      keys.remove_prefix(std::min(keys.size(), key.size() + 1));
    }
    return fmt::format("{}: {}; {}", words, rule.reason, rule.remedy);
  }
  return {};
}

}  // namespace kvscope
