// SPDX-License-Identifier: Apache-2.0
#include "core/cache_bytes.h"

#include <algorithm>

namespace kvscope {
namespace {

struct Shape {
  const char *key, *name;
  int n_layers, n_kv_heads, head_dim;
};
// As the config.json of Llama-3.2-1B, Llama-3.1-8B and Llama-3.1-70B says.
constexpr Shape kShapes[] = {
    {"llama_1b", "Llama 1B", 16, 8, 64}, {"llama_8b", "Llama 8B", 32, 8, 128}, {"llama_70b", "Llama 70B", 80, 8, 128}};

}  // namespace

double full_cache_bytes(const ModelConfig& c, DType precision, int n_tokens) {
  double tokens = 0;
  for (int l = 0; l < c.n_layers; ++l) tokens += c.window(l) > 0 ? std::min(c.window(l), n_tokens) : n_tokens;
  return 2 * tokens * c.kv_dim() * static_cast<double>(size_of(precision));
}

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> all = [] {
    std::vector<KnownModel> out;
    for (const Shape& shape : kShapes) {
      ModelConfig config;
      config.n_layers = shape.n_layers;
      config.n_kv_heads = shape.n_kv_heads;
      config.head_dim = shape.head_dim;
      KnownModel model{shape.key, shape.name, {}};
      for (std::size_t i = 0; i < kKnownThousands.size(); ++i)
        model.bytes[i] = full_cache_bytes(config, DType::bf16, kKnownThousands[i] * 1024);
      out.push_back(std::move(model));
    }
    return out;
  }();
  return all;
}

}  // namespace kvscope
