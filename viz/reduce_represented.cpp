// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce_represented.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "core/error.h"

namespace kvscope::viz {
namespace {

constexpr int kWordTokens = 64;
constexpr int kGrowth = 1024;     // tokens: a run that grows is counted anew once per so many
constexpr int kTopBin = 1 << 15;  // tokens of the widest stored bin: its count fits 16 bits
constexpr int kLongJump = 16;     // a jump over more than 1/16 as many steps as there are tokens is counted anew

// The lowest bit of each of eight bytes that are 0 or 1, as one byte.
std::uint64_t pack(const std::uint8_t* bytes) {
  std::uint64_t x = 0;
  for (int k = 0; k < 8; ++k) x |= static_cast<std::uint64_t>(bytes[k]) << (8 * k);
  return (x * 0x0102040810204080ull) >> 56;
}

std::uint64_t mask_from(int bit) { return bit >= kWordTokens ? 0 : ~0ull << bit; }

// Whether tokens other than its own may have gone with a slot: it stood for several, or took some in the very step that removed it.
bool stood_for_several(const LaneSnapshot& lane, int step, int head, const Event& removal) {
  if (step == 0) return true;
  const HeadRecord& now = lane.steps[static_cast<std::size_t>(step)]->heads[static_cast<std::size_t>(head)];
  for (const Event& e : now.events) {
    if (e.kind == Event::Kind::merge && e.into == removal.pos) return true;
  }
  const StepRecord& before = *lane.steps[static_cast<std::size_t>(step) - 1];
  if (static_cast<std::size_t>(head) >= before.heads.size()) return true;
  const HeadRecord& slots = before.heads[static_cast<std::size_t>(head)];
  const auto found = std::lower_bound(slots.pos.begin(), slots.pos.end(), removal.pos);
  if (found == slots.pos.end() || *found != removal.pos) return removal.pos <= before.position;  // a token of this step is alone
  const auto i = static_cast<std::size_t>(found - slots.pos.begin());
  return i >= slots.votes.size() || slots.votes[i] > 1;
}

}  // namespace

std::int64_t Represented::show(const LaneSnapshot& lane, int step) {
  KVSCOPE_ASSERT(lane.fates != nullptr && step >= 0 && step < static_cast<int>(lane.steps.size()));
  const StepPtr& wanted = lane.steps[static_cast<std::size_t>(step)];
  if (wanted == record_ && n_heads_ == static_cast<int>(lane.fates->heads.size())) return 0;
  const int n_tokens = std::clamp(wanted->position + 1, 0, lane.fates->n_tokens);
  if (!continues(lane, n_tokens) || std::abs(step - step_) > std::max(kGrowth, n_tokens) / kLongJump) {
    record_ = wanted;
    step_ = step;
    n_tokens_ = n_tokens;
    count_all(lane);
    return -1;
  }
  changed_ = 0;
  const int low = std::min(step_, step), high = std::max(step_, step);  // lost in (low, high] is what changes
  for (int h = 0; h < n_heads_; ++h) {
    move_head(lane, h, low, high, step, std::min(n_tokens, n_tokens_));
    // The end of the text: tokens born, or not yet born.
    const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(h)];
    for (int t = n_tokens_; t < n_tokens; ++t) set(h, t, represented(fates, t, step));
    for (int t = n_tokens; t < n_tokens_; ++t) set(h, t, false);
  }
  record_ = wanted;
  step_ = step;
  n_tokens_ = n_tokens;
  return changed_;
}

bool Represented::continues(const LaneSnapshot& lane, int n_tokens) const {
  return record_ != nullptr && n_heads_ == static_cast<int>(lane.fates->heads.size()) && step_ < static_cast<int>(lane.steps.size()) &&
         lane.steps[static_cast<std::size_t>(step_)] == record_ && static_cast<std::size_t>(n_tokens) <= heads_per_token_.size();
}

