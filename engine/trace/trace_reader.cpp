// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_reader.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "runtime/session/run_request.h"
#include "runtime/session/snapshot_builder.h"
#include "snapshot/figures.h"
#include "trace/slot_history.h"
#include "trace/token_text.h"
#include "trace/trace_checks.h"

namespace kvscope {

namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int kMaxVocabulary = 1 << 20;  // entries up to the largest id that is named
constexpr int kMaxLayers = 4096, kMaxHeads = 4096, kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxFates = std::int64_t(1) << 26;  // heads x tokens, 12 bytes each

class Reader {
 public:
  Reader(const JsonCursor& root, Trace& trace) : root_(root), trace_(trace), out_(trace.snapshot) {}
  void read();

 private:
  void model(const JsonCursor& m);
  void tokens();
  void candidates();
  LaneSnapshot lane(const JsonCursor& l, bool fed_as_text);
  static std::vector<LaneWarning> warnings_of(const JsonCursor& l, int n_heads);
  std::shared_ptr<const LaneFates> fates(const std::vector<StepPtr>& steps, const JsonCursor& l) const;
  StepRecord step(const JsonCursor& s, int index, bool fed_as_text);
  std::vector<TopToken> top_tokens(const JsonCursor& list) const;
  HeadRecord head(const JsonCursor& h, int index, int position);
  static void slots(const JsonCursor& list, int position, HeadRecord& record);
  void events(const JsonCursor& list, int position, HeadRecord& record, SlotHistory& history);
  void head_why(const JsonCursor& h, int position, HeadRecord& record, const SlotHistory& before) const;
  static ScoreParts score_parts(const JsonCursor& p, int position, const SlotHistory& before);
  MergeDetail merge(const JsonCursor& m, int position, const SlotHistory& before) const;

  int last_token() const { return out_.model.vocab_size - 1; }
  int n_all_heads() const { return out_.model.n_layers * out_.model.n_kv_heads; }

  const JsonCursor& root_;
  Trace& trace_;
  Snapshot& out_;
  std::set<std::string> unknown_events_;
  std::vector<SlotHistory> history_;  // of every head of the lane that is read
  bool has_slots_ = false, says_recent_ = true;
};

/// Positions that stand in a list, each of a token with a slot.
std::vector<int> held(const JsonCursor& list, int position, const SlotHistory& history) {
  std::vector<int> out = list.wholes(0, position);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!history.may_have(out[i])) list.at(i).fail("a token that has a slot");
  return out;
}

/// The same, in the order of the text.
std::vector<int> held_in_order(const JsonCursor& list, int position, const SlotHistory& history) {
  std::vector<int> out = held(list, position, history);
  if (std::ranges::adjacent_find(out, std::greater_equal{}) != out.end()) list.fail("positions in ascending order");
  return out;
}

/// Slots that collect what selections send away, and those that came to be it in this step.
void collectors(const JsonCursor& h, int position, HeadRecord& record) {
  const auto read = [&](const char* key, std::vector<int>& out, const std::vector<int>& of, const char* which) {
    if (!h.has(key)) return;
    const JsonCursor list = h.at(key);
    out = list.wholes(0, position);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!std::ranges::binary_search(of, out[i]) || (i > 0 && out[i] <= out[i - 1])) list.at(i).fail(which);
  };
  read("residual", record.residual, record.pos, "positions of slots, in ascending order");
  read("to_residual", record.to_residual, record.residual, "positions that stand in \"residual\", in ascending order");
}

