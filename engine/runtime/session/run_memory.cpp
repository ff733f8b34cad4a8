// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/run_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/byte_size.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "runtime/lane/layer_window.h"
#include "snapshot/held_bytes.h"

namespace kvscope {

namespace {

constexpr double kSome = 15.0 / 16;  // of the limit: records are looked through again only when as much more has come

/// Slots that a lane has at most with so many tokens, over all KV heads.
double slots_of(const Lane& lane, const ModelConfig& c, int n_tokens) {
  double slots = 0;
  for (int l = 0; l < c.n_layers; ++l)
    for (int h = 0; h < c.n_kv_heads; ++h) slots += std::min(room_of(c, lane.policy(), l, h).value_or(n_tokens), n_tokens);
  return slots;
}

}  // namespace

double record_bytes(const RecordShape& s) {
  const double n_steps = s.last - s.first + 1.0, seen = n_steps * (s.first + s.last) / 2;  // tokens, summed over the steps
  double slots = seen;
  if (s.slots >= 0) {
    const double full_at = std::clamp(s.slots, static_cast<double>(s.first), static_cast<double>(s.last));
    slots = s.slots < s.first ? n_steps * s.slots : (full_at - s.first) * (s.first + full_at) / 2 + (s.last - full_at + 1) * s.slots;
  }
  double a_head = n_steps * static_cast<double>(sizeof(HeadRecord) + (s.compresses ? sizeof(Event) : 0));
  if (s.detail >= Detail::slots) a_head += slots * static_cast<double>(2 * sizeof(int) + (s.compresses ? sizeof(double) : 0));
  if (s.detail == Detail::why) {
    a_head += slots * static_cast<double>(sizeof(int) + sizeof(float) + (s.statistic ? sizeof(double) : 0));
    if (s.compresses) a_head += seen * static_cast<double>(sizeof(float) + (s.agreement ? 1 : 0));
  }
  return a_head * s.n_heads;
}

void check_memory(Lanes lanes, const Model& model, DType dtype, int n_tokens, double of_attention, double memory) {
  const ModelConfig& c = model.config();
  const double a_slot = 2.0 * c.head_dim * static_cast<double>(size_of(dtype));
  const double weights = static_cast<double>(model.files.weight_bytes);
  double caches = 0;
  for (const auto& lane : lanes) caches += a_slot * slots_of(*lane, c, n_tokens);
  if (weights + caches + of_attention <= memory) return;
  throw Error(
      fmt::format("expected a run that fits into the {} of memory of this machine, got {} tokens whose keys and values take about {} "
                  "in all runs together, and what they ask of the prompt's attention {}, beside {} of weights; take a shorter text, fewer "
                  "runs or smaller budgets",
                  size_text(memory), n_tokens, size_text(caches), size_text(of_attention), size_text(weights)));
}

double record_estimate(Lanes lanes, const ModelConfig& c, const RunRequest& request, int n_prompt, int n_decode) {
  const int n_heads = c.n_layers * c.n_kv_heads, n_tokens = n_prompt + n_decode;
  double sum = 0;
  for (const auto& lane : lanes) {
    const double slots = slots_of(*lane, c, n_tokens);
    sum += record_bytes({.n_heads = n_heads,
                         .first = request.mode == PromptMode::stream ? 1 : n_prompt,
                         .last = n_tokens,
                         .slots = slots / n_heads,
                         .compresses = lane->policy().compresses(),
                         .statistic = !lane->policy().info().statistic.empty(),
                         .agreement = request.measures.agreement,
                         .detail = request.detail});
  }
  return sum;
}

void keep_to_limit(Lanes lanes, double record_limit) {
  const auto held = [&] {
    double sum = 0;
    for (const auto& lane : lanes) sum += lane->record_bytes;
    return sum;
  };
  if (held() <= record_limit) return;
  while (held() > kSome * record_limit) {
    // the oldest step that is whole, in all lanes, so that what is compared was cut alike; the newest is not final yet
    int oldest = -1;
    for (const auto& lane : lanes) {
      if (lane->n_figures_only + 1 < static_cast<int>(lane->steps.size()) && (oldest < 0 || lane->n_figures_only < oldest))
        oldest = lane->n_figures_only;
    }
    if (oldest < 0) return;
    std::vector<std::pair<StepPtr, StepPtr>> cut;  // forks share records
    for (auto& lane : lanes) {
      if (lane->n_figures_only != oldest || oldest + 1 >= static_cast<int>(lane->steps.size())) continue;
      StepPtr& step = lane->steps[static_cast<std::size_t>(oldest)];
      ++lane->n_figures_only;
      const auto known = std::ranges::find(cut, step, &std::pair<StepPtr, StepPtr>::first);
      if (known != cut.end()) {
        step = known->second;
        continue;
      }
      auto figures = std::make_shared<const StepRecord>(figures_of(*step));
      lane->record_bytes = std::max(0.0, lane->record_bytes - held_bytes(*step) + held_bytes(*figures));
      cut.emplace_back(std::exchange(step, figures), figures);
    }
  }
}

}  // namespace kvscope