// Tokens before n_tokens that were lost in (low, high]: those with an own slot are in the events, the others are followers of such a slot.
void Represented::move_head(const LaneSnapshot& lane, int head, int low, int high, int to, int n_tokens) {
  const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(head)];
  if (!fates.past.empty()) {  // tokens came back by hand: rare, and a token may come and go several times
    for (int t = 0; t < n_tokens; ++t) set(head, t, represented(fates, t, to));
    return;
  }
  Followers& followers = followers_[static_cast<std::size_t>(head)];
  bool several = false;
  for (int s = low + 1; s <= high; ++s) {
    const StepRecord& record = *lane.steps[static_cast<std::size_t>(s)];
    if (static_cast<std::size_t>(head) >= record.heads.size()) continue;
    for (const Event& e : record.heads[static_cast<std::size_t>(head)].events) {
      if (e.kind != Event::Kind::evict) continue;
      if (s >= followers.n_steps && !several) several = stood_for_several(lane, s, head, e);
      if (e.pos < n_tokens) set(head, e.pos, fates.lost(e.pos) > to);
    }
  }
  if (several) {  // the run has grown
    find_followers(fates, head, static_cast<int>(lane.steps.size()));
  } else if (low < followers.n_steps) {
    followers.n_steps = std::max(followers.n_steps, high + 1);
  }
  const auto first = std::upper_bound(followers.lost.begin(), followers.lost.end(), low);
  const auto last = std::upper_bound(first, followers.lost.end(), high);
  for (auto it = first; it != last; ++it) {
    const int t = followers.tokens[static_cast<std::size_t>(it - followers.lost.begin())];
    if (t < n_tokens) set(head, t, *it > to);
  }
}

void Represented::find_followers(const HeadFates& fates, int head, int n_steps) {
  std::vector<std::pair<int, int>> found;  // step, token
  for (int c = 0; c < fates.n_chunks(); ++c) {
    if (fates.untouched(c)) continue;
    const HeadFates::Chunk& chunk = fates.chunk(c);
    for (int i = 0; i < HeadFates::kChunkTokens; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const int lost = chunk.lost[k];
      if (lost > 0 && lost != kNever && chunk.into[k] >= 0) found.push_back({lost, c * HeadFates::kChunkTokens + i});
    }
  }
  std::sort(found.begin(), found.end());
  Followers& followers = followers_[static_cast<std::size_t>(head)];
  followers.n_steps = n_steps;
  followers.tokens.clear();
  followers.lost.clear();
  for (const auto& [step, token] : found) {
    followers.tokens.push_back(token);
    followers.lost.push_back(step);
  }
}

void Represented::set(int head, int token, bool on) {
  const auto t = static_cast<std::size_t>(token);
  std::uint64_t& word = bits_[static_cast<std::size_t>(head) * words_ + t / kWordTokens];
  const std::uint64_t bit = 1ull << (t % kWordTokens);
  if (((word & bit) != 0) == on) return;
  word ^= bit;
  ++changed_;
  heads_per_token_[t] += on ? 1 : -1;
  std::size_t bin = t / kLeafTokens;
  for (Level& level : levels_) {
    std::uint16_t& count = level.counts[static_cast<std::size_t>(head) * level.stride + bin];
    count = static_cast<std::uint16_t>(on ? count + 1 : count - 1);
    bin /= 2;
  }
}

void Represented::count_all(const LaneSnapshot& lane) {
  n_heads_ = static_cast<int>(lane.fates->heads.size());
  const auto room = static_cast<std::size_t>((std::max(lane.fates->n_tokens, n_tokens_) + kGrowth) / kGrowth) * kGrowth;
  const auto n_heads = static_cast<std::size_t>(n_heads_);
  words_ = room / kWordTokens;
  bits_.assign(n_heads * words_, 0);
  heads_per_token_.assign(room, 0);
  levels_.clear();
  for (std::size_t bin = kLeafTokens; bin <= kTopBin; bin *= 2) {
    Level level;
    level.stride = (room + bin - 1) / bin;
    level.counts.assign(n_heads * level.stride, 0);
    levels_.push_back(std::move(level));
    if (bin >= room) break;
  }
  followers_.assign(n_heads, {});
  const int n_steps = static_cast<int>(lane.steps.size());
  for (int h = 0; h < n_heads_; ++h) count_head(lane.fates->heads[static_cast<std::size_t>(h)], h, n_steps);
}