/// What the events leave, and what the other numbers of the head say of it.
void compare_slots(const JsonCursor& h, const HeadRecord& record, const SlotHistory& after) {
  if (!after.known()) return;
  if (h.has("n_slots")) h.at("n_slots").whole(after.size(), after.size());
  if (h.given("pooled_tokens")) h.at("pooled_tokens").whole(0, after.n_tokens() - after.size());
  if (record.pos.empty()) return;  // a record of figures only
  const JsonCursor list = h.at("slots");
  for (std::size_t i = 0; i < record.pos.size(); ++i)
    if (!after.has(record.pos[i])) list.at(i).at(std::size_t(0)).fail("a token that has not left its slot");
  if (record.n_slots != after.size()) {
    int missing = 0;
    while (!after.has(missing) || std::ranges::binary_search(record.pos, missing)) ++missing;
    list.fail(fmt::format("{} slots, as the events leave them, token {} among them", after.size(), missing));
  }
  const auto votes = std::accumulate(record.votes.begin(), record.votes.end(), std::int64_t(0));
  if (votes > after.n_tokens()) list.fail(fmt::format("at most {} votes in all, one for each token that was read", after.n_tokens()));
  const int lost = after.n_tokens() - static_cast<int>(votes);
  if (h.has("evicted_votes")) h.at("evicted_votes").whole(lost, lost);
}

void Reader::read() {
  if (!root_.has("schema") || !root_.at("schema").is_string() || root_.at("schema").view() != "kvscope.trace/1") {
    throw Error(fmt::format("{}: expected a trace of schema kvscope.trace/1, got {}", root_.where(),
                            root_.has("schema") && root_.at("schema").is_string() ? root_.at("schema").text() : "another kind of file"));
  }
  model(root_.at("model"));
  out_.device = root_.at("device").text();
  out_.precision = root_.at("precision").text();
  const JsonCursor mode = root_.at("prompt_mode");
  if (mode.text() != "prefill" && mode.text() != "stream") mode.fail("prefill or stream");
  out_.prefill_mode = mode.text() == "prefill";
  out_.follow = root_.at("follow").text();
  if (!follow_of(out_.follow)) root_.at("follow").fail(fmt::format("{}", fmt::join(kFollowNames, " or ")));
  trace_.seed = root_.at("seed").unsigned_whole();
  if (root_.given("temperature")) out_.temperature = amount_or_null(root_.at("temperature"));
  tokens();
  if (root_.has("candidate_texts")) candidates();
  if (root_.has("shadow")) out_.history = root_.at("shadow").flag();
  if (root_.has("prompt")) out_.prompt = root_.at("prompt").text();
  const JsonCursor lanes = root_.at("lanes");
  for (std::size_t i = 0; i < lanes.size(1024); ++i) out_.lanes.push_back(lane(lanes.at(i), i == 0 || out_.follow != "self"));
  tell_own_texts(out_);
  try {
    find_forks(out_.lanes);
  } catch (const Error&) {  // a specification that this build does not know: shown as it is
  }
  trace_.has_slots = has_slots_;
  if (!root_.has("token_texts")) trace_.missing.push_back("The texts of the tokens are not in it: they are shown by number");
  if (has_slots_ && !says_recent_)
    trace_.missing.push_back(
        "Which slots are protected as the newest is not in it, as in traces of earlier versions: they are shown as heavy");
  if (root_.has("warnings")) {
    const JsonCursor warnings = root_.at("warnings");
    for (std::size_t i = 0; i < warnings.size(); ++i) trace_.warnings.push_back(warnings.at(i).text());
  }
  for (const std::string& kind : unknown_events_) trace_.warnings.push_back("events of kind '" + kind + "' were left out");
  out_.phase = RunPhase::idle;
  out_.progress = 1;
}

void Reader::model(const JsonCursor& m) {
  ModelConfig& c = out_.model;
  c.name = m.at("name").text();
  c.arch = m.at("arch").text();
  c.n_layers = m.at("n_layers").whole(1, kMaxLayers);
  c.n_heads = m.at("n_heads").whole(1, kMaxHeads);
  c.n_kv_heads = m.at("n_kv_heads").whole(1, c.n_heads);
  if (c.n_heads % c.n_kv_heads != 0) m.at("n_kv_heads").fail(fmt::format("a divisor of n_heads = {}", c.n_heads));
  c.head_dim = m.at("head_dim").whole(1, kMaxWidth);
  c.vocab_size = m.at("vocab_size").whole(1, kMaxInt);
  if (m.has("windows")) {
    const std::vector<int> windows = m.at("windows").wholes(0, kMaxInt);
    if (windows.size() != static_cast<std::size_t>(c.n_layers))
      m.at("windows").fail(fmt::format("a window for each of {} layers", c.n_layers));
    for (const int window : windows) c.layers.push_back({.window = window});
  }
  if (m.has("dim")) c.dim = m.at("dim").whole(0, kMaxWidth);
  if (m.has("hidden_dim")) c.hidden_dim = m.at("hidden_dim").whole(0, kMaxWidth);
  if (m.has("max_positions")) c.max_positions = m.at("max_positions").whole(0, kMaxInt);
  if (m.has("bos_id")) c.bos_id = m.at("bos_id").whole(-1, kMaxInt);
  if (m.has("eos_id")) c.eos_id = m.at("eos_id").whole(-1, kMaxInt);
  if (m.given("weight_bytes")) out_.weight_bytes = amount_or_null(m.at("weight_bytes"));
}

