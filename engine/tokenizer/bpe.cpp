// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kLongestCached = 256;  // bytes of a word
constexpr std::size_t kMostCached = 1 << 16;
constexpr std::uint64_t kFree = ~std::uint64_t(0);

std::uint64_t key_of(int left, int right) {
  return std::uint64_t(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

std::size_t place_of(std::uint64_t key, std::size_t mask) { return (key * 0x9e3779b97f4a7c15u >> 20) & mask; }

}  // namespace

Bpe::Bpe(const TokenizerParts& parts, bool byte_level) : parts_(parts), byte_level_(byte_level) {
  ids_.reserve(parts.tokens.size() * 2);
  for (std::size_t id = 0; id < parts.tokens.size(); ++id)
    if (!parts.tokens[id].empty()) ids_.try_emplace(parts.tokens[id], static_cast<int>(id));
  make_symbols();
  make_joints();
}

int Bpe::id_of(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? -1 : found->second;
}

std::vector<int> Bpe::fallback_of(std::string_view character) const {
  std::vector<int> out;
  if (!parts_.byte_fallback) return out;
  for (const char byte : character) {
    out.push_back(id_of(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte))));
    if (out.back() < 0) return {};
  }
  return out;
}

void Bpe::make_symbols() {
  for (int c = 0; c < 128; ++c) ascii_symbols_[static_cast<std::size_t>(c)] = id_of(std::string(1, static_cast<char>(c)));
  for (int b = 0; b < 256; ++b) {
    const std::string_view letter = letter_of_byte(static_cast<unsigned char>(b));
    if (const int id = id_of(letter); id >= 0)
      byte_symbols_[static_cast<std::size_t>(b)] = {id};
    else
      byte_symbols_[static_cast<std::size_t>(b)] = fallback_of(letter);
  }
}

void Bpe::make_joints() {
  joints_.assign(std::bit_ceil(parts_.merges.size() * 2 + 2), {kFree, {}});
  const std::size_t mask = joints_.size() - 1;
  // A name's first and last symbol; a byte token is a symbol itself.
  const auto edge = [&](int id, bool last) {
    const std::string_view name = parts_.tokens[static_cast<std::size_t>(id)];
    std::size_t begin = 0;
    if (last)
      for (begin = name.size() - 1; begin > 0 && (name[begin] & 0xc0) == 0x80;) --begin;
    return id_of(name.substr(begin, character_bytes(name[begin])));
  };
  for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
    const PairMerge& m = parts_.merges[rank];
    const std::uint64_t key = key_of(m.left, m.right);
    std::size_t at = place_of(key, mask);
    while (joints_[at].first != kFree && joints_[at].first != key) at = (at + 1) & mask;
    joints_[at] = {key, {static_cast<int>(rank), m.whole}};
    if (byte_level_) continue;  // its words are short
    for (const int left : {m.left, edge(m.left, true)})
      for (const int right : {m.right, edge(m.right, false)}) neighbours_.insert(key_of(left, right));
  }
}

const Bpe::Joint* Bpe::joint(int left, int right) const {
  const std::uint64_t key = key_of(left, right);
  const std::size_t mask = joints_.size() - 1;
  for (std::size_t at = place_of(key, mask); joints_[at].first != kFree; at = (at + 1) & mask)
    if (joints_[at].first == key) return &joints_[at].second;
  return nullptr;
}

void Bpe::add_symbol(int id, std::uint32_t bytes) {
  symbols_.push_back({id, bytes + left_out_bytes_, -1, -1});
  left_out_bytes_ = 0;
}

void Bpe::add_character(std::string_view character, std::uint32_t bytes) {
  int id = -1;
  if (byte_level_) {
    const std::vector<int>& ids = byte_symbols_[static_cast<unsigned char>(character[0])];
    if (ids.size() > 1) {
      for (std::size_t i = 0; i < ids.size(); ++i) add_symbol(ids[i], i == 0 ? bytes : 0);
      return;
    }
    if (!ids.empty()) id = ids[0];
  } else {
    id = character.size() == 1 ? ascii_symbols_[static_cast<unsigned char>(character[0])] : id_of(character);
    if (id < 0) {
      const std::vector<int> ids = fallback_of(character);
      for (const int byte : ids) add_symbol(byte, 1);
      if (!ids.empty()) return;
    }
  }
  if (id >= 0) {
    if (unknown_bytes_ > 0) add_symbol(parts_.unknown, std::exchange(unknown_bytes_, 0));
    add_symbol(id, bytes);
  } else if (parts_.unknown >= 0) {
    if (unknown_bytes_ > 0 && !parts_.fuse_unknown) add_symbol(parts_.unknown, std::exchange(unknown_bytes_, 0));
    unknown_bytes_ += bytes;
  } else if (!symbols_.empty()) {
    symbols_.back().bytes += bytes;
  } else {
    left_out_bytes_ += bytes;
  }
}

