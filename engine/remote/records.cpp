// SPDX-License-Identifier: Apache-2.0
#include "remote/records.h"

#include <algorithm>
#include <tuple>

namespace kvscope::remote {

/// One list of members serves both directions: T, or const T.
template <class T, class Record>
concept Is = std::same_as<std::remove_const_t<T>, Record>;

template <class Archive>
static int count_of(Archive&, RunPhase) {
  return 5;
}
template <class Archive>
static int count_of(Archive&, LoadStage::State) {
  return 3;
}
template <class Archive>
static int count_of(Archive&, Event::Kind) {
  return 3;
}
template <class Archive>
static int count_of(Archive&, LaneWarning::Kind) {
  return static_cast<int>(LaneWarning::Kind::window_decides) + 1;
}
template <class Archive>
static int count_of(Archive&, RopeScaling::Kind) {
  return 5;
}
template <class Archive>
static int count_of(Archive&, Activation) {
  return 2;
}

// The bindings name every member of a record: one more of them does not compile until it travels, too.

template <class Archive>
static void fields(Archive& a, Is<RopeScaling> auto& r) {
  auto& [kind, factor, low, high, original, fast, slow, whole_bounds, divisors] = r;
  a(kind, factor, low, high, original, fast, slow, whole_bounds, divisors);
}

template <class Archive>
static void fields(Archive& a, Is<Rope> auto& r) {
  auto& [theta, dims, scaling, gain, up_to, beyond] = r;
  a(theta, dims, scaling, gain, up_to, beyond);
}

template <class Archive>
static void fields(Archive& a, Is<LogitRule> auto& r) {
  auto& [scale, cap] = r;
  a(scale, cap);
}

template <class Archive>
static void fields(Archive& a, Is<LayerConfig> auto& l) {
  auto& [window, rope, logits] = l;
  a(window, rope, logits);
}

template <class Archive>
static void fields(Archive& a, Is<ModelConfig> auto& m) {
  auto& [name, arch, n_layers, n_heads, n_kv_heads, head_dim, dim, hidden_dim, vocab_size, max_positions, norm_eps, ropes, layers,
         activation, embedding_scale, residual_scale, logit_scale, logit_cap, tied, qkv_bias, out_bias, mlp_bias, bos_id, eos_id] = m;
  a(name, arch, n_layers, n_heads, n_kv_heads, head_dim, dim, hidden_dim, vocab_size, max_positions, norm_eps, ropes, layers, activation,
    embedding_scale, residual_scale, logit_scale, logit_cap, tied, qkv_bias, out_bias, mlp_bias, bos_id, eos_id);
}

template <class Archive>
static void fields(Archive& a, Is<LoadStage> auto& s) {
  auto& [name, state, bytes, of_bytes, ms] = s;
  a(name, state, bytes, of_bytes, ms);
}

template <class Archive>
static void fields(Archive& a, Is<MeasureSet> auto& m) {
  auto& [local, theta, hidden, prediction, runner_ups, agreement, queries] = m;
  a(local, theta, hidden, prediction, runner_ups, agreement, queries);
}

template <class Archive>
static void fields(Archive& a, Is<PromptCut> auto& c) {
  auto& [n_tokens, text] = c;
  a(n_tokens, text);
}

template <class Archive>
static void fields(Archive& a, Is<TokenInfo> auto& t) {
  auto& [id, bytes, piece, special, text_begin, text_end] = t;
  a(id, bytes, piece, special, text_begin, text_end);
}

template <class Archive>
static void fields(Archive& a, Is<ParamText> auto& p) {
  auto& [key, value] = p;
  a(key, value);
}

template <class Archive>
static void fields(Archive& a, Is<HeadParam> auto& p) {
  auto& [layer, kv_head, key, value] = p;
  a(layer, kv_head, key, value);
}

template <class Archive>
static void fields(Archive& a, Is<LaneWarning> auto& w) {
  auto& [kind, count, asked, got, n_heads] = w;
  a(kind, count, asked, got, n_heads);
}

template <class Archive>
static void fields(Archive& a, Is<HeadCharacters> auto& c) {
  auto& [n_layers, n_heads, sink_tokens, near_tokens, sink, local, previous, entropy, induction, retrieval] = c;
  a(n_layers, n_heads, sink_tokens, near_tokens, sink, local, previous, entropy, induction, retrieval);
}

template <class Archive>
static void fields(Archive& a, Is<TopToken> auto& t) {
  auto& [id, p, p_reference, logit, logit_reference, rank, rank_reference] = t;
  a(id, p, p_reference, logit, logit_reference, rank, rank_reference);
}

template <class Archive>
static void fields(Archive& a, Is<ScoreParts::Part> auto& p) {
  auto& [name, values] = p;
  a(name, values);
}

template <class Archive>
static void fields(Archive& a, Is<ScoreParts> auto& p) {
  auto& [pos, parts] = p;
  a(pos, parts);
}

template <class Archive>
static void fields(Archive& a, Is<MergeDetail> auto& m) {
  auto& [into, members, votes, mu, weights, T, m_, extra, gamma, log_scores, value_change, error_before, error_after] = m;
  a(into, members, votes, mu, weights, T, m_, extra, gamma, log_scores, value_change, error_before, error_after);
}

template <class Archive>
static void fields(Archive& a, Is<QueryCloud> auto& c) {
  auto& [layer, kv_head, n_queries, turn, re, im, spread, distances, expected, measured, share] = c;
  a(layer, kv_head, n_queries, turn, re, im, spread, distances, expected, measured, share);
}

namespace {

template <class Archive>
void step_fields(Archive& a, Is<StepRecord> auto& s) {
  [[maybe_unused]] auto& [step, position, next_token, nll, kl, top1_same, top1, top1_reference, logits_top, top_tokens, heads,
                          hidden_rel_l2, probe_tokens, probe_ms, probed, clouds, ms, policy_ms] = s;
  a(step, position, next_token, nll, kl, top1_same, top1, top1_reference, logits_top, top_tokens, hidden_rel_l2, probe_tokens, probe_ms,
    probed, clouds, ms, policy_ms);
}

template <class Archive>
void lane_fields(Archive& a, Is<LaneSnapshot> auto& l) {
  [[maybe_unused]] auto& [spec, policy, title, fork_of, params, head_params, sinks, slots_asked, sees_question, looks_at, statistic,
                          half_life, steps, fates, fed, tokens, warnings, text_end, score_equation, stored_as, kv_bytes, bytes, slots,
                          compress_ms, prompt_compress_ms] = l;
  a(spec, policy, title, fork_of, params, head_params, sinks, slots_asked, sees_question, looks_at, statistic, half_life, fed, warnings,
    text_end, score_equation, stored_as, kv_bytes, bytes, slots, compress_ms, prompt_compress_ms);
}

template <class Archive>
void snapshot_fields(Archive& a, Is<Snapshot> auto& s) {
  [[maybe_unused]] auto& [generation, lanes_of, sequence, phase, activity, progress, loading, failure, cut, notice, model, characters,
                          characters_problem, chat, chat_problem, device, precision, weight_bytes, attention_bytes, model_stamp,
                          prefill_mode, follow, temperature, history, measures, prompt, n_prompt, tokens, vocabulary, lanes, total_ms,
                          started_us, published_us, tokens_per_s] = s;
  a(generation, lanes_of, sequence, phase, activity, progress, loading, failure, cut, notice, model, characters_problem, chat_problem,
    device, precision, weight_bytes, attention_bytes, prefill_mode, follow, temperature, history, measures, n_prompt, total_ms, started_us,
    published_us, tokens_per_s);
}

/// One member of all events as a list of whole numbers.
template <class Value>
void column(Writer& out, const std::vector<Event>& events, Value Event::*member) {
  std::vector<int> values(events.size());
  std::ranges::transform(events, values.begin(), [member](const Event& e) { return static_cast<int>(e.*member); });
  out.column(values);
}

template <class Value>
void column(Reader& in, std::vector<Event>& events, Value Event::*member) {
  std::vector<int> values(events.size());
  in.column(values);
  const int end = std::is_same_v<Value, bool> ? 2 : std::is_same_v<Value, Event::Kind> ? 3 : kNever;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool below = std::is_same_v<Value, int> ? values[i] < -1 : values[i] < 0;
    if (below || values[i] >= end) Reader::refuse("a smaller number", static_cast<std::uint64_t>(values[i]));
    events[i].*member = static_cast<Value>(values[i]);
  }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool is_missing(double value) { return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(kNotAvailable); }

/// The same of reals: a byte where none of the events has one.
void reals(Writer& out, const std::vector<Event>& events, double Event::*member) {
  const bool there = std::ranges::any_of(events, [member](const Event& e) { return !is_missing(e.*member); });
  out(there);
  for (std::size_t i = 0; there && i < events.size(); ++i) out(events[i].*member);
}

void reals(Reader& in, std::vector<Event>& events, double Event::*member) {
  bool there = false;
  in(there);
  for (std::size_t i = 0; there && i < events.size(); ++i) in(events[i].*member);
}

/// Lists that most events do not have: which do, then theirs.
template <class T>
void lists(Writer& out, const std::vector<Event>& events, std::vector<T> Event::*member) {
  std::vector<int> owners;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (!(events[i].*member).empty()) owners.push_back(static_cast<int>(i));
  out(owners);
  for (const int i : owners) out(events[static_cast<std::size_t>(i)].*member);
}

template <class T>
void lists(Reader& in, std::vector<Event>& events, std::vector<T> Event::*member) {
  std::vector<int> owners;
  in(owners);
  for (const int i : owners) {
    if (i < 0 || static_cast<std::size_t>(i) >= events.size()) Reader::refuse("the number of an event", static_cast<std::uint64_t>(i));
    in(events[static_cast<std::size_t>(i)].*member);
  }
}

/// The few words that events have, and which has which.
void words(Writer& out, const std::vector<Event>& events) {
  std::vector<std::string> known;
  std::vector<int> which;
  for (const Event& e : events) {
    const auto found = std::ranges::find(known, e.form);
    which.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(e.form);
  }
  out(known);
  out.column(which);
}

void words(Reader& in, std::vector<Event>& events) {
  std::vector<std::string> known;
  std::vector<int> which(events.size());
  in(known);
  in.column(which);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (which[i] < 0 || static_cast<std::size_t>(which[i]) >= known.size())
      Reader::refuse("the number of a word", static_cast<std::uint64_t>(which[i]));
    events[i].form = known[static_cast<std::size_t>(which[i])];
  }
}

[[maybe_unused]] void every_member(const Event& event) {  // of the two below
  [[maybe_unused]] const auto& [kind, pos, into, w_removed, w_target, score, cos, gamma, form, fallback, runner_ups, by_hand, spread] =
      event;
}

template <class Archive>
void event_outlines(Archive& a, Is<std::vector<Event>> auto& events) {
  column(a, events, &Event::kind);
  column(a, events, &Event::pos);
  column(a, events, &Event::into);
  column(a, events, &Event::fallback);
  column(a, events, &Event::by_hand);
  words(a, events);
  lists(a, events, &Event::spread);
}

template <class Archive>
void event_numbers(Archive& a, Is<std::vector<Event>> auto& events) {
  for (double Event::*member : {&Event::w_removed, &Event::w_target, &Event::score, &Event::cos, &Event::gamma}) reals(a, events, member);
  lists(a, events, &Event::runner_ups);
}

/// What the two below do with each member; they name every one between them.
template <class Archive>
void head_fields(Archive& a, Is<HeadRecord> auto& h, bool numbers) {
  auto& [layer, kv_head, budget, overridden, pinned, recent, n_slots, pos, votes, score, parts, statistic, bias, kv_bytes, unread, page,
         page_scores, read_bytes, stored_block, key_error, value_error, pooled_tokens, residual, to_residual, pooled_share, attended,
         attention, reference_attention, agreement, events, merges, evicted_votes, merge_theta, cutoff, compress_rel_l2, local_rel_l2,
         local_l1_wo, attention_loss, theta, predictor_error, predictor_rel_error] = h;
  if (numbers) {
    a(score, parts, statistic, page_scores, key_error, value_error, attended, attention, agreement, merges);
    event_numbers(a, events);
    bool same = false;  // as what the full cache gives, where nothing has left
    if constexpr (!Archive::kReads) same = same_bits(reference_attention, attention);
    a(same);
    if (!same) a(reference_attention);
    if constexpr (Archive::kReads) {
      if (same) {
        a.reserve(reference_attention, attention.size());
        reference_attention = attention;
      }
    }
  } else {
    a(layer, kv_head, budget, overridden, pinned, recent, n_slots, pos, votes, bias, kv_bytes, unread, page, read_bytes, stored_block,
      pooled_tokens, residual, to_residual, pooled_share, evicted_votes, merge_theta, cutoff, compress_rel_l2, local_rel_l2, local_l1_wo,
      attention_loss, theta, predictor_error, predictor_rel_error);
    event_outlines(a, events);
  }
}

}  // namespace

