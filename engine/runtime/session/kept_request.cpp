// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/kept_request.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "policy/catalog.h"

namespace kvscope {

void take_kept(RunRequest& request, const KeptFile& kept, int vocab_size) {
  const auto wrong = std::ranges::find_if(kept.tokens, [&](int id) { return id >= vocab_size; });
  if (wrong != kept.tokens.end())
    throw UsageError(fmt::format("{}: token {}: expected a token id in 0..{}, got '{}'", kept.path, wrong - kept.tokens.begin() + 1,
                                 vocab_size - 1, *wrong));
  const auto after_prompt = kept.tokens.begin() + kept.n_prompt;
  request.prompt_ids.assign(kept.tokens.begin(), after_prompt);
  request.follow_ids.assign(after_prompt, kept.tokens.end());
  for (const KeptFile::Run& run : kept.runs) request.lanes.push_back(parse_lane_spec(given_spec(kept.path, run.name)));
}

}  // namespace kvscope