void Represented::count_head(const HeadFates& fates, int head, int n_steps) {
  static_assert(HeadFates::kChunkTokens % kWordTokens == 0, "a word is read from one chunk");
  const int n = std::min(n_tokens_, fates.n_tokens()), step = step_;
  std::uint64_t* const words = bits_.data() + static_cast<std::size_t>(head) * words_;
  int* const heads = heads_per_token_.data();
  unsigned lost_later = 0;  // whether any token went after the first step: only those can be followers
  for (int from = 0; from < n; from += kWordTokens) {
    const int chunk = from / HeadFates::kChunkTokens;
    const int* const lost = fates.chunk(chunk).lost.data() + from % HeadFates::kChunkTokens;
    std::uint8_t alive[kWordTokens] = {};
    if (from + kWordTokens <= n && fates.untouched(chunk)) {
      for (int k = 0; k < kWordTokens; ++k) ++heads[from + k];
      words[from / kWordTokens] = ~0ull;
      continue;
    }
    if (from + kWordTokens <= n) {  // a constant length, so that it is vectorised
      for (int k = 0; k < kWordTokens; ++k) alive[k] = lost[k] > step;
      for (int k = 0; k < kWordTokens; ++k) heads[from + k] += alive[k];
      for (int k = 0; k < kWordTokens; ++k) lost_later |= static_cast<unsigned>(lost[k]) - 1u < static_cast<unsigned>(kNever) - 1u;
    } else {
      for (int k = 0; from + k < n; ++k) heads[from + k] += alive[k] = lost[k] > step;
      lost_later = 1;
    }
    std::uint64_t word = 0;
    for (int k = 0; k < 8; ++k) word |= pack(alive + 8 * k) << (8 * k);
    words[from / kWordTokens] = word;
  }
  followers_[static_cast<std::size_t>(head)].n_steps = n_steps;
  if (lost_later != 0 || n < fates.n_tokens()) find_followers(fates, head, n_steps);
  Level& leaf = levels_.front();
  std::uint16_t* const bins = leaf.counts.data() + static_cast<std::size_t>(head) * leaf.stride;
  for (std::size_t b = 0; b < leaf.stride; ++b) {
    bins[b] = static_cast<std::uint16_t>(std::popcount(static_cast<std::uint16_t>(words[b / 4] >> (kLeafTokens * (b % 4)))));
  }
  for (std::size_t k = 1; k < levels_.size(); ++k) {
    const Level &below = levels_[k - 1], &level = levels_[k];
    const std::uint16_t* const in = below.counts.data() + static_cast<std::size_t>(head) * below.stride;
    std::uint16_t* const out = levels_[k].counts.data() + static_cast<std::size_t>(head) * level.stride;
    for (std::size_t b = 0; b < level.stride; ++b) {
      out[b] = static_cast<std::uint16_t>(in[2 * b] + (2 * b + 1 < below.stride ? in[2 * b + 1] : 0));
    }
  }
  for (const PastLife& life : fates.past)  // they were counted as they are now
    if (life.token < n) set(head, life.token, represented(fates, life.token, step));
}

bool Represented::at(int head, int token) const {
  const auto t = static_cast<std::size_t>(token);
  return (bits_[static_cast<std::size_t>(head) * words_ + t / kWordTokens] >> (t % kWordTokens) & 1) != 0;
}

std::span<const std::uint64_t> Represented::bits(int head) const {
  return {bits_.data() + static_cast<std::size_t>(head) * words_, words_};
}

int Represented::count(int head, int first, int last) const {
  first = std::max(first, 0);
  last = std::min(last, n_tokens_ - 1);
  if (last < first) return 0;
  const auto words = bits(head);
  const int a = first / kWordTokens, b = last / kWordTokens;
  int n = 0;
  for (int w = a; w <= b; ++w) {
    std::uint64_t word = words[static_cast<std::size_t>(w)];
    if (w == a) word &= mask_from(first % kWordTokens);
    if (w == b) word &= ~mask_from(last % kWordTokens + 1);
    n += std::popcount(word);
  }
  return n;
}

void Represented::bins(int head, int bin, int first_bin, std::span<std::uint32_t> out) const {
  KVSCOPE_ASSERT(bin >= 1 && std::has_single_bit(static_cast<unsigned>(bin)));
  if (bin < kLeafTokens) {
    const auto words = bits(head);
    const std::uint64_t mask = (1ull << bin) - 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto from = (static_cast<std::size_t>(first_bin) + i) * static_cast<std::size_t>(bin);
      const std::size_t word = from / kWordTokens;
      out[i] = word < words_
                   ? static_cast<std::uint32_t>(std::popcount(static_cast<std::uint16_t>(words[word] >> (from % kWordTokens) & mask)))
                   : 0;
    }
    return;
  }
  std::size_t k = 0;
  while (k + 1 < levels_.size() && (kLeafTokens << (k + 1)) <= bin) ++k;
  const Level& level = levels_[k];
  const std::uint16_t* const counts = level.counts.data() + static_cast<std::size_t>(head) * level.stride;
  const auto per_bin = static_cast<std::size_t>(bin) / (static_cast<std::size_t>(kLeafTokens) << k);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t at = (static_cast<std::size_t>(first_bin) + i) * per_bin;
    std::uint32_t sum = 0;
    for (std::size_t j = 0; j < per_bin && at < level.stride; ++j, ++at) sum += counts[at];
    out[i] = sum;
  }
}

std::size_t Represented::bytes() const {
  std::size_t n = bits_.size() * sizeof(std::uint64_t) + heads_per_token_.size() * sizeof(int);
  for (const Level& level : levels_) n += level.counts.size() * sizeof(std::uint16_t);
  for (const Followers& f : followers_) n += (f.tokens.size() + f.lost.size()) * sizeof(int);
  return n;
}

}  // namespace kvscope::viz