void Reader::tokens() {
  const JsonCursor ids = root_.at("tokens");
  const std::size_t n = ids.size();
  out_.tokens.resize(n);
  for (std::size_t i = 0; i < n; ++i) out_.tokens[i].id = ids.at(i).whole(0, last_token());
  out_.n_prompt = root_.at("n_prompt").whole(std::min(static_cast<int>(n), 1), static_cast<int>(n));
  if (root_.has("token_texts")) {
    const JsonCursor texts = root_.at("token_texts");
    if (texts.size() != n) texts.fail(fmt::format("one text per token ({})", n));
    for (std::size_t i = 0; i < n; ++i) {
      read_token_text(texts.at(i), out_.tokens[i]);
    }
  }
  if (root_.has("token_ranges")) {
    const JsonCursor ranges = root_.at("token_ranges");
    if (ranges.size() != n) ranges.fail(fmt::format("one range per token ({})", n));
    const int length = root_.has("prompt") ? static_cast<int>(root_.at("prompt").text().size()) : 0;
    for (int begin = 0, i = 0; i < static_cast<int>(n); ++i) {
      const JsonCursor range = ranges.at(static_cast<std::size_t>(i)), first = range.at(std::size_t(0)), last = range.at(std::size_t(1));
      TokenInfo& token = out_.tokens[static_cast<std::size_t>(i)];
      token.text_begin = first.whole(-1, length);
      token.text_end = last.whole(token.text_begin, token.text_begin < 0 ? -1 : length);  // both, or the token is not of the text
      if (token.text_begin >= 0) begin = first.whole(begin, length);                      // in the order of the text
    }
  }
}

void Reader::candidates() {
  const JsonCursor list = root_.at("candidate_texts");
  auto known = std::make_shared<std::vector<TokenInfo>>();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor pair = list.at(i);
    const int least = static_cast<int>(known->size());
    const int id = pair.at(std::size_t(0)).whole(least, std::min(last_token(), kMaxVocabulary));
    known->resize(static_cast<std::size_t>(id) + 1, TokenInfo{.id = -1});
    known->back().id = id;
    read_token_text(pair.at(std::size_t(1)), known->back());
  }
  out_.vocabulary = std::move(known);
}

std::vector<LaneWarning> Reader::warnings_of(const JsonCursor& l, int n_heads) {
  std::vector<LaneWarning> out;
  const JsonCursor list = l.at("warnings");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor w = list.at(i);
    LaneWarning warning{.count = w.at("count").real(),
                        .asked = w.at("asked").real(),
                        .got = w.at("got").real(),
                        .n_heads = w.at("n_heads").whole(0, n_heads)};
    if (!parse_kind(w.at("kind").text(), warning.kind)) continue;  // a kind that this build does not know
    out.push_back(warning);
  }
  return out;
}

