// SPDX-License-Identifier: Apache-2.0
#include "snapshot/synthetic.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/joined_thread.h"

namespace kvscope::synthetic {

namespace {

constexpr int kHeadDim = 128;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// The end of uniform(): `before` has seed and a mixed in.
double uniform_after(std::uint64_t before, int b, int c) {
  return static_cast<double>(mixed(mixed(before + static_cast<std::uint64_t>(b)) + static_cast<std::uint64_t>(c)) >> 11) * 0x1p-53;
}

/// One head of a lane of any length: the prefill keeps the text in patches, lets a part of the rest merge into the next slot and drops the
/// remainder; every generated token then pushes one slot out.
class LongHead {
 public:
  static constexpr int kSinks = 4, kRecent = 64;

  LongHead(HeadFates& fates, int head, int lane, int n_prompt, int n_tokens)
      : write_(fates, n_tokens), seed_(static_cast<std::uint64_t>(lane) * 7919 + 3), head_(head) {
    std::vector<int> waiting;  // to be merged into the next slot
    const std::uint64_t of_head = mixed(mixed(seed_) + static_cast<std::uint64_t>(head));
    double patch = 0;
    for (int t = 0; t < n_prompt; ++t) {
      if (t % 512 == 0) patch = uniform(seed_, head, t / 512, 1);
      const double u = uniform_after(of_head, t, 2);
      if (t < kSinks || t >= n_prompt - kRecent || u < 0.1 * patch * patch * patch) {
        for (int m : waiting) merge(m, t);
        slots_.push_back({t, 1 + static_cast<int>(waiting.size())});
        waiting.clear();
        continue;
      }
      write_.left(t) = 0;
      if (u > 1 - 0.6 * patch) {
        waiting.push_back(t);
      } else {
        write_.lost(t) = 0;
        ++evicted_votes_;
      }
    }
  }

  /// The slots after a step; with `token` >= 0 that token comes in first and one slot goes.
  HeadRecord step(int step, int token) {
    HeadRecord r;
    if (token >= 0) {
      slots_.push_back({token, 1});
      remove(r, step);
    }
    r.recent = kRecent;
    r.evicted_votes = evicted_votes_;
    r.n_slots = static_cast<int>(slots_.size());
    r.pos.reserve(slots_.size());
    r.votes.reserve(slots_.size());
    r.score.reserve(slots_.size());
    for (const Slot& s : slots_) {
      r.pos.push_back(s.pos);
      r.votes.push_back(s.votes);
      const bool ranked = s.pos >= kSinks && r.pos.size() + kRecent <= slots_.size();
      r.score.push_back(ranked ? 0.01 * uniform(seed_, head_ + 31 * step, s.pos, 3) : kNotAvailable);
    }
    return r;
  }

 private:
  struct Slot {
    int pos = 0, votes = 1;
  };

  // Into the slot of `into`: two rings become one.
  void merge(int token, int into) {
    write_.into(token) = into;
    const int after_into = write_.next(into), after_token = write_.next(token);
    write_.set_next(into, after_token);
    write_.set_next(token, after_into);
  }

  void remove(HeadRecord& r, int step) {
    const std::size_t n = slots_.size() - kSinks - kRecent - 1;
    const std::size_t at = kSinks + static_cast<std::size_t>(uniform(seed_, head_, step, 4) * static_cast<double>(n));
    const Slot gone = slots_[at];
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(at));
    Event e;
    e.pos = gone.pos;
    e.score = 0.001 * uniform(seed_, head_, step, 5);
    write_.left(gone.pos) = step;
    if (uniform(seed_, head_, step, 6) < 0.3) {
      Slot& into = slots_[at];
      e.kind = Event::Kind::merge;
      e.into = into.pos;
      into.votes += gone.votes;
      merge(gone.pos, into.pos);
    } else {
      int t = gone.pos;
      do {
        write_.lost(t) = step;
        t = write_.next(t);
      } while (t != gone.pos);
      evicted_votes_ += gone.votes;
    }
    r.events.push_back(std::move(e));
  }

