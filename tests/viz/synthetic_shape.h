// SPDX-License-Identifier: Apache-2.0
#pragma once

// What synthetic snapshots are made of: sizes, reproducible random numbers, tokens, a model.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::synthetic {

enum class LaneKind : std::uint8_t { full, window, heavy, merging };

struct Shape {
  int n_layers = 6;
  int n_heads = 8;
  int n_kv_heads = 4;
  int n_prompt = 167;
  int n_generated = 12;
  bool prefill = true;  // false: one step per prompt token
  int slots = 42;       // budget per head
  int sinks = 4;
  int recent = 8;
  bool capture = true;  // attention and reference attention
  std::uint64_t seed = 7;
  std::vector<LaneKind> lanes = {LaneKind::full, LaneKind::window, LaneKind::heavy, LaneKind::merging};
};

namespace detail {

inline std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

inline double uniform(std::uint64_t seed, int a, int b = 0, int c = 0) {
  const std::uint64_t x =
      mixed(mixed(mixed(mixed(seed) + static_cast<std::uint64_t>(a)) + static_cast<std::uint64_t>(b)) + static_cast<std::uint64_t>(c));
  return static_cast<double>(x >> 11) * 0x1p-53;
}

inline std::vector<TokenInfo> tokens(int n, int n_prompt) {
  static const std::vector<std::string> words = {" from", " the",    " fl",    "ash",   " of",  " our",  " lam", "ps",    ",",    " as",
                                                 " rays", " fell",   " on",    " them", "\n",   " th",   "at",   " hor",  "ses",  " were",
                                                 " coal", "-",       " black", "\t",    " and", " 日本", "\xE4", "\xBD",  "\xA0", " h",
                                                 "idden", " number", " is",    " 4",    "8",    "2",     ".",    " 🙂", " سلام"};
  std::vector<TokenInfo> result;
  int text = 0;
  for (int t = 0; t < n; ++t) {
    TokenInfo token;
    if (t == 0) {
      token = {1, "", "<s>", true, -1, -1};
    } else {
      const std::size_t w = static_cast<std::size_t>(t - 1) % words.size();
      token.id = 10 + static_cast<int>(w);
      token.bytes = words[w];
      token.piece = words[w];
      if (t < n_prompt) {
        token.text_begin = text;
        token.text_end = text += static_cast<int>(words[w].size());
      }
    }
    result.push_back(std::move(token));
  }
  return result;
}

}  // namespace detail

inline ModelConfig model(const Shape& shape) {
  ModelConfig m;
  m.name = "synthetic";
  m.arch = "llama";
  m.n_layers = shape.n_layers;
  m.n_heads = shape.n_heads;
  m.n_kv_heads = shape.n_kv_heads;
  m.head_dim = 32;
  m.dim = 256;
  m.hidden_dim = 688;
  m.vocab_size = 2048;
  m.max_positions = 4096;
  return m;
}

}  // namespace kvscope::synthetic