LaneSnapshot Reader::lane(const JsonCursor& l, bool fed_as_text) {
  LaneSnapshot lane;
  lane.spec = l.at("spec").text();
  lane.policy = l.at("policy").text();
  lane.title = l.has("title") ? l.at("title").text() : lane.policy;
  if (l.has("params")) {
    const JsonCursor params = l.at("params");
    for (std::size_t i = 0; i < params.n_members(); ++i) {
      const JsonCursor value = params.member(i);
      lane.params.push_back({std::string(params.member_name(i)), value.is_string() ? value.text() : value.written()});
    }
  }
  check_run_is_one(l, lane);
  const auto own_or_param = [&l](const char* key, const char* param, int least, int& out) {
    if (l.has(key)) {
      out = l.at(key).whole(least, kMaxInt);
      check_param(l, param, key, out);
    } else if (l.has("params") && l.at("params").given(param) && l.at("params").at(param).is_whole()) {
      out = l.at("params").at(param).whole(least, kMaxInt);
    }
  };
  own_or_param("sinks", "sinks", 0, lane.sinks);
  own_or_param("slots_asked", "slots", -1, lane.slots_asked);
  if (l.has("slots_asked") && lane.policy == reference_policy() && lane.slots_asked >= 0) l.at("slots_asked").fail("-1: it has no budget");
  lane.compress_ms = kNotAvailable;  // a trace has no times
  if (l.has("looks_at")) lane.looks_at = l.at("looks_at").text();
  if (l.has("sees_question")) lane.sees_question = l.at("sees_question").flag();
  if (l.has("statistic")) lane.statistic = l.at("statistic").text();
  if (l.has("half_life")) lane.half_life = l.at("half_life").real_or_null();
  if (l.has("head_params")) {
    const JsonCursor list = l.at("head_params");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor p = list.at(i);
      lane.head_params.push_back({p.at("layer").whole(0, out_.model.n_layers - 1), p.at("kv_head").whole(-1, out_.model.n_kv_heads - 1),
                                  p.at("key").text(), p.at("value").text()});
    }
  }
  if (l.has("score_equation")) lane.score_equation = l.at("score_equation").text();
  if (l.has("stored_as")) lane.stored_as = l.at("stored_as").text();
  lane.bytes = lane.kv_bytes = kNotAvailable;
  if (l.given("bytes")) lane.bytes = amount_or_null(l.at("bytes"));
  if (l.given("kv_bytes")) lane.kv_bytes = amount_or_null(l.at("kv_bytes"));
  lane.slots = l.given("slots") ? amount_or_null(l.at("slots")) : kNotAvailable;
  if (l.has("warnings")) lane.warnings = warnings_of(l, n_all_heads());

  const JsonCursor steps = l.at("steps");
  bool has_heads = false;
  history_.clear();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepRecord record = step(steps.at(i), static_cast<int>(i), fed_as_text);
    has_heads = has_heads || !record.heads.empty();
    if (record.next_token >= 0) lane.fed.push_back(record.next_token);
    lane.steps.push_back(std::make_shared<const StepRecord>(std::move(record)));
  }
  check_sizes(l, lane, out_.model, out_.precision, out_.lanes.empty());
  if (has_heads) lane.fates = fates(lane.steps, l);
  return lane;
}

std::shared_ptr<const LaneFates> Reader::fates(const std::vector<StepPtr>& steps, const JsonCursor& l) const {
  try {
    return std::make_shared<const LaneFates>(derive_fates(steps, n_all_heads()));
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", l.where(), e.what()));
  }
}

std::vector<TopToken> Reader::top_tokens(const JsonCursor& list) const {
  std::vector<TopToken> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor t = list.at(i);
    TopToken token;
    token.id = t.at("id").whole(0, last_token());
    token.p = share_or_null(t.at("p"));
    token.p_reference = share_or_null(t.at("p_reference"));
    token.logit = t.at("logit").real_or_null();
    token.logit_reference = t.at("logit_reference").real_or_null();
    token.rank = t.at("rank").whole(0, out_.model.vocab_size);
    token.rank_reference = t.at("rank_reference").whole(0, out_.model.vocab_size);
    out.push_back(token);
  }
  check_sum(list, out);
  return out;
}

