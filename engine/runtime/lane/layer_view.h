// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cache/head_cache.h"
#include "cache/key_lookups.h"
#include "policy/policy.h"
#include "runtime/model/model.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {

/// What a policy sees of a layer, and what that points to.
struct LayerView {
  std::vector<CacheGeometry> geometry;
  std::vector<HeadView> heads;
  std::vector<std::unique_ptr<Hindsight>> coming;  // of every head; empty: nobody asks
  std::vector<std::unique_ptr<PromptQueries>> asked;
  std::vector<std::vector<int>> pins;  // of every head

  /// Fills in the rest when coming and pins are there. prompt: right after it, else null. caches: all KV heads of the layer; they stay
  /// where they are. lookups: as of CacheGeometry; explains: as of HeadView.
  void show(Backend& backend, const Model& model, int layer, std::span<HeadCache> caches, const PromptRun* prompt, const StatNeeds& needs,
            KeyLookups* lookups, bool explains);
};

/// The whole prompt comes to the caches of a layer, which have room for so many slots, if not for more.
void fill_caches(Backend& backend, const PromptRun& prompt, int layer, std::span<HeadCache> caches, int room = 0);

/// The slots that are left of a prompt in a layer get the statistics that somebody of these needs would have of them if he had watched all
/// of it.
void watch_anew(const PromptRun& prompt, int layer, const StatNeeds& needs, std::span<HeadCache> caches);

/// Shows the policy all layers of the prompt, one after the other, where it asks for that (Policy::surveys). Their slots are loaded
/// already; the caches are left empty. pins: as of LayerView, of one head. explains: as of HeadView.
void survey_prompt(Backend& backend, const Model& model, const PromptRun& prompt, Policy& policy,
                   const std::function<std::span<HeadCache>(int layer)>& caches,
                   const std::function<std::vector<int>(int layer, int kv_head)>& pins, bool explains);

}  // namespace kvscope