void Bpe::split_into_symbols(std::string_view word) {
  symbols_.clear();
  unknown_bytes_ = left_out_bytes_ = 0;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = byte_level_ ? 1 : std::min(character_bytes(word[at]), word.size() - at);
    add_character(word.substr(at, size), static_cast<std::uint32_t>(size));
    at += size;
  }
  if (unknown_bytes_ > 0) add_symbol(parts_.unknown, unknown_bytes_);
}

/// Joins the symbols [begin, end) as far as they go.
void Bpe::merge(std::size_t begin, std::size_t end) {
  const auto later = [](const Candidate& a, const Candidate& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; };
  const auto offer = [&](int left, int right) {
    if (left < 0 || right < 0) return;
    const Joint* j = joint(symbols_[static_cast<std::size_t>(left)].id, symbols_[static_cast<std::size_t>(right)].id);
    if (!j) return;
    queue_.push_back({j->rank, left, j->whole});
    std::ranges::push_heap(queue_, later);
  };
  queue_.clear();
  for (std::size_t i = begin; i < end; ++i) {
    symbols_[i].previous = i > begin ? static_cast<int>(i) - 1 : -1;
    symbols_[i].next = i + 1 < end ? static_cast<int>(i) + 1 : -1;
  }
  for (std::size_t i = begin; i + 1 < end; ++i) offer(static_cast<int>(i), static_cast<int>(i) + 1);
  while (!queue_.empty()) {
    std::ranges::pop_heap(queue_, later);
    const Candidate best = queue_.back();
    queue_.pop_back();
    Symbol& left = symbols_[static_cast<std::size_t>(best.at)];
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
    const Joint* now = joint(left.id, right.id);
    if (!now || now->whole != best.whole) continue;  // one of the two has changed since
    left.id = best.whole;
    left.bytes += right.bytes;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols_[static_cast<std::size_t>(left.next)].previous = best.at;
    offer(left.previous, best.at);
    offer(best.at, left.next);
  }
}

/// Where the next two symbols stand that no merge ever joins, nor anything that ends and begins with them.
std::size_t Bpe::end_of_part(std::size_t begin) const {
  if (byte_level_) return symbols_.size();
  std::size_t end = begin + 1;
  while (end < symbols_.size() && neighbours_.contains(key_of(symbols_[end - 1].id, symbols_[end].id))) ++end;
  return end;
}

void Bpe::encode_part(std::string_view text, std::size_t begin, std::size_t end, std::vector<BpeToken>& out) {
  const bool cached = text.size() <= kLongestCached;
  if (cached) {
    if (const auto found = cache_.find(text); found != cache_.end()) {
      const auto first = cached_tokens_.begin() + static_cast<std::ptrdiff_t>(found->second.begin);
      out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(found->second.size));
      return;
    }
  }
  merge(begin, end);
  const std::size_t first = out.size();
  for (std::size_t i = begin; i < end; ++i)
    if (symbols_[i].id >= 0) out.push_back({symbols_[i].id, symbols_[i].bytes});
  if (!cached) return;
  if (cache_.size() >= kMostCached) {
    cache_.clear();
    cached_tokens_.clear();
  }
  cache_.emplace(text, Cached{cached_tokens_.size(), out.size() - first});
  cached_tokens_.insert(cached_tokens_.end(), out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

void Bpe::encode(std::string_view word, std::vector<BpeToken>& out) {
  if (parts_.ignore_merges) {
    letters_.clear();
    if (byte_level_)
      for (const char byte : word) letters_ += letter_of_byte(static_cast<unsigned char>(byte));
    if (const int id = id_of(byte_level_ ? std::string_view(letters_) : word); id >= 0) {
      out.push_back({id, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  if (word.size() <= kLongestCached) {
    if (const auto found = cache_.find(word); found != cache_.end()) {
      const auto first = cached_tokens_.begin() + static_cast<std::ptrdiff_t>(found->second.begin);
      out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(found->second.size));
      return;
    }
  }
  split_into_symbols(word);
  if (word.size() <= kLongestCached) return encode_part(word, 0, symbols_.size(), out);
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < symbols_.size();) {
    const std::size_t end = end_of_part(begin);
    std::size_t bytes = 0;
    for (std::size_t i = begin; i < end; ++i) bytes += symbols_[i].bytes;
    encode_part(word.substr(at, bytes), begin, end, out);
    at += bytes;
    begin = end;
  }
}

}  // namespace kvscope