void put_step(Writer& out, const StepRecord& step) {
  step_fields(out, step);
  out(step.heads.size());
}

StepRecord get_step(Reader& in, std::size_t most_heads) {
  StepRecord step;
  step_fields(in, step);
  const std::uint64_t n = in.whole();
  if (n > most_heads) Reader::refuse("no more heads than the model has", n);
  in.reserve(step.heads, n);
  return step;
}

void put_outline(Writer& out, const HeadRecord& head) {
  out(head.events.size());
  head_fields(out, head, false);
}

void get_outline(Reader& in, HeadRecord& head) {
  in.reserve(head.events, in.whole());
  head_fields(in, head, false);
}

void put_numbers(Writer& out, const HeadRecord& head) { head_fields(out, head, true); }
void get_numbers(Reader& in, HeadRecord& head) { head_fields(in, head, true); }

void put_lane(Writer& out, const LaneSnapshot& lane) { lane_fields(out, lane); }
LaneSnapshot get_lane(Reader& in) {
  LaneSnapshot lane;
  lane_fields(in, lane);
  return lane;
}

void put_facts(Writer& out, const Snapshot& snapshot) { snapshot_fields(out, snapshot); }
void get_facts(Reader& in, Snapshot& snapshot) { snapshot_fields(in, snapshot); }

void put_tokens(Writer& out, const std::vector<TokenInfo>& tokens, std::size_t from) {
  out(tokens.size() - from);
  for (std::size_t i = from; i < tokens.size(); ++i) fields(out, tokens[i]);
}

std::vector<TokenInfo> get_tokens(Reader& in) {
  std::vector<TokenInfo> tokens(in.length(sizeof(TokenInfo)));
  for (TokenInfo& t : tokens) fields(in, t);
  return tokens;
}

bool same_token(const TokenInfo& a, const TokenInfo& b) {
  return std::tie(a.id, a.special, a.text_begin, a.text_end, a.bytes, a.piece) ==
         std::tie(b.id, b.special, b.text_begin, b.text_end, b.bytes, b.piece);
}

void put_characters(Writer& out, const HeadCharacters& characters) { fields(out, characters); }
HeadCharacters get_characters(Reader& in) {
  HeadCharacters characters;
  fields(in, characters);
  return characters;
}

}  // namespace kvscope::remote