StepRecord Reader::step(const JsonCursor& s, int index, bool fed_as_text) {
  StepRecord record;
  record.step = s.at("step").whole(index, index);
  const int n_tokens = static_cast<int>(out_.tokens.size());
  const int expected_position = index + (out_.prefill_mode ? out_.n_prompt - 1 : 0);  // a step a token
  record.position = s.at("position").whole(expected_position, expected_position);
  if (record.position >= n_tokens) s.at("position").fail(fmt::format("a token of the text, which has {}", n_tokens));
  if (s.given("next_token")) record.next_token = s.at("next_token").whole(0, last_token());
  if (record.next_token >= 0 && fed_as_text && record.position + 1 < n_tokens) {
    const int next = out_.tokens[static_cast<std::size_t>(record.position) + 1].id;
    s.at("next_token").whole(next, next);
  }
  if (s.has("nll")) record.nll = amount_or_null(s.at("nll"));
  record.kl = amount_or_null(s.at("kl"));
  record.top1_same = s.at("top1_same").flag();
  if (s.has("probe_tokens")) record.probe_tokens = s.at("probe_tokens").whole(0, kMaxInt);
  if (s.has("logits_top")) {
    const JsonCursor top = s.at("logits_top");
    for (std::size_t i = 0; i < top.size(); ++i) {
      const JsonCursor pair = top.at(i);
      record.logits_top.emplace_back(pair.at(std::size_t(0)).whole(0, last_token()), pair.at(std::size_t(1)).real_or_null());
    }
  }
  record.top1 = record.logits_top.empty() ? -1 : record.logits_top.front().first;
  if (s.has("top1")) record.top1 = s.at("top1").whole(-1, last_token());
  const bool compared = !out_.lanes.empty() && static_cast<std::size_t>(index) < out_.lanes.front().steps.size();
  const StepRecord* const reference = compared ? out_.lanes.front().steps[static_cast<std::size_t>(index)].get() : nullptr;
  record.top1_reference = record.top1_same ? record.top1 : reference != nullptr ? reference->top1 : -1;
  if (s.has("top1_reference")) record.top1_reference = s.at("top1_reference").whole(-1, last_token());
  check_choice(s, record, reference);
  if (s.has("top_tokens")) record.top_tokens = top_tokens(s.at("top_tokens"));
  if (s.has("heads")) {
    const JsonCursor heads = s.at("heads");
    const int expected = n_all_heads();
    if (heads.size() != 0 && heads.size() != static_cast<std::size_t>(expected)) heads.fail(fmt::format("none or all {} heads", expected));
    if (heads.size() != 0 && std::int64_t(expected) * n_tokens > kMaxFates)
      heads.fail(fmt::format("at most {} heads x tokens, of which there are {} x {}", kMaxFates, expected, n_tokens));
    history_.resize(heads.size() != 0 ? heads.size() : history_.size());
    for (std::size_t i = 0; i < heads.size(); ++i) record.heads.push_back(head(heads.at(i), static_cast<int>(i), record.position));
  }
  if (s.has("hidden_rel_l2")) {
    const JsonCursor list = s.at("hidden_rel_l2");
    for (std::size_t i = 0; i < list.size(); ++i) record.hidden_rel_l2.push_back(amount_or_null(list.at(i)));
    if (record.hidden_rel_l2.size() != static_cast<std::size_t>(out_.model.n_layers))
      list.fail(fmt::format("one number per layer ({})", out_.model.n_layers));
    out_.measures.hidden = true;
  }
  return record;
}

