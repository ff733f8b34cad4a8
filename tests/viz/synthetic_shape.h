// SPDX-License-Identifier: Apache-2.0
#pragma once

// What synthetic snapshots are made of: sizes, kinds of lanes, a model.

#include <cstdint>
#include <vector>

#include "snapshot/synthetic.h"

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
