// SPDX-License-Identifier: Apache-2.0
#include "trace/answer_fates.h"

#include <algorithm>
#include <limits>

namespace kvscope {

namespace {

AnswerFates::Moment moment_of(const LaneFates& fates, std::span<const int> tokens, int step) {
  AnswerFates::Moment out;
  for (const HeadFates& head : fates.heads) {
    std::uint16_t kept = 0, merged = 0;
    for (const int token : tokens) {
      const Fate fate = fate_at(head, token, step);
      if (fate.left > step)
        ++kept;
      else if (fate.lost > step)
        ++merged;
    }
    out.kept.push_back(kept);
    out.merged.push_back(merged);
  }
  return out;
}

}  // namespace

AnswerFates answer_fates(const Snapshot& snapshot, const LaneSnapshot& lane, std::span<const int> tokens) {
  AnswerFates out{.n_tokens = static_cast<int>(tokens.size()),
                  .n_layers = snapshot.model.n_layers,
                  .n_kv_heads = snapshot.model.n_kv_heads,
                  .after_prompt = {},
                  .at_end = {}};
  const int last = static_cast<int>(lane.steps.size()) - 1, prompt = snapshot.prefill_mode ? 0 : snapshot.n_prompt - 1;
  const bool readable = !tokens.empty() && tokens.size() <= std::numeric_limits<std::uint16_t>::max() && prompt >= 0 && prompt <= last &&
                        lane.fates && lane.fates->heads.size() == out.n_heads() && std::ranges::max(tokens) < lane.fates->n_tokens;
  if (!readable) return {};
  out.after_prompt = moment_of(*lane.fates, tokens, prompt);
  out.at_end = moment_of(*lane.fates, tokens, last);
  return out;
}

}  // namespace kvscope