HeadRecord Reader::head(const JsonCursor& h, int index, int position) {
  HeadRecord record;
  const int n_kv_heads = out_.model.n_kv_heads;
  record.layer = h.at("layer").whole(index / n_kv_heads, index / n_kv_heads);
  record.kv_head = h.at("kv_head").whole(index % n_kv_heads, index % n_kv_heads);
  SlotHistory& history = history_[static_cast<std::size_t>(index)];
  history.read_to(position);
  if (h.given("budget")) record.budget = h.at("budget").whole(0, kMaxInt);
  if (h.has("slots")) slots(h.at("slots"), position, record);
  if (h.has("n_slots")) record.n_slots = h.at("n_slots").whole(0, kMaxInt);  // which they were was not kept
  has_slots_ = has_slots_ || !record.pos.empty();
  says_recent_ = says_recent_ && h.has("recent");
  if (h.has("unread")) record.unread = held_in_order(h.at("unread"), position, history);
  head_why(h, position, record, history);
  if (h.has("events")) events(h.at("events"), position, record, history);
  if (h.has("events") && !h.has("slots") && history.known()) record.n_slots = history.size();  // --detail events
  compare_slots(h, record, history);
  if (std::ranges::any_of(record.events, [](const Event& e) { return e.kind != Event::Kind::restore && !e.by_hand; }) &&
      record.recent > record.n_slots)
    h.at("recent").fail(fmt::format("at most {}: so many slots stay, and these are protected", record.n_slots));
  if (h.has("overridden")) record.overridden = h.at("overridden").flag();
  if (h.has("pinned")) record.pinned = h.at("pinned").wholes(0, kMaxInt);
  record.compress_rel_l2 = h.has("compress_rel_l2") ? amount_or_null(h.at("compress_rel_l2")) : kNotAvailable;
  if (h.has("local_rel_l2")) record.local_rel_l2 = amount_or_null(h.at("local_rel_l2"));
  if (h.has("local_l1_wo")) record.local_l1_wo = amount_or_null(h.at("local_l1_wo"));
  for (const char* key : {"merge_theta", "kvmerger_theta"})  // the latter in older files
    if (h.given(key)) record.merge_theta = h.at(key).real();
  if (h.given("kv_bytes")) record.kv_bytes = amount_or_null(h.at("kv_bytes"));
  if (h.given("read_bytes")) record.read_bytes = amount_or_null(h.at("read_bytes"));
  if (h.given("pooled_tokens")) record.pooled_tokens = h.at("pooled_tokens").whole(0, position + 1);
  collectors(h, position, record);
  if (h.given("pooled_share")) record.pooled_share = share_or_null(h.at("pooled_share"));
  if (h.has("attention_loss")) record.attention_loss = share_or_null(h.at("attention_loss"), 1e-3);
  if (h.has("theta")) record.theta = amount_or_null(h.at("theta"));
  if (h.has("predictor_error")) record.predictor_error = amount_or_null(h.at("predictor_error"));
  if (h.has("predictor_rel_error")) record.predictor_rel_error = amount_or_null(h.at("predictor_rel_error"));
  out_.measures.theta |= h.has("theta");
  out_.measures.prediction |= h.has("predictor_error");
  return record;
}

void Reader::slots(const JsonCursor& list, int position, HeadRecord& record) {
  const std::size_t n = list.size();
  int lowest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const JsonCursor slot = list.at(i);
    if (slot.size() < 3) slot.fail("[pos, votes, score]");
    record.pos.push_back(slot.at(std::size_t(0)).whole(lowest, position));
    record.votes.push_back(slot.at(std::size_t(1)).whole(1, position + 1));
    record.score.push_back(slot.at(std::size_t(2)).real_or_null());
    lowest = record.pos.back() + 1;
  }
  record.n_slots = static_cast<int>(n);
}

