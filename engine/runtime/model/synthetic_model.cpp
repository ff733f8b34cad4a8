// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/synthetic_model.h"

#include <fmt/ranges.h>

#include "core/error.h"

namespace kvscope {

namespace {

struct Shape {
  const char* name;
  int n_layers, n_heads, n_kv_heads, head_dim, dim, hidden_dim, vocab_size, max_positions;
  double rope_theta;
};

// From the config.json of meta-llama/Llama-2-7b-hf, Llama-2-13b-hf, Meta-Llama-3-8B (positions of Llama-3.1), mistralai/Mistral-7B-v0.1;
// the embedded model. Llama-2 was made for 4,096 positions: beyond them only the speed means something.
constexpr Shape kShapes[] = {{"kvmini", 6, 8, 4, 32, 256, 1024, 2048, 2048, 1e4},
                             {"llama2-7b", 32, 32, 32, 128, 4096, 11008, 32000, 32768 + 1024, 1e4},
                             {"llama2-13b", 40, 40, 40, 128, 5120, 13824, 32000, 32768 + 1024, 1e4},
                             {"llama3-8b", 32, 32, 8, 128, 4096, 14336, 128256, 131072, 5e5},
                             {"mistral-7b", 32, 32, 8, 128, 4096, 14336, 32000, 32768 + 1024, 1e4}};

}  // namespace

std::vector<std::string> known_shapes() {
  std::vector<std::string> out;
  for (const Shape& s : kShapes) out.emplace_back(s.name);
  return out;
}

ModelConfig shape_of(const std::string& name) {
  for (const Shape& s : kShapes) {
    if (name != s.name) continue;
    ModelConfig c;
    c.name = fmt::format("{} (synthetic weights)", s.name);
    c.arch = "llama";
    c.n_layers = s.n_layers;
    c.n_heads = s.n_heads;
    c.n_kv_heads = s.n_kv_heads;
    c.head_dim = s.head_dim;
    c.dim = s.dim;
    c.hidden_dim = s.hidden_dim;
    c.vocab_size = s.vocab_size;
    c.max_positions = s.max_positions;
    c.norm_eps = 1e-5;
    c.ropes.front().theta = s.rope_theta;
    return c;
  }
  throw UsageError(fmt::format("unknown shape '{}' (known: {})", name, fmt::join(known_shapes(), ", ")));
}

Model synthetic_model(const ModelConfig& c, DType type, Backend& backend) {
  std::uint64_t seed = 1;
  const auto matrix = [&](int out, int in) { return backend.synthetic_weight(type, out, in, seed++); };
  const std::vector<float> ones(static_cast<std::size_t>(c.dim), 1.0f);
  const auto norm = [&] {  // its own copy: a backend may keep a view of what it is given
    Weight w = backend.weight(DType::f32, 1, c.dim, ones.data());
    if (!w.storage) {
      w.storage = backend.allocate(ones.size() * sizeof(float));
      backend.upload(w.storage.data(), ones.data(), ones.size() * sizeof(float));
      w.data = w.storage.data();
    }
    return w;
  };
  Model model;
  model.files.config = c;
  model.files.tokenizer = ids_only_tokenizer(c.vocab_size);
  model.embedding = matrix(c.vocab_size, c.dim);
  model.final_norm = norm();
  model.lm_head = matrix(c.vocab_size, c.dim);
  for (int l = 0; l < c.n_layers; ++l) {
    LayerWeights w;
    w.attn_norm = norm();
    w.wq = matrix(c.q_dim(), c.dim);
    w.wk = matrix(c.kv_dim(), c.dim);
    w.wv = matrix(c.kv_dim(), c.dim);
    w.wo = matrix(c.dim, c.q_dim());
    w.ffn_norm = norm();
    w.w_gate = matrix(c.hidden_dim, c.dim);
    w.w_up = matrix(c.hidden_dim, c.dim);
    w.w_down = matrix(c.dim, c.hidden_dim);
    model.layers.push_back(std::move(w));
  }
  model.files.weight_bytes = static_cast<std::size_t>(bytes_read_per_step(model)) + model.embedding.storage.bytes();
  return model;
}

double bytes_read_per_step(const Model& model) {
  const auto bytes = [](const Weight& w) { return static_cast<double>(bytes_of(w.dtype, static_cast<std::size_t>(w.in))) * w.out; };
  double total = bytes(model.lm_head) + bytes(model.final_norm);
  for (const LayerWeights& layer : model.layers) layer.for_each([&](const Weight& w) { total += bytes(w); });
  return total;
}

double products_per_token(const ModelConfig& c) {
  const double dim = c.dim, q = c.q_dim(), kv = c.kv_dim(), hidden = c.hidden_dim;
  return c.n_layers * (2 * dim * q + 2 * dim * kv + 3 * dim * hidden);
}

}  // namespace kvscope
