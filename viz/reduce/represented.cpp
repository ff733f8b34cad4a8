// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/represented.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/joined_thread.h"
#include "viz/reduce/bins.h"

namespace kvscope::viz {
namespace {

constexpr int kWordTokens = Represented::kWordTokens;
constexpr int kGrowth = 1024;                  // tokens: a run that grows is counted anew once per so many
constexpr int kTopBin = 1 << 14;               // tokens of the widest stored bin: its count fits 16 bits
constexpr int kFactor = 16;                    // of the widths of stored levels: a change touches each of them
constexpr std::size_t kAhead = 12;             // cells: where a change will be made is fetched before
constexpr std::size_t kMostChanges = 1 << 16;  // listed
constexpr std::size_t kThreadsFrom = 1 << 22;  // tokens of all heads
constexpr int kMostThreads = 8;
constexpr int kLongJump = 16;  // a jump over more than 1/16 as many steps as there are tokens is counted anew

std::uint64_t mask_from(int bit) { return bit >= kWordTokens ? 0 : ~0ull << bit; }

std::uint64_t bit_of(int token) { return 1ull << (token % kWordTokens); }

std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

std::int64_t Represented::show(const LaneSnapshot& lane, int step) {
  KVSCOPE_ASSERT(lane.fates != nullptr && step >= 0 && step < static_cast<int>(lane.steps.size()));
  const StepPtr& wanted = lane.steps[static_cast<std::size_t>(step)];
  if (wanted == record_ && n_heads_ == static_cast<int>(lane.fates->heads.size())) return 0;
  changed_from_ = std::exchange(version_, next_version());
  changes_.clear();
  const int n_tokens = std::clamp(wanted->position + 1, 0, lane.fates->n_tokens);
  if (!continues(lane, n_tokens) || std::abs(step - step_) > std::max(kGrowth, n_tokens) / kLongJump) {
    record_ = wanted;
    step_ = step;
    n_tokens_ = n_tokens;
    count_all(lane);
    changed_from_ = 0;
    changes_.clear();
    return -1;
  }
  changed_ = 0;
  move(lane, step, n_tokens);
  if (changes_.size() >= kMostChanges) {
    changed_from_ = 0;
    changes_.clear();
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

// What is lost in the steps between is what changes, and the end of the text: tokens born, or not yet born.
void Represented::move(const LaneSnapshot& lane, int to, int n_tokens) {
  const int low = std::min(step_, to), high = std::max(step_, to), both = std::min(n_tokens, n_tokens_);
  for (int h = 0; h < n_heads_; ++h) {
    const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(h)];
    if (fates.past.empty()) {
      set(h, n_tokens_, n_tokens, true);
    } else {  // tokens came back by hand: rare, and a token may come and go several times
      for (int t = 0; t < n_tokens; ++t) set(h, t / kWordTokens, bit_of(t), represented(fates, t, to));
    }
    set(h, n_tokens, n_tokens_, false);
  }
  const int end_word = n_tokens / kWordTokens, both_word = both / kWordTokens;
  for (int s = low + 1; s <= high; ++s) {
    const std::vector<Cell>& cells = losses_of(lane, s);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i + kAhead < cells.size()) {
        const Cell& next = cells[i + kAhead];
        const auto head = static_cast<std::size_t>(next.head), word = static_cast<std::size_t>(next.word);
        __builtin_prefetch(&bits_[head * words_ + word], 1);
        __builtin_prefetch(&heads_per_token_[word * kWordTokens + static_cast<std::size_t>(std::countr_zero(next.bits))], 1);
        const Level& leaf = levels_.front();
        __builtin_prefetch(&leaf.counts[head * leaf.stride + word / (kLeafTokens / kWordTokens)], 1);
      }
      const Cell& cell = cells[i];
      const std::uint64_t seen = cell.word < end_word   ? cell.bits
                                 : cell.word > end_word ? 0
                                                        : cell.bits & ~mask_from(n_tokens % kWordTokens);
      if (seen == 0) continue;
      // Born and lost on the way: it never was there.
      if (cell.word >= both_word) changed_ -= 2 * std::popcount(cell.word > both_word ? seen : seen & mask_from(both % kWordTokens));
      set(cell.head, cell.word, seen, s > to);
    }
  }
}

const std::vector<Represented::Cell>& Represented::losses_of(const LaneSnapshot& lane, int step) {
  const auto i = static_cast<std::size_t>(step);
  const StepPtr& record = lane.steps[i];
  if (losses_.size() <= i) losses_.resize(lane.steps.size());
  Losses& losses = losses_[i];
  if (!losses.of.owner_before(record) && !record.owner_before(losses.of)) return losses.cells;
  losses.of = record;
  losses.cells.clear();
  const std::size_t n_heads = std::min(record->heads.size(), lane.fates->heads.size());
  // The tokens of a slot form a ring, which nothing joins once the slot is gone. All rings are followed side by side: what one needs next
  // is on its way while the others are read.
  struct Ring {
    int head, begin, at;
  };
  std::vector<Ring> rings;
  for (std::size_t h = 0; h < n_heads; ++h) {
    if (!lane.fates->heads[h].past.empty()) continue;
    for (const Event& e : record->heads[h].events)
      if (e.kind == Event::Kind::evict) rings.push_back({static_cast<int>(h), e.pos, e.pos});
  }
  const auto next_of = [&](const Ring& ring) {
    const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(ring.head)];
    return &fates.chunk(ring.at / HeadFates::kChunkTokens).next[static_cast<std::size_t>(ring.at % HeadFates::kChunkTokens)];
  };
  std::vector<std::pair<int, int>> lost;  // head, token
  while (!rings.empty()) {
    for (const Ring& ring : rings) __builtin_prefetch(next_of(ring));
    for (Ring& ring : rings) {
      lost.emplace_back(ring.head, ring.at);
      ring.at += *next_of(ring);
    }
    std::erase_if(rings, [](const Ring& ring) { return ring.at == ring.begin; });
  }
  std::sort(lost.begin(), lost.end());
  for (const auto& [head, token] : lost) {
    const int word = token / kWordTokens;
    if (losses.cells.empty() || losses.cells.back().head != head || losses.cells.back().word != word)
      losses.cells.push_back({0, head, word});
    losses.cells.back().bits |= bit_of(token);
  }
  return losses.cells;
}

