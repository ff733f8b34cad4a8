// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tokenizer/unicode.h"

namespace kvscope {

/// What is looked for in a text: a piece of text or a regular expression.
struct Pattern {
  std::string text;
  bool regex = false;
};

struct Normalize {
  NormalForm form;
};
struct Prepend {
  std::string text;
};
struct Replace {
  Pattern pattern;
  std::string text;
};
using Normalizer = std::variant<Normalize, Prepend, Replace>;

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct SplitBy {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};
struct SplitDigits {
  bool each = false;
};
struct SplitPunctuation {
  SplitBehavior behavior = SplitBehavior::isolated;
};
struct SplitWhiteSpace {};
struct ByteLevel {
  bool add_prefix_space = true, use_regex = true;
};
struct Metaspace {
  enum class Scheme { always, first, never };
  std::string mark;
  Scheme prepend = Scheme::always;
  bool split = true;
};
using PreTokenizer = std::variant<SplitBy, SplitDigits, SplitPunctuation, SplitWhiteSpace, ByteLevel, Metaspace>;

struct AddedToken {
  int id = 0;
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

struct PairMerge {
  int left = 0, right = 0, whole = 0;
};

/// How the text of a token comes from its name.
struct Decoding {
  bool byte_letters = false;   // each letter is a byte
  bool byte_fallback = false;  // "<0x0A>" is a byte
  std::vector<std::pair<std::string, std::string>> replacements;
  bool strip_space = false;  // of the whole text, one space at its start
};

/// A BPE tokenizer as its file describes it.
struct TokenizerParts {
  std::string name;                 // of the file, for messages
  std::vector<std::string> tokens;  // by id; empty: no such token
  std::vector<PairMerge> merges;    // first come first
  std::vector<AddedToken> added;
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  Decoding decoding;
  int unknown = -1;  // token of what the vocabulary lacks; -1: it is left out
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  std::vector<int> first_ids, last_ids;  // put before and after a text
};

}  // namespace kvscope
