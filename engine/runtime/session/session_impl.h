// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/forward.h"
#include "runtime/lane/lane.h"
#include "runtime/lane/query_tape.h"
#include "runtime/prompt/probe_run.h"
#include "runtime/prompt/prompt_run.h"
#include "runtime/session/policy_cache.h"
#include "runtime/session/prompt_tokens.h"
#include "runtime/session/reading.h"
#include "runtime/session/reference_steps.h"
#include "runtime/session/session.h"
#include "runtime/session/snapshot_builder.h"

namespace kvscope {

/// State behind a Session. One request after the other; every request says the whole wanted state, run() keeps what is still right.
struct Session::Impl {
  Impl(ChosenBackend chosen, Model loaded);

  Snapshot run(const RunRequest& request, const CancelToken& cancel, const Progress& progress, const Publish& publish, RecordSink* sink);

  // ---- what has to be done
  struct WantedLane {
    LaneSpec spec;
    std::shared_ptr<const Policy> policy;
  };
  /// The lanes of a request, the full cache first. Throws UsageError.
  std::vector<WantedLane> wanted_lanes(const RunRequest& request, std::span<const int> text);
  /// Throws away what the new request makes wrong, takes over what stays right, restores checkpoints after an edit. Sets `lanes` (null: to
  /// be made).
  void reuse(const RunRequest& request, const std::vector<int>& ids, const std::vector<WantedLane>& wanted, int n_decode);
  using Checkpoints = std::map<int, std::unique_ptr<LaneCheckpoint>>;  // by number of steps
  /// What a request makes of the state before it.
  struct Change {
    bool same_prompt = false, stream = false;
    int n_prompt = 0, n_tokens = 0, first_position = 0;
    int keep_steps = 0;  // of lanes that do not look ahead: so many stay right
  };
  Change change_to(const RunRequest& request, const std::vector<int>& new_ids, int n_decode) const;
  /// Steps of a lane under this policy that stay right.
  int steps_kept(const Policy& policy, const Change& change) const;
  /// The lane of the state before that answers `wanted`, as far as it stays right, with its checkpoints; nullptr: none does.
  std::unique_ptr<Lane> taken_over(const WantedLane& wanted, const RunRequest& request, const Change& change, Checkpoints& saved);
  /// A lane made of the state of one that begins like it, up to where their what-ifs part; nullptr: none is known.
  std::unique_ptr<Lane> forked(const WantedLane& wanted);

  // ---- doing it
  PromptNeeds prompt_needs(const RunRequest& request) const;  // of all lanes together
  void run_prompt(int n_steps, const RunRequest& request, const CancelToken& cancel);
  void load_prompt(std::span<Lane* const> fresh, double ms, const CancelToken& cancel);
  /// Whether the prompt's queries have to be read for StepRecord::clouds.
  bool lacks_clouds(const RunRequest& request) const;
  /// Into the first step of the full cache, which may be done already: at a long text nobody waits for its runs again to look at queries.
  void add_clouds();
  /// Returns the number of steps: n_steps, or fewer where the texts end before.
  int step_until(int n_steps, const RunRequest& request, const CancelToken& cancel);
  /// Whether what follows step s - 1 ends the text of every lane. Never where coming queries have been promised (horizon).
  bool ends_before(int s, const RunRequest& request);
  /// Runs lane 0 so far ahead of step s that every lane knows the coming queries that it asks for.
  void run_ahead(int s, int n_steps, const RunRequest& request, const CancelToken& cancel);
  /// Step s of these lanes, which have done s steps.
  void run_lanes(std::span<Lane* const> active, int s, const RunRequest& request, const CancelToken& cancel);
  /// Ends the newest step of lanes: distributions, agreement with the reference. Lane 0 is among them or has ended the same step before.
  /// last_rows: their residual rows after the last layer are still in `forward`.
  void close_steps(std::span<Lane* const> done, double ms, bool last_rows);
  void close_step(Lane& lane, const ReferenceSteps::Distribution& expected, double ms);
  /// The token that follows step `s` of a lane is known now.
  void set_next(Lane& lane, int s, int token);
  int token_at(const RunRequest& request, const Lane& lane, int s);
  int n_prompt_steps() const { return mode == PromptMode::prefill ? 1 : static_cast<int>(ids.size()); }
  void save_checkpoint(Lane& lane);

  /// ended: the text has, before as many steps as were asked for.
  Snapshot snapshot(const RunRequest& request, int n_steps, bool ended);
  Snapshot partial(const RunRequest& request, int n_steps);
  void report(const std::string& activity, double fraction);
  const std::string& add_notice(const std::string& words) { return notice += (notice.empty() ? "" : "; ") + words; }
  void publish_partial(const RunRequest& request, int n_steps, bool now);

  std::unique_ptr<Backend> backend;
  std::string device_notice;  // of every run
  Model model;
  PolicyCache policy_cache;
  Forward forward;
  PromptRun prompt;  // prefill mode
  ProbeRun probes;   // of this prompt
  QueryTape tape;    // queries of lane 0, as far as some lane needs them
  std::shared_ptr<const std::vector<TokenInfo>> vocabulary;

  std::vector<int> ids;  // prompt of the state below
  PromptTokens spelled;  // the same with its text
  PromptMode mode = PromptMode::prefill;
  RunRequest last;                           // request that the state below answers
  std::vector<std::unique_ptr<Lane>> lanes;  // lane 0: full cache
  ReferenceSteps reference;                  // of lane 0: what all lanes are held against
  /// Per layer, the newest step of a lane against the reference's. Lane 0 has ended that step before.
  std::vector<double> hidden_error(const Lane& lane, int step) const;
  /// Where somebody takes the records: step s of a lane is final.
  void deliver(Lane& lane, int s);
  std::map<std::string, double> prompt_cost;       // of every policy, ms: what load_prompt() of its newest lane took
  int horizon = 0;                                 // so many steps lane 0 runs ahead of the others
  std::map<const Lane*, Checkpoints> checkpoints;  // stream mode

  double record_limit = static_cast<double>(default_record_limit());
  std::string notice;
  int n_logits = 5;         // RunRequest
  double prompt_share = 0;  // of the request's work, for progress
  double decode_ms = 0;
  int decode_rows = 0;
  std::chrono::steady_clock::time_point started, published;
  RecordSink* sink_ = nullptr;  // of the request in work
  Reading::Screen screen = Reading::Screen::nothing;
  bool handed_out = false;  // the records of the state above are somewhere else
  Progress progress_;
  double told_share = 0;  // of the request's work, as progress was told last
  Publish publish_;
};

}  // namespace kvscope
