// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "core/head_characters.h"
#include "snapshot/fates.h"
#include "snapshot/load_stage.h"
#include "snapshot/measure_set.h"
#include "snapshot/step_record.h"
#include "snapshot/warnings.h"

namespace kvscope {

class ChatTemplate;

/// One token of the run, as text.
struct TokenInfo {
  int id = 0;
  std::string bytes;  // raw bytes it stands for (may be part of a code point); empty for special tokens
  std::string piece;  // name in the tokenizer, for special tokens
  bool special = false;
  int text_begin = -1;  // byte range in the prompt text; -1: not from the prompt
  int text_end = -1;
};

/// One resolved parameter of a lane, as text ("recent" "12").
struct ParamText {
  std::string key, value;
};

/// A parameter that has another value in one head, or in all heads of a layer.
struct HeadParam {
  int layer = 0;
  int kv_head = -1;  // -1: all of the layer
  std::string key, value;
};

/// One lane: a policy with its budget, over the common prompt.
struct LaneSnapshot {
  std::string spec;    // policy, parameters and what was done by hand, as one text
  std::string policy;  // its name in the catalog
  std::string title;   // for people
  int fork_of = -1;    // lane of the same policy and budgets with fewer what-ifs, from which this one was forked by hand; -1: none
  std::vector<ParamText> params;       // as resolved
  std::vector<HeadParam> head_params;  // where single heads differ; of several for one head the last one holds
  int sinks = 0;                       // protected sinks
  int slots_asked = -1;                // slots per head asked for; -1: unlimited
  bool sees_question = false;          // policy AND prompt mode: the selection saw the end of the prompt
  std::string looks_at;                // what the policy may look at when it chooses, for people; empty: the file does not say it
  std::string statistic;               // name of HeadRecord::statistic; empty: the policy has none
  double half_life = kNotAvailable;    // of the statistic, in queries, where it has one
  std::vector<StepPtr> steps;          // step s of the trace is steps[s]
  std::shared_ptr<const LaneFates> fates;
  std::vector<int> fed;                       // the token fed after each step
  std::vector<TokenInfo> tokens;              // that it has read, where they are others than Snapshot::tokens; empty: those (tokens_of)
  std::vector<LaneWarning> warnings;          // of the steps so far
  int text_end = -1;                          // tokens after the prompt up to the first that ends a text, it included; -1: none has
  std::string score_equation;                 // what a score is made of, or what it is; empty: nothing is ranked
  std::string stored_as;                      // equation by which keys and values are stored; empty: they stand as they are
  double kv_bytes = 0;                        // of the keys and values of its slots now
  double bytes = 0;                           // allocated for them: rows to grow are in reserve, so it depends on what ran before
  double slots = 0;                           // logical slots now, mean per head
  double compress_ms = 0;                     // policy work of the last run: statistics, plan, merges; n/a of a trace
  double prompt_compress_ms = kNotAvailable;  // of it, step 0: the compression of the whole prompt; not available in stream mode

  /// The value of a parameter as it was resolved; nullptr: the run has none of this name.
  const std::string* param(std::string_view key) const {
    const auto found = std::ranges::find(params, key, &ParamText::key);
    return found == params.end() ? nullptr : &found->value;
  }
};

/// The beginning of a prompt that is too long for the model.
struct PromptCut {
  int n_tokens = 0;  // start token included
  std::string text;  // empty: there is no such beginning
};

enum class RunPhase : std::uint8_t { empty, loading, computing, idle, failed };

/// Everything the window shows, in one immutable value. Published through Mailbox; newest wins.
struct Snapshot {
  std::uint64_t generation = 0;  // of the request it answers
  std::uint64_t lanes_of = 0;    // of the request that its lanes answer: an older one while this one is computed, and where it failed
  std::uint64_t sequence = 0;    // grows with every snapshot
  RunPhase phase = RunPhase::empty;
  std::string activity;            // "layer 3 of 6", "step 4 of 12"; for the thin progress line
  double progress = 0;             // 0..1
  std::vector<LoadStage> loading;  // while phase is loading: how far the opening of a model is; later: of one that was not opened
  std::string failure;             // one sentence with remedy; the rest of the snapshot is then the last good state
  PromptCut cut;                   // of a failure for the length of the prompt: what would fit
  std::string notice;              // e.g. "prompt cut to 1024 of 1500 tokens", "ran on the CPU because ..."
  ModelConfig model;
  std::shared_ptr<const HeadCharacters> characters;  // what its heads habitually look at; null: not measured, or of no use
  std::string characters_problem;                    // why its file of them is of no use; empty: it is, or there is none
  std::shared_ptr<const ChatTemplate> chat;          // how the model writes a conversation; null: it has no template, or none of use
  std::string chat_problem;                          // why it is of no use; empty: it is, or there is none
  std::string device;                                // "cpu, AVX-512, 2 threads"
  std::string precision;                             // "f32"
  double weight_bytes = 0;
  double attention_bytes = 0;  // what is kept of the prompt's attention, for the runs that ask for it
  std::string model_stamp;     // of the files that it was read from (arch/model_parts.h); empty: not known
  bool prefill_mode = true;
  std::string follow = "reference";    // reference | self | file
  double temperature = kNotAvailable;  // by which fed tokens were drawn, 0: the most likely ones; not available: a trace that does not say
  bool history = true;                 // false: local figures are not available
  MeasureSet measures;                 // that were asked for
  std::string prompt;                  // text of this result
  int n_prompt = 0;                    // tokens, BOS included
  std::vector<TokenInfo> tokens;       // prompt and what followed in the reference lane
  std::shared_ptr<const std::vector<TokenInfo>>
      vocabulary;                   // by id, for candidates that are not in the text; null: unknown; an entry with another id: not known
  std::vector<LaneSnapshot> lanes;  // lane 0: full cache
  double total_ms = 0;              // request to result
  std::int64_t started_us = 0;      // steady clock: the engine began on the request
  std::int64_t published_us = 0;    // and gave this out; 0: not by an engine
  double tokens_per_s = 0;          // decode, lanes x tokens
};

/// Tokens after the prompt that have been read: a step each; of a text that was cut short or has ended, less than was asked for.
inline int n_generated(const Snapshot& s) {
  const int n_steps = s.lanes.empty() ? 0 : static_cast<int>(s.lanes.front().steps.size());
  return std::max(0, n_steps - (s.prefill_mode ? 1 : s.n_prompt));
}

/// The prompt and what a run has read after it: a token by its position is one of these.
inline const std::vector<TokenInfo>& tokens_of(const Snapshot& s, const LaneSnapshot& lane) {
  return lane.tokens.empty() ? s.tokens : lane.tokens;
}
/// The same of a place in the list of runs; beyond it, those of the full cache.
inline const std::vector<TokenInfo>& tokens_of(const Snapshot& s, int lane) {
  const bool there = lane >= 0 && lane < static_cast<int>(s.lanes.size());
  return there ? tokens_of(s, s.lanes[static_cast<std::size_t>(lane)]) : s.tokens;
}

using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// One slot between engine and window: writers replace, readers take the newest. The lock is held while a pointer is exchanged; what was in
/// the slot is destroyed outside of it. (libc++ has no std::atomic<std::shared_ptr>.)
class Mailbox {
 public:
  void put(SnapshotPtr snapshot) {
    const std::lock_guard lock(mutex_);
    slot_.swap(snapshot);
  }
  SnapshotPtr latest() const {
    const std::lock_guard lock(mutex_);
    return slot_;
  }

 private:
  mutable std::mutex mutex_;
  SnapshotPtr slot_;
};

}  // namespace kvscope
