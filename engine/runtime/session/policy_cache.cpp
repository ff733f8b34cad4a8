// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/policy_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

/// Positions mean something only in the text that they were taken of. Another length is the policy's own complaint.
void check_text(const KeptFile& file, std::span<const int> prompt) {
  if (static_cast<int>(prompt.size()) != file.n_prompt) return;
  const auto [theirs, ours] = std::ranges::mismatch(file.tokens, prompt);
  if (ours != prompt.end())
    throw UsageError(fmt::format("file: {}: expected kept tokens of this prompt, got those of another: token {} is {} here and {} there",
                                 kvscope::quoted(file.path), theirs - file.tokens.begin(), *ours, *theirs));
}

}  // namespace

std::shared_ptr<const Policy> PolicyCache::of(const LaneSpec& spec, const Text& text) {
  GivenFiles files = files_.of(spec);
  const int n_prompt = static_cast<int>(text.prompt.size());
  if (files.kept) check_text(*files.kept, text.prompt);
  Known& known = known_[{spec.text, n_prompt, text.mode, text.seed}];
  known.used = true;
  if (known.policy && known.files == files) return known.policy;
  known.policy.reset();
  known.policy = Policy::make({.spec = spec,
                               .model = config_,
                               .n_prompt = n_prompt,
                               .mode = text.mode,
                               .seed = text.seed,
                               .files = files,
                               .number_bytes = static_cast<double>(size_of(backend_->dtype()))});
  known.files = std::move(files);
  return known.policy;
}

void PolicyCache::forget_unused() {
  std::erase_if(known_, [](const auto& entry) { return !entry.second.used; });
  for (auto& [key, known] : known_) known.used = false;
}

}  // namespace kvscope