void Represented::set(int head, int first, int end, bool on) {
  for (int word = first / kWordTokens; first < end; ++word, first = word * kWordTokens) {
    const std::uint64_t from = mask_from(first % kWordTokens);
    set(head, word, end / kWordTokens > word ? from : from & ~mask_from(end % kWordTokens), on);
  }
}

void Represented::set(int head, int word, std::uint64_t tokens, bool on) {
  const auto w = static_cast<std::size_t>(word);
  std::uint64_t& bits = bits_[static_cast<std::size_t>(head) * words_ + w];
  const std::uint64_t turned = on ? tokens & ~bits : tokens & bits;
  if (turned == 0) return;
  bits ^= turned;
  const int by = on ? 1 : -1, n = std::popcount(turned);
  changed_ += n;
  if (changes_.size() < kMostChanges) changes_.push_back({turned, head, word * kWordTokens, by});
  for (std::uint64_t left = turned; left != 0; left &= left - 1)
    heads_per_token_[w * kWordTokens + static_cast<std::size_t>(std::countr_zero(left))] += by;
  std::size_t bin = w / (kLeafTokens / kWordTokens);
  for (Level& level : levels_) {
    std::uint16_t& count = level.counts[static_cast<std::size_t>(head) * level.stride + bin];
    count = static_cast<std::uint16_t>(count + by * n);
    bin /= kFactor;
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
  for (std::size_t bin = kLeafTokens; bin <= kTopBin; bin *= kFactor) {
    Level level;
    level.stride = (room + bin - 1) / bin;
    level.counts.assign(n_heads * level.stride, 0);
    levels_.push_back(std::move(level));
    if (bin >= room) break;
  }
  losses_.clear();
  // A long text is read as fast as memory answers, which is faster for several threads.
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int n_threads = n_heads * room < kThreadsFrom ? 1 : std::clamp(cores, 1, kMostThreads);
  std::vector<std::vector<int>> heads_per_token(static_cast<std::size_t>(n_threads - 1), std::vector<int>(room, 0));
  const auto count_share = [&](int share) {
    std::vector<int>& own = share == 0 ? heads_per_token_ : heads_per_token[static_cast<std::size_t>(share - 1)];
    for (int h = n_heads_ * share / n_threads; h < n_heads_ * (share + 1) / n_threads; ++h)
      count_head(lane.fates->heads[static_cast<std::size_t>(h)], h, own);
  };
  {
    std::vector<JoinedThread> others;
    for (int share = 1; share < n_threads; ++share) others.emplace_back(count_share, share);
    count_share(0);
  }
  for (const std::vector<int>& others : heads_per_token)
    std::transform(others.begin(), others.end(), heads_per_token_.begin(), heads_per_token_.begin(), std::plus<>());
  for (int h = 0; h < n_heads_; ++h) {
    const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(h)];
    for (const EarlierFate& earlier : fates.past)  // they were counted as they are now
      if (earlier.token < n_tokens_) set(h, earlier.token / kWordTokens, bit_of(earlier.token), represented(fates, earlier.token, step_));
  }
}