void Reader::events(const JsonCursor& list, int position, HeadRecord& record, SlotHistory& history) {
  Event spread;  // belongs to the eviction of the same token right after it
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor e = list.at(i);
    const std::string kind = e.at("kind").text();
    Event event;
    event.pos = e.at("pos").whole(0, position);
    if (e.has("form")) event.form = e.at("form").text();
    if (kind == "merge") {
      event.kind = Event::Kind::merge;
      event.into = e.at("into").whole(0, position);
      if (event.into == event.pos || !history.may_have(event.into)) e.at("into").fail("another token that has a slot");
      read_weights(e, event);
    } else if (kind == "spread") {
      spread.pos = event.pos;
      spread.spread = held(e.at("into"), position, history);
      if (std::ranges::count(spread.spread, spread.pos) > 0) e.at("into").fail("other tokens than the one whose value it is");
      continue;
    } else if (kind == "restore") {
      event.kind = Event::Kind::restore;
    } else if (kind != "evict") {
      unknown_events_.insert(kind.substr(0, 40));
      history.lose_track();
      continue;
    }
    const bool comes = event.kind == Event::Kind::restore;
    if (history.known() && history.has(event.pos) == comes)
      e.at("pos").fail(comes ? "a token that has no slot" : "a token that has a slot");
    comes ? history.come_back(event.pos) : history.leave(event.pos);
    if (!spread.spread.empty() && (event.kind != Event::Kind::evict || event.pos != spread.pos))
      e.fail(fmt::format("the eviction of token {}, whose value the event before it spreads", spread.pos));
    event.spread = std::exchange(spread.spread, {});
    if (e.has("score")) event.score = e.at("score").real_or_null();
    if (e.has("cos")) event.cos = cosine_or_null(e.at("cos"));
    if (e.has("gamma")) event.gamma = e.at("gamma").real_or_null();
    if (e.has("fallback")) event.fallback = e.at("fallback").flag();
    if (e.has("runner_ups")) {
      const JsonCursor ups = e.at("runner_ups");
      for (std::size_t k = 0; k < ups.size(); ++k) {
        event.runner_ups.emplace_back(ups.at(k).at(std::size_t(0)).whole(0, position), cosine_or_null(ups.at(k).at(std::size_t(1))));
      }
    }
    if (e.has("by")) event.by_hand = e.at("by").text() == "hand";
    record.events.push_back(std::move(event));
  }
  if (!spread.spread.empty()) list.fail(fmt::format("the eviction of token {} after the spreading of its value", spread.pos));
}

static JsonCursor counted(const JsonCursor& list, std::size_t n, const char* of_what) {
  if (list.size() != 0 && list.size() != n) list.fail(fmt::format("none or one number per {} ({})", of_what, n));
  return list;
}

void Reader::head_why(const JsonCursor& h, int position, HeadRecord& record, const SlotHistory& before) const {
  const int group = out_.model.group();
  if (h.has("recent")) record.recent = h.at("recent").whole(0, kMaxInt);
  if (h.has("evicted_votes")) {
    record.evicted_votes = h.at("evicted_votes").whole(0, position + 1);
  } else if (h.has("slots")) {  // of the votes of all tokens, those that no slot has
    const auto in_slots = std::accumulate(record.votes.begin(), record.votes.end(), std::int64_t(0));
    record.evicted_votes = static_cast<int>(std::max(std::int64_t(0), position + 1 - in_slots));
  }
  if (h.has("cutoff")) record.cutoff = h.at("cutoff").real_or_null();
  const auto one_per_slot = [&](const JsonCursor& list) { return counted(list, record.pos.size(), "slot").reals_or_null(); };
  if (h.has("stats")) {
    const JsonCursor stats = h.at("stats");
    if (stats.has("value")) record.statistic = one_per_slot(stats.at("value"));
    if (stats.has("bias")) record.bias = one_per_slot(stats.at("bias"));
  } else {
    record.bias.assign(record.pos.size(), kNotAvailable);  // none would be 0
  }
  if (h.given("score_parts")) record.parts = score_parts(h.at("score_parts"), position, before);
  if (h.has("page")) record.page = h.at("page").whole(1, kMaxInt);
  if (h.has("page_scores")) {
    h.at("page_scores").size(static_cast<std::size_t>(before.known() ? before.size() : before.n_tokens()));  // pages of one slot at least
    record.page_scores = h.at("page_scores").reals_or_null();
  }
  if (h.has("stored")) {
    const JsonCursor stored = h.at("stored");
    record.stored_block = counted(stored.at("block"), record.pos.size(), "slot").wholes(-1, kMaxInt);
    record.key_error = one_per_slot(stored.at("key_error"));
    record.value_error = one_per_slot(stored.at("value_error"));
  }
  const auto floats = [&](const char* key, std::size_t n, const char* of_what) {
    const std::vector<double> values = counted(h.at(key), n, of_what).reals_or_null();
    return std::vector<float>(values.begin(), values.end());
  };
  const auto seen = static_cast<std::size_t>(position) + 1;
  if (h.has("attended")) record.attended = held_in_order(h.at("attended"), position, before);
  const auto shares = [&](const char* key, std::size_t n, const char* of_what) {
    std::vector<float> values = floats(key, n, of_what);
    check_shares(h.at(key), values);
    return values;
  };
  if (h.has("attention")) record.attention = shares("attention", record.attended.size(), "attended slot");
  if (h.has("reference_attention")) record.reference_attention = shares("reference_attention", seen, "token seen");
  if (h.has("agreement")) {
    const std::vector<int> heads = counted(h.at("agreement"), seen, "token seen").wholes(0, std::min(group, 255));
    record.agreement.assign(heads.begin(), heads.end());
  }
  if (h.has("merges")) {
    const JsonCursor list = h.at("merges");
    for (std::size_t i = 0; i < list.size(); ++i) record.merges.push_back(merge(list.at(i), position, before));
  }
}