  FateWriter write_;
  std::uint64_t seed_;
  int head_;
  int evicted_votes_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace

double uniform(std::uint64_t seed, int a, int b, int c) { return uniform_after(mixed(mixed(seed) + static_cast<std::uint64_t>(a)), b, c); }

namespace {

const std::vector<std::string>& words() {
  static const std::vector<std::string> all = {" from", " the",    " fl",    "ash",   " of",  " our",  " lam", "ps",    ",",    " as",
                                               " rays", " fell",   " on",    " them", "\n",   " th",   "at",   " hor",  "ses",  " were",
                                               " coal", "-",       " black", "\t",    " and", " 日本", "\xE4", "\xBD",  "\xA0", " h",
                                               "idden", " number", " is",    " 4",    "8",    "2",     ".",    " 🙂", " سلام"};
  return all;
}

std::size_t word_at(int token) { return static_cast<std::size_t>(token - 1) % words().size(); }
int word_id(int token) { return 10 + static_cast<int>(word_at(token)); }

}  // namespace

std::vector<TokenInfo> tokens(int n, int n_prompt) {
  std::vector<TokenInfo> result;
  int text = 0;
  for (int t = 0; t < n; ++t) {
    TokenInfo token;
    if (t == 0) {
      token = {1, "", "<s>", true, -1, -1};
    } else {
      const std::string& word = words()[word_at(t)];
      token.id = word_id(t);
      token.bytes = word;
      token.piece = word;
      if (t < n_prompt) {
        token.text_begin = text;
        token.text_end = text += static_cast<int>(word.size());
      }
    }
    result.push_back(std::move(token));
  }
  return result;
}

LaneSnapshot make_huge_lane(int index, int n_layers, int n_kv_heads, int n_prompt, int n_generated) {
  LaneSnapshot lane;
  const bool full = index == 0;
  lane.policy = full ? "full" : "synthetic";
  lane.title = full ? "Full cache" : "Synthetic run " + std::to_string(index);
  lane.spec = full ? lane.policy : "synthetic:run=" + std::to_string(index);
  lane.sinks = full ? 0 : LongHead::kSinks;
  auto fates = std::make_shared<LaneFates>();
  fates->n_tokens = n_prompt + n_generated;
  const int n_heads = n_layers * n_kv_heads;
  fates->heads.resize(static_cast<std::size_t>(n_heads));
  std::vector<std::shared_ptr<StepRecord>> steps;
  for (int s = 0; s <= n_generated; ++s) {
    steps.push_back(std::make_shared<StepRecord>());
    StepRecord& record = *steps.back();
    record.step = s;
    record.position = n_prompt - 1 + s;
    record.ms = 1;
    record.kl = full ? 0 : 0.01 * uniform(5, index, s);
    record.top1 = record.top1_reference = word_id(n_prompt + s);
    if (s < n_generated) record.next_token = record.top1;
    record.heads.resize(static_cast<std::size_t>(n_heads));
  }
  const auto make_head = [&](int h) {
    HeadFates& of_head = fates->heads[static_cast<std::size_t>(h)];
    std::unique_ptr<LongHead> head;
    if (full)
      FateWriter(of_head, fates->n_tokens);
    else
      head = std::make_unique<LongHead>(of_head, h, index, n_prompt, fates->n_tokens);
    for (int s = 0; s <= n_generated; ++s) {
      HeadRecord r = full ? HeadRecord{} : head->step(s, s == 0 ? -1 : n_prompt - 1 + s);
      r.layer = h / n_kv_heads;
      r.kv_head = h % n_kv_heads;
      r.budget = full ? -1 : static_cast<int>(r.pos.size());
      r.local_l1_wo = full ? 0 : 10.0 * uniform(3, h);
      r.attention_loss = full ? 0 : uniform(4, h, s);
      steps[static_cast<std::size_t>(s)]->heads[static_cast<std::size_t>(h)] = std::move(r);
    }
  };
  {
    const int n_threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, n_heads);
    std::vector<JoinedThread> threads;
    for (int i = 0; i < n_threads; ++i)
      threads.emplace_back([&, i] {
        for (int h = i; h < n_heads; h += n_threads) make_head(h);
      });
  }
  double slots = 0;
  for (const HeadRecord& h : steps.back()->heads) slots += static_cast<double>(full ? fates->n_tokens : h.pos.size()) / n_heads;
  lane.slots = slots;
  if (!full) lane.slots_asked = static_cast<int>(std::lround(slots));
  lane.kv_bytes = lane.bytes = slots * n_heads * 2 * kHeadDim * sizeof(std::uint16_t);  // keys and values of two bytes a number
  lane.steps.assign(steps.begin(), steps.end());
  lane.fates = std::move(fates);
  return lane;
}

Snapshot make_huge_snapshot(int n_layers, int n_kv_heads, int n_prompt, int n_generated, int n_lanes) {
  Snapshot s;
  s.generation = s.sequence = 1;
  s.phase = RunPhase::idle;
  s.device = "synthetic: made up, no model has run";
  s.model.name = s.model.arch = "synthetic";
  s.model.n_layers = n_layers;
  s.model.n_heads = s.model.n_kv_heads = n_kv_heads;
  s.model.head_dim = kHeadDim;
  s.model.dim = kHeadDim * n_kv_heads;
  s.model.max_positions = n_prompt + n_generated;
  s.n_prompt = n_prompt;
  s.tokens = tokens(n_prompt + n_generated, n_prompt);
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>();
  for (const TokenInfo& token : s.tokens) {
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= vocabulary->size()) vocabulary->resize(id + 1);
    TokenInfo& entry = (*vocabulary)[id];
    entry = token;
    entry.text_begin = entry.text_end = -1;
  }
  s.vocabulary = std::move(vocabulary);
  for (int lane = 0; lane < n_lanes; ++lane) s.lanes.push_back(make_huge_lane(lane, n_layers, n_kv_heads, n_prompt, n_generated));
  return s;
}

}  // namespace kvscope::synthetic