void Represented::count_head(const HeadFates& fates, int head, std::vector<int>& heads_per_token) {
  static_assert(HeadFates::kChunkTokens % kWordTokens == 0, "a word is read from one chunk");
  const int n = std::min(n_tokens_, fates.n_tokens()), step = step_;
  std::uint64_t* const words = bits_.data() + static_cast<std::size_t>(head) * words_;
  int* const heads = heads_per_token.data();
  for (int from = 0; from < n; from += kWordTokens) {
    const int chunk = from / HeadFates::kChunkTokens;
    if (chunk + 1 < fates.n_chunks()) {  // chunks lie apart: no prefetcher foresees the next one
      const int* const next = fates.chunk(chunk + 1).lost.data() + from % HeadFates::kChunkTokens;
      for (int k = 0; k < kWordTokens; k += 16) __builtin_prefetch(next + k);
    }
    const int* const lost = fates.chunk(chunk).lost.data() + from % HeadFates::kChunkTokens;
    std::uint64_t& word = words[from / kWordTokens];
    if (from + kWordTokens <= n) {
      if (!fates.untouched(chunk)) {
        word = greater_bits(std::span<const int, kWordTokens>(lost, kWordTokens), step,
                            std::span<int, kWordTokens>(heads + from, kWordTokens));
        continue;
      }
      for (int k = 0; k < kWordTokens; ++k) ++heads[from + k];
      word = ~0ull;
      continue;
    }
    word = 0;
    for (int k = 0; from + k < n; ++k) {
      heads[from + k] += lost[k] > step;
      word |= static_cast<std::uint64_t>(lost[k] > step) << k;
    }
  }
  Level& leaf = levels_.front();
  std::uint16_t* const bins = leaf.counts.data() + static_cast<std::size_t>(head) * leaf.stride;
  bit_counts({words, words_}, kLeafTokens, 0, {bins, leaf.stride});
  for (std::size_t k = 1; k < levels_.size(); ++k) {
    const Level &below = levels_[k - 1], &level = levels_[k];
    const std::uint16_t* const in = below.counts.data() + static_cast<std::size_t>(head) * below.stride;
    std::uint16_t* const out = levels_[k].counts.data() + static_cast<std::size_t>(head) * level.stride;
    for (std::size_t b = 0; b < level.stride; ++b) {
      unsigned sum = 0;
      for (std::size_t j = kFactor * b; j < std::min(kFactor * (b + 1), below.stride); ++j) sum += in[j];
      out[b] = static_cast<std::uint16_t>(sum);
    }
  }
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
    return bit_counts(bits(head), static_cast<std::size_t>(bin), static_cast<std::size_t>(first_bin), out);
  }
  std::size_t k = 0;
  int width = kLeafTokens;
  while (k + 1 < levels_.size() && width * kFactor <= bin) ++k, width *= kFactor;
  const Level& level = levels_[k];
  const std::uint16_t* const counts = level.counts.data() + static_cast<std::size_t>(head) * level.stride;
  const auto per_bin = static_cast<std::size_t>(bin / width);
  if (const std::size_t from = static_cast<std::size_t>(first_bin) * per_bin; from + out.size() * per_bin <= level.stride)
    return group_sums({counts + from, out.size() * per_bin}, per_bin, out);
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
  n += changes_.capacity() * sizeof(Change);
  for (const Losses& l : losses_) n += l.cells.size() * sizeof(Cell);
  return n;
}

}  // namespace kvscope::viz