ScoreParts Reader::score_parts(const JsonCursor& p, int position, const SlotHistory& before) {
  constexpr std::size_t kMostTerms = 16, kLongestName = 100;
  ScoreParts out{.pos = held_in_order(p.at("pos"), position, before), .parts = {}};
  const JsonCursor terms = p.at("terms");
  for (std::size_t i = 0; i < terms.size(kMostTerms); ++i) {
    const std::vector<double> values = terms.at(i).at("values").reals_or_null();
    if (values.size() != out.pos.size()) terms.at(i).at("values").fail(fmt::format("one number per position ({})", out.pos.size()));
    out.parts.push_back({terms.at(i).at("name").text(kLongestName), {values.begin(), values.end()}});
  }
  return out;
}

MergeDetail Reader::merge(const JsonCursor& m, int position, const SlotHistory& before) const {
  MergeDetail detail;
  detail.into = m.at("into").whole(0, position);
  detail.members = held(m.at("members"), position, before);
  if (std::ranges::count(detail.members, detail.into) != 1)
    m.at("members").fail(fmt::format("tokens that are merged, the target {} once among them", detail.into));
  const auto one_per_member = [&](const char* key, std::size_t n) {
    if (n != detail.members.size() && n != 0) m.at(key).fail(fmt::format("none or one number per member ({})", detail.members.size()));
  };
  detail.votes = m.at("votes").wholes(1, position + 1);
  one_per_member("votes", detail.votes.size());
  detail.mu = m.at("mu").reals_or_null();
  one_per_member("mu", detail.mu.size());
  detail.weights = m.at("weights").reals_or_null();
  one_per_member("weights", detail.weights.size());
  detail.T = counted(m.at("T"), static_cast<std::size_t>(out_.model.group()), "query head").reals_or_null();
  if (m.has("log_scores")) {
    detail.log_scores = m.at("log_scores").reals_or_null();
    const std::size_t expected = detail.T.size() * detail.members.size();
    if (!detail.log_scores.empty() && detail.log_scores.size() != expected) {
      m.at("log_scores").fail(fmt::format("none or one number per member and query head ({})", expected));
    }
  }
  detail.m = m.at("m").reals_or_null();
  if (detail.m.size() != detail.T.size()) m.at("m").fail(fmt::format("one number per query head ({})", detail.T.size()));
  detail.extra = m.at("extra").real_or_null();
  detail.gamma = m.at("gamma").real_or_null();
  if (m.has("fit")) {
    const std::vector<double> fit = m.at("fit").reals_or_null();
    if (fit.size() != 3) m.at("fit").fail("change of the value, error before, error after");
    detail.value_change = fit[0];
    detail.error_before = fit[1];
    detail.error_after = fit[2];
  }
  return detail;
}

}  // namespace

Trace read_trace(std::string_view json, const std::string& name) {
  const JsonDocument document = JsonDocument::parse(json, name, kTraceLimits);
  Trace trace;
  const JsonCursor root(document);
  Reader(root, trace).read();
  return trace;
}

std::string too_large_to_read(std::uintmax_t bytes) {
  if (bytes <= kMaxTraceBytes) return {};
  return fmt::format(
      "its {} MiB are more than the {} that kvscope opens: for that, fewer runs, tokens or steps, or kvscope-cli trace --detail slots",
      bytes >> 20, kMaxTraceBytes >> 20);
}

Trace read_trace_file(const std::string& path) { return read_trace(read_text(path, kMaxTraceBytes), path); }

}  // namespace kvscope
