// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/policy_cache.h"

#include <utility>

namespace kvscope {

std::shared_ptr<const Policy> PolicyCache::of(const LaneSpec& spec, const Text& text) {
  HeadTables tables = files_.of(spec);
  Known& known = known_[{spec.text, text.n_prompt, text.mode, text.seed}];
  known.used = true;
  if (known.policy && known.tables == tables) return known.policy;
  known.policy.reset();
  known.policy = Policy::make(
      {.spec = spec, .model = config_, .n_prompt = text.n_prompt, .mode = text.mode, .seed = text.seed, .head_tables = tables});
  known.tables = std::move(tables);
  return known.policy;
}

void PolicyCache::forget_unused() {
  std::erase_if(known_, [](const auto& entry) { return !entry.second.used; });
  for (auto& [key, known] : known_) known.used = false;
}

}  // namespace kvscope
