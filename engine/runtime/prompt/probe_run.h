// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/prompt/probe_text.h"
#include "runtime/prompt/prompt_run.h"
#include "slots/slot_state.h"

namespace kvscope {

/// Probes of one prompt: further tokens that run over its full cache, where their attention is looked at. Nothing of them stays.
///
/// A probe asks the model to repeat the prompt, one stretch after the other (ProbeText), and finds of every token i of a stretch the most
/// that a token of the probe, and a query head of the group, pays it (KVzip, arXiv:2505.23416; as kvpress 0.5.5 computes it):
///   max over t, g of a_{g,t,i}                                   the attention among the first `sinks` tokens, the stretch, and the probe
///                                                                up to t
///   max over t, g of a_{g,t,i} ||v_i W_O^(g)||_2 / ||x_t||_2     by_output; x_t: what the layer's projections of the probe's token read
/// Tokens before the first stretch have found 0, layers with a window of their own NaN: they do not take part.
class ProbeRun {
 public:
  using Probe = StatNeeds::Probe;

  ProbeRun(Backend& backend, const Model& model) : backend_(backend), model_(model) {}

  /// Runs what is wanted and not known of this prompt yet. Throws Error where the chat template cannot be
  /// used, and Cancelled.
  void update(const PromptRun& prompt, std::span<const Probe> wanted, Forward& forward, const CancelToken& cancel,
              const Forward::LayerDone& layer_done);

  /// Of one head, [tokens of the prompt], since update(); empty where nothing is needed.
  std::span<const double> found(const StatNeeds& needs, int layer, int kv_head) const;
  /// The most that a token of the probe, and a query head of the group, pays each token of the prompt, whatever the values; of one that is
  /// needed.
  std::vector<float> attention(const StatNeeds& needs, int layer, int kv_head) const;
  /// What the probe took: 0 where none is needed.
  int tokens(const StatNeeds& needs) const { return needs.probe ? results_.at(*needs.probe).tokens : 0; }
  double ms(const StatNeeds& needs) const { return needs.probe ? results_.at(*needs.probe).ms : 0; }

 private:
  class Pass;
  struct Result {
    std::vector<std::vector<double>> found;     // [n_layers] of [n_kv_heads, tokens of the prompt]
    std::vector<std::vector<float>> attention;  // the same before any norm; empty where `found` is that
    int tokens = 0;                             // that ran for it
    double ms = 0;
  };
  /// Of probes of the same length of stretches.
  std::vector<Result> run(const PromptRun& prompt, std::span<const Probe> together, Forward& forward, const CancelToken& cancel,
                          const Forward::LayerDone& layer_done);

  Backend& backend_;
  const Model& model_;
  std::optional<ProbeText> text_;  // once it was needed
  std::vector<int> prompt_;        // whose results these are
  std::map<Probe, Result> results_;
};

}  // namespace kvscope
