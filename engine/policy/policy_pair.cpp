// SPDX-License-Identifier: Apache-2.0
// Two policies become the halves of one.
#include "policy/policy_pair.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "policy/policy.h"

namespace kvscope {
namespace {

/// Why this policy cannot be the one of the prompt, or the other one; empty: it can.
std::string no_first(const Policy& p) {
  if (p.storage() || p.reading()) return "stores or reads keys and values otherwise";
  if (!p.evict_only()) return "changes what stays, so that another one would not find the prompt's keys and values";
  return p.reload() > 0 ? "goes back to the whole prompt later" : "";
}
std::string no_second(const Policy& p, bool needs_prompt) {
  if (p.storage() || p.reading()) return "stores or reads keys and values otherwise";
  if (needs_prompt) return "looks at the whole prompt";
  if (p.needs().coming_queries > 0) return "looks ahead";
  if (p.reload() > 0) return "goes back to the whole prompt";
  if (!p.compresses()) return "never compresses";
  return p.every_step() ? "" : "compresses only after the prompt; give it refresh, or cadence=every";
}

}  // namespace

std::unique_ptr<Policy> PairMaker::make(const Policy::Setup& setup, const PolicyPair& pair) {
  const std::string where = "run " + quoted(setup.spec.text);
  if (setup.mode == PromptMode::stream)
    throw UsageError(where + ": expected prompt mode prefill (one of its policies is the prompt's), got stream");
  const auto made = [&](const LaneSpec& spec) {
    Policy::Setup half = setup;
    half.spec = spec;
    half.spec.edits = setup.spec.edits;
    if (spec.name == reference_policy()) half.spec.edits.budgets.clear();
    return std::unique_ptr<Policy>(new Policy(half));
  };
  std::unique_ptr<Policy> first = made(pair.prefill), second = made(pair.decode);
  const auto refuse = [&](std::string_view key, const char* expected, const Policy& got, const std::string& why) {
    if (!why.empty()) throw UsageError(fmt::format("{}: {}: expected {}, got {}, which {}", where, key, expected, got.name(), why));
  };
  refuse("prefill", "a policy that only evicts", *first, no_first(*first));
  const bool needs_prompt = second->ranking_->needs_prompt() || second->ranking_->reads_centers() || second->allocation_->needs_prompt() ||
                            second->merger_->run().needs_prompt();
  refuse("decode", "a policy that decides step by step", *second, no_second(*second, needs_prompt));
  if (first->positions() != second->positions())
    throw UsageError(fmt::format("{}: expected two policies that agree where keys stand (positions), got {} and {}", where, first->name(),
                                 second->name()));
  const auto whole_layer = [](const Policy& p) { return p.lane_.parts.selecting->whole_layer; };
  if (whole_layer(*second) && first->limits() && !whole_layer(*first))
    throw UsageError(
        fmt::format("{}: decode: expected a policy that decides head by head, got {}, which decides for a layer as a whole, after {}, "
                    "which leaves its heads different tokens",
                    where, second->name(), first->name()));
  for (const auto& [key, spec] : {std::pair("prefill", &pair.prefill), std::pair("decode", &pair.decode)}) {
    Policy& half = spec == &pair.prefill ? *first : *second;
    PolicyInfo info = find_policy(setup.spec.name);
    info.ranking = fmt::format("{}: {}", key, half.info().ranking);
    info.merging = half.info().merging;
    info.statistic = half.info().statistic;
    info.sees_question_in_prefill = first->info().sees_question_in_prefill;
    const auto text = [](const char* name, const LaneSpec& of) { return ResolvedParam{.key = name, .is_text = true, .text = of.text}; };
    half.half_ =
        std::make_shared<const Policy::Half>(Policy::Half{std::move(info), {text("prefill", pair.prefill), text("decode", pair.decode)}});
  }
  first->next_ = std::move(second);
  return first;
}

}  // namespace kvscope
