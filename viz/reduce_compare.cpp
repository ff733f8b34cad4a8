// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce_compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/format.h"

namespace kvscope::viz {

namespace {

const StepRecord* record_at(const LaneSnapshot& lane, int step) {
  return step >= 0 && step < static_cast<int>(lane.steps.size()) ? lane.steps[static_cast<std::size_t>(step)].get() : nullptr;
}

bool represented(const HeadFates& fates, int token, int step) {
  const auto t = static_cast<std::size_t>(token);
  return t < fates.lost.size() && fates.lost[t] > step;
}

const HeadFates* fates_of(const LaneSnapshot& lane, int head) {
  if (lane.fates == nullptr || head < 0 || head >= static_cast<int>(lane.fates->heads.size())) return nullptr;
  return &lane.fates->heads[static_cast<std::size_t>(head)];
}

}  // namespace

LaneMetrics lane_metrics(const LaneSnapshot& lane, int wanted, int n_prompt, int max_answer) {
  LaneMetrics out;
  const int n = static_cast<int>(lane.steps.size());
  if (n == 0) return out;
  double kl_sum = 0;
  for (int s = 0; s < n; ++s) {
    const StepRecord* record = record_at(lane, s);
    if (record == nullptr) continue;
    if (record->position >= n_prompt - 1 && static_cast<int>(out.answer.size()) < max_answer) {
      out.answer.push_back({s, record->top1, record->top1 == record->top1_reference});
    }
    if (record->position < n_prompt) continue;
    if (out.decode_steps++ == 0) out.first_decode = s;
    kl_sum += record->kl;
    out.top1_same += record->top1_same ? 1 : 0;
  }
  if (out.decode_steps > 0) out.mean_kl = kl_sum / out.decode_steps;
  out.bytes = lane.bytes > 0 ? lane.bytes : kNotAvailable;
  out.step = wanted < 0 ? n - 1 : std::min(wanted, n - 1);
  const StepRecord* record = record_at(lane, out.step);
  if (record == nullptr) return out;
  out.position = record->position;
  out.kl = record->kl;
  out.nll = record->nll;
  out.next_token = record->next_token;
  double loss = 0, slots = 0;
  int measured = 0;
  for (const HeadRecord& head : record->heads) {
    slots += static_cast<double>(head.pos.size());
    if (!std::isfinite(head.attention_loss)) continue;
    loss += head.attention_loss;
    ++measured;
  }
  if (measured > 0) out.attention_loss = loss / measured;
  if (!record->heads.empty()) out.slots = slots / static_cast<double>(record->heads.size());
  return out;
}

LaneDifference lane_difference(const LaneSnapshot& a, int step_a, const LaneSnapshot& b, int step_b) {
  LaneDifference out;
  const StepRecord *ra = record_at(a, step_a), *rb = record_at(b, step_b);
  if (ra == nullptr || rb == nullptr || a.fates == nullptr || b.fates == nullptr) return out;
  out.n_heads = static_cast<int>(std::min(a.fates->heads.size(), b.fates->heads.size()));
  out.n_tokens = std::min(ra->position, rb->position) + 1;
  out.cells.reserve(static_cast<std::size_t>(out.n_heads) * static_cast<std::size_t>(std::max(0, out.n_tokens)));
  for (int h = 0; h < out.n_heads; ++h) {
    const HeadFates &fa = *fates_of(a, h), &fb = *fates_of(b, h);
    for (int t = 0; t < out.n_tokens; ++t) {
      const bool in_a = represented(fa, t, step_a), in_b = represented(fb, t, step_b);
      const Difference d = in_a ? (in_b ? Difference::both : Difference::only_a) : (in_b ? Difference::only_b : Difference::neither);
      out.cells.push_back(d);
      ++out.counts[static_cast<std::size_t>(d)];
    }
  }
  return out;
}

TokenCount token_count(const LaneSnapshot& lane, int step, int token) {
  TokenCount out;
  const StepRecord* record = record_at(lane, step);
  if (record == nullptr || lane.fates == nullptr || token < 0 || token > record->position) return out;
  out.heads = static_cast<int>(lane.fates->heads.size());
  for (int h = 0; h < out.heads; ++h) {
    const HeadFates& fates = *fates_of(lane, h);
    if (!represented(fates, token, step)) continue;
    (fates.left[static_cast<std::size_t>(token)] > step ? out.kept : out.merged) += 1;
  }
  return out;
}

std::vector<float> kept_by_layer(const LaneSnapshot& lane, int step, int n_layers, int n_tokens, int n_bins) {
  const auto columns = static_cast<std::size_t>(std::max(0, n_bins));
  std::vector<float> out(static_cast<std::size_t>(std::max(0, n_layers)) * columns, static_cast<float>(kNotAvailable));
  const StepRecord* record = record_at(lane, step);
  if (record == nullptr || lane.fates == nullptr || n_layers <= 0 || n_tokens <= 0 || columns == 0) return out;
  const int heads = static_cast<int>(lane.fates->heads.size()) / n_layers;
  const int seen = std::min(n_tokens, record->position + 1);
  std::vector<int> kept(columns), all(columns);
  for (int layer = 0; layer < n_layers; ++layer) {
    std::fill(kept.begin(), kept.end(), 0);
    std::fill(all.begin(), all.end(), 0);
    for (int h = layer * heads; h < (layer + 1) * heads; ++h) {
      const HeadFates& fates = *fates_of(lane, h);
      for (int t = 0; t < seen; ++t) {
        const auto bin = static_cast<std::size_t>(static_cast<std::int64_t>(t) * n_bins / n_tokens);
        ++all[bin];
        kept[bin] += represented(fates, t, step) ? 1 : 0;
      }
    }
    for (std::size_t b = 0; b < columns; ++b) {
      if (all[b] > 0) out[static_cast<std::size_t>(layer) * columns + b] = static_cast<float>(kept[b]) / static_cast<float>(all[b]);
    }
  }
  return out;
}

std::vector<std::string> lane_params(const LaneSnapshot& lane) {
  std::vector<std::string> out;
  for (const ParamText& param : lane.params) {
    if (param.key != "slots" && param.key != "ratio") out.push_back(param.key + " " + param.value);
  }
  return out;
}

std::string lane_letter(int lane) {
  return lane >= 0 && lane < 26 ? std::string(1, static_cast<char>('A' + lane)) : fmt::format("{}", lane + 1);
}

std::string text_of_id(const Snapshot& snapshot, int id) {
  const auto found = std::find_if(snapshot.tokens.begin(), snapshot.tokens.end(), [&](const TokenInfo& token) { return token.id == id; });
  if (found != snapshot.tokens.end()) return token_text(*found);
  const bool known = snapshot.vocabulary != nullptr && id >= 0 && id < static_cast<int>(snapshot.vocabulary->size());
  return known ? token_text((*snapshot.vocabulary)[static_cast<std::size_t>(id)]) : fmt::format("#{}", id);
}

}  // namespace kvscope::viz
