// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/not_available.h"

namespace kvscope {

/// What happened to one slot in one compression; a token is named by its original position.
struct Event {
  enum class Kind : std::uint8_t { evict, merge, restore };
  Kind kind = Kind::evict;
  int pos = 0;                       // of the slot that went, or came back
  int into = -1;                     // merge: pos of the slot that stands for it now
  double w_removed = kNotAvailable;  // merge weights
  double w_target = kNotAvailable;
  double score = kNotAvailable;  // ranking score of the removed slot
  double cos = kNotAvailable;    // cosine of its key to the nearest kept key
  double gamma = kNotAvailable;  // length factor, form=zip
  std::string form;              // "bias", "zip", "code"; empty where the policy has one form
  bool fallback = false;         // zip done as bias
  std::vector<std::pair<int, double>>
      runner_ups;           // kept slots besides `into` whose keys were most like its own: (pos, cosine), best first; usually empty
  bool by_hand = false;     // a what-if, after the policy's own compression
  std::vector<int> spread;  // evict: pos of the slots that took equal parts of its value before it went; usually empty
};

/// The numbers behind one merged slot (POLICIES.md section 5), or one that was fitted (POLICIES.md section 4.4, refit), its only member:
/// what the "why" panel puts into the equation.
struct MergeDetail {
  int into = 0;                 // pos of the target
  std::vector<int> members;     // pos of the slots that became one, target first
  std::vector<int> votes;       // p_i before, as members
  std::vector<double> mu;       // as members
  std::vector<double> weights;  // w_i, as members
  std::vector<double> T;        // per query head of the group
  std::vector<double> m;        // per query head of the group
  double extra = 0;             // of the merged slot
  double gamma = kNotAvailable;
  std::vector<double> log_scores;  // lshat_{g,i}, [members, group]
  // of a slot that got a fitted value and not a mean: its relative change, and the relative error of the head's outputs for the queries it
  // was fitted to, without and with what was fitted
  double value_change = kNotAvailable, error_before = kNotAvailable, error_after = kNotAvailable;
};

/// The numbers that the scores of one selection are made of, by the names in LaneSnapshot::score_equation.
struct ScoreParts {
  struct Part {
    std::string name;
    std::vector<float> values;  // as pos; NaN: the slot has none
  };
  std::vector<int> pos;  // of the slots before this step's compression, ascending
  std::vector<Part> parts;
};

/// One (layer, KV head) after one step. Per-slot vectors are in order of pos.
struct HeadRecord {
  int layer = 0;
  int kv_head = 0;
  int budget = -1;          // slots; -1: unlimited
  bool overridden = false;  // the budget was set by hand
  std::vector<int> pinned;  // pos of the tokens that the policy must keep from now on, slots or not; ascending
  int recent = 0;           // slots of highest pos that are protected as recent
  int n_slots = 0;          // AFTER the step's compression
  std::vector<int> pos;     // of these slots; empty: the record says only how many they are (then score and votes are empty too)
  std::vector<int> votes;
  std::vector<double> score;            // ranking score; NaN: not ranked (protected); empty: no ranking in this step
  ScoreParts parts;                     // what the scores of a selection are made of; without parts: not captured, or of one statistic
  std::vector<double> statistic;        // the policy's own statistic (PolicyInfo::statistic); empty: none
  std::vector<double> bias;             // logit bias b_i; empty: all zero
  double kv_bytes = kNotAvailable;      // of keys and values as if stored; not available: n_slots rows in full precision
  std::vector<int> unread;              // pos of the slots that this step's query did not read, ascending
  int page = 0;                         // slots of a page, where whole pages are read or not; 0: nowhere
  std::vector<double> page_scores;      // of the pages before the query's own: the most that their keys may give to it; empty: not captured
  double read_bytes = kNotAvailable;    // that this step's query read of the head; not available: all that is there
  std::vector<int> stored_block;        // keys that were stored together have the same number; -1: in full precision; empty: nothing is
  std::vector<double> key_error;        // relative error of the key as stored; NaN: in full precision. As stored_block
  std::vector<double> value_error;      // the same of the value
  int pooled_tokens = 0;                // evicted so far, of which the head keeps sums that a query reads like one more slot
  std::vector<int> residual;            // pos of the slots that collect what selections send away, ascending: they are in no selection
  std::vector<int> to_residual;         // of these, those that this step's selection sent there: they were ranked once more; ascending
  double pooled_share = kNotAvailable;  // attention of this step's query to them, mean over the group; not available: to none
  std::vector<int> attended;            // pos of the slots that this step's query saw (before compression)
  std::vector<float> attention;         // mean over the group's query heads, as attended; empty: not captured
  std::vector<float> reference_attention;  // [position + 1], this lane's query over its full history; empty: not captured
  std::vector<std::uint8_t> agreement;  // [position + 1], of the group's query heads: how many rank the token inside the head's budget by
                                        // this lane's query over its full history; empty: not measured, or no limit
  std::vector<Event> events;            // in the order of application
  std::vector<MergeDetail> merges;      // one per merged target of this step
  int evicted_votes = 0;                // votes lost up to and including this step
  double merge_theta = kNotAvailable;   // cosine above which keys went together in this step, where the policy finds it anew each time
  double cutoff = kNotAvailable;        // lowest score that was kept by rank in this step's compression
  // POLICIES.md section 6
  double compress_rel_l2 = 0;
  double local_rel_l2 = kNotAvailable;
  double local_l1_wo = kNotAvailable;
  double attention_loss = kNotAvailable;
  double theta = kNotAvailable;  // bound of local_l1_wo (CriticalKV Theorem 3.3); only where tokens are only evicted, at original positions
  // How well the merger had predicted this step's log-scores z + extra, before it saw them; over all slots scored before and the group's
  // query heads
  double predictor_error = kNotAvailable;      // mean |lshat - (z + extra)|, nats
  double predictor_rel_error = kNotAvailable;  // mean |shat - s| / s with s = exp(z + extra) (KeepKV, Figure 2 (d))
};

/// Where the prompt's queries of one (layer, KV head) point, and how far away they look (POLICIES.md section 6, queries): what rankings by
/// expected queries start from. The same in every run of a prompt.
struct QueryCloud {
  int layer = 0;
  int kv_head = 0;
  int n_queries = 0;             // of a query head, whose scores and attention were measured
  std::vector<double> turn;      // [frequencies] radians per position; empty: positions turn nothing here
  std::vector<double> re, im;    // [query heads of the group, frequencies] mean of the complex number before rotation
  std::vector<double> spread;    // as re: root of the mean square distance from that mean
  std::vector<int> distances;    // first distance of each stretch of distances, ascending from 0
  std::vector<double> expected;  // as distances: score that the mean query gives the mean key so far away
  std::vector<double> measured;  // as distances: mean score of the queries and keys so far apart; NaN: there are none
  std::vector<double> share;     // as distances: of the queries' attention
};

/// A candidate for the next token, in the lane and in the reference (full cache) lane.
struct TopToken {
  int id = 0;
  double p = 0, p_reference = 0;
  double logit = 0, logit_reference = 0;
  int rank = 0, rank_reference = 0;  // 1 = most likely
};

/// One lane after one step: what the trace writes and what the window shows.
struct StepRecord {
  int step = 0;
  int position = 0;            // of the step's (last) query
  int next_token = -1;         // token fed next; -1: none yet
  double nll = kNotAvailable;  // -ln p(next_token), nats
  double kl = 0;               // KL(full || lane), nats
  bool top1_same = true;
  int top1 = 0;                                    // the lane's own most likely next token
  int top1_reference = 0;                          // -1: it is another one, which a file does not say
  std::vector<std::pair<int, double>> logits_top;  // the highest, five or as many as were asked for (token, logit)
  std::vector<TopToken> top_tokens;                // up to ten: best of the reference and of the lane, by reference probability
  std::vector<HeadRecord> heads;                   // layer-major
  std::vector<double> hidden_rel_l2;  // [n_layers] residual stream after each layer, against the full cache fed the same tokens; NaN: other
                                      // tokens; empty: not measured
  int probe_tokens = 0;               // that ran over the full cache only to be observed, before this step's compression
  double probe_ms = 0;                // what they took; not in a trace
  std::vector<std::vector<float>> probed;  // [heads] of [position + 1]: the most attention that one of them paid to the token, in a head of
                                           // the group; NaN: not looked at; empty: no probe, or not captured. Not in a trace
  std::vector<QueryCloud> clouds;          // of every head of the prompt, in lane 0; empty: not measured. Not in a trace
  double ms = 0;                           // wall time of the step, all lanes of the batch
  double policy_ms = kNotAvailable;        // of it, probes, statistics, decisions and merges of this lane; not in a trace
};

using StepPtr = std::shared_ptr<const StepRecord>;

}  // namespace kvscope
