// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tokenizer/parts.h"

namespace kvscope {

/// A token inside a word and the bytes of the word that it stands for.
struct BpeToken {
  int id = 0;
  std::uint32_t bytes = 0;
};

/// Byte-pair encoding: a word becomes symbols, and the neighbours that come first in the list of merges are joined until none is left.
class Bpe {
 public:
  /// Keeps a reference to the parts. byte_level: symbols are bytes, and names of tokens are written in their letters.
  Bpe(const TokenizerParts& parts, bool byte_level);

  /// Appends the tokens of a word to out.
  void encode(std::string_view word, std::vector<BpeToken>& out);

  int id_of(std::string_view name) const;

 private:
  struct Symbol {
    int id;
    std::uint32_t bytes;
    int next, previous;  // -1: none, and a symbol that was joined to the one before it has bytes 0
  };
  struct Joint {
    int rank, whole;
  };
  struct Candidate {
    int rank, at, whole;
  };
  struct Cached {
    std::size_t begin, size;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };

  void make_symbols();
  void make_joints();
  std::vector<int> fallback_of(std::string_view character) const;
  const Joint* joint(int left, int right) const;
  void add_character(std::string_view character, std::uint32_t bytes);
  void add_symbol(int id, std::uint32_t bytes);
  void split_into_symbols(std::string_view word);
  void merge(std::size_t begin, std::size_t end);
  std::size_t end_of_part(std::size_t begin) const;
  void encode_part(std::string_view text, std::size_t begin, std::size_t end, std::vector<BpeToken>& out);

  const TokenizerParts& parts_;
  const bool byte_level_;
  std::unordered_map<std::string_view, int> ids_;
  std::array<std::vector<int>, 256> byte_symbols_;  // byte level: what a byte starts as; empty: it is unknown
  std::array<int, 128> ascii_symbols_{};
  std::vector<std::pair<std::uint64_t, Joint>> joints_;  // open addressing; key ~0: free
  std::unordered_set<std::uint64_t> neighbours_;         // last and first symbols of all that is ever joined; not at the level of bytes

  // of the word in work, and of words seen before
  std::vector<Symbol> symbols_;
  std::vector<Candidate> queue_;
  std::uint32_t unknown_bytes_ = 0, left_out_bytes_ = 0;  // seen, and not yet told to a symbol
  std::string letters_;
  std::unordered_map<std::string, Cached, Hash, std::equal_to<>> cache_;
  std::vector<BpeToken> cached_tokens_;
};

}  // namespace kvscope
