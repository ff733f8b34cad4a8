// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/generated.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope::viz {

namespace {

/// Probability of the token that the reference goes on with, in the lane.
double probability(const StepRecord& step, int token) {
  if (token == step.next_token && !std::isnan(step.nll)) return std::exp(-step.nll);
  for (const TopToken& top : step.top_tokens) {
    if (top.id == token) return top.p;
  }
  return kNotAvailable;
}

}  // namespace

std::vector<GeneratedToken> generated_tokens(const Snapshot& snapshot, const LaneSnapshot& lane) {
  std::vector<GeneratedToken> out;
  const auto n_compared = static_cast<std::size_t>(steps_of_one_text(snapshot, lane));
  for (std::size_t s = 0; s < lane.steps.size(); ++s) {
    const StepRecord& step = *lane.steps[s];
    if (step.position < snapshot.n_prompt - 1) continue;
    const int next = step.position + 1;  // the token that this step predicts
    const bool known = next < static_cast<int>(snapshot.tokens.size());
    const int reference = known ? snapshot.tokens[static_cast<std::size_t>(next)].id : step.top1_reference;
    const bool own = snapshot.follow == "self" && step.next_token >= 0;  // what it is fed may be drawn
    const int says = own ? step.next_token : step.top1;
    const bool same = own && known ? says == reference : step.top1_same;
    out.push_back({static_cast<int>(s), known ? token_text(snapshot.tokens, next) : text_of_id(snapshot, reference),
                   text_of_id(snapshot, says), text_of_id(snapshot, step.top1_reference), same,
                   s < n_compared ? probability(step, reference) : kNotAvailable});
  }
  return out;
}

std::vector<TopToken> candidates(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  std::vector<TopToken> out = lane.steps[static_cast<std::size_t>(step)]->top_tokens;
  if (!compares(snapshot, lane, step))
    for (TopToken& token : out) token.p_reference = token.logit_reference = kNotAvailable, token.rank_reference = 0;
  std::ranges::stable_sort(out, std::greater<>{}, [](const TopToken& t) { return std::max(t.p, t.p_reference); });  // of NaN, p
  return out;
}

std::string goes_on_from(const Snapshot& snapshot) {
  return snapshot.follow == "self"   ? "each run goes on from its own token"
         : snapshot.follow == "file" ? "every run goes on from the given text"
                                     : "every run goes on from the reference's token";
}

std::string answers_text(const Snapshot& snapshot, const LaneSnapshot& lane) {
  std::string full, own;
  for (const GeneratedToken& token : generated_tokens(snapshot, lane)) {
    full += (full.empty() ? "" : " ") + token.reference;
    own += (own.empty() ? "" : " ") + token.says;
  }
  if (full.empty()) return {};
  const bool is_full = !snapshot.lanes.empty() && &lane == &snapshot.lanes.front();
  return "full cache: " + full + (is_full ? std::string() : "; this run: " + own);
}

}  // namespace kvscope::viz
