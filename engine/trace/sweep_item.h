// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/snapshot.h"
#include "trace/answer_fates.h"

namespace kvscope {

/// The numbers of one run of a sweep, by the names of its columns, in their order (run_figures() defines them). score: share of the answers
/// that stand in what the run said; n/a where there is no answer.
inline constexpr std::array<std::string_view, 11> kSweepFigures = {
    "slots", "kl", "nll", "top1_same", "local_rel_l2", "local_l1_wo", "attention_loss", "bytes", "tokens_per_s", "kv_bytes", "score"};
using SweepItemFigures = std::array<double, kSweepFigures.size()>;  // NaN: n/a
constexpr std::size_t sweep_figure(std::string_view name) {
  std::size_t i = 0;
  while (i < kSweepFigures.size() && kSweepFigures[i] != name) ++i;
  return i;
}

/// One run of a sweep on one text: everything that decides its figures. The first five make its key.
struct SweepItem {
  std::string model_hash;  // hash_of_model()
  std::string text_hash;   // SHA-256 of the tokens that are read, and of the answers
  std::string run;         // specification, budget included
  std::uint64_t seed = 0;
  std::string settings;  // program, precision, device, prompt mode, what is fed, tokens after the prompt, hashes of files the run names
  // for people
  std::string model, policy;
  int text = 1;      // its place in the file of texts
  double ratio = 1;  // the budget: share of the prompt's tokens, or of the bytes of their keys and values where the run says so

  /// SHA-256 of the key and the version of the format, 64 digits.
  std::string key() const;
};

struct SweepResult {
  SweepItemFigures figures{};
  std::string said;                   // what the run wrote after a question; empty: nothing was asked
  AnswerFates answer{};               // where the answers stand in the prompt
  std::vector<LaneWarning> warnings;  // that its row stands for another budget, or edits, than it says

  double figure(std::string_view name) const { return figures[sweep_figure(name)]; }
};

}  // namespace kvscope
