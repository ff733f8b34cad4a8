// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/model.h"

namespace kvscope {

Model load_model(ModelFiles files, Backend& backend, const std::function<void(std::size_t)>& taken) {
  const auto take = [&](const TensorView& tensor, bool again = false) {
    if (tensor.shape.empty()) return Weight();
    const bool vector = tensor.shape.size() == 1;
    const int out = vector ? 1 : static_cast<int>(tensor.shape[0]);
    Weight weight = backend.weight(tensor.dtype, out, static_cast<int>(tensor.shape.back()), tensor.bytes.data());
    if (taken && !again) taken(tensor.bytes.size());
    return weight;
  };
  Model model;
  model.embedding = take(files.embedding);
  model.final_norm = take(files.final_norm);
  model.lm_head = take(files.lm_head, files.config.tied_embeddings);
  for (const LayerTensors& t : files.layers) {
    model.layers.push_back({take(t.attn_norm),      take(t.wq),    take(t.wk),     take(t.wv),     take(t.wo),     take(t.ffn_norm),
                            take(t.w_gate),         take(t.w_up),  take(t.w_down), take(t.q_norm), take(t.k_norm), take(t.attn_after_norm),
                            take(t.ffn_after_norm), take(t.bq),    take(t.bk),     take(t.bv),     take(t.bo),     take(t.b_gate),
                            take(t.b_up),           take(t.b_down)});
  }
  for (const TensorFile& file : files.files) file.check();
  model.files = std::move(files);
  return model;
}

}  // namespace kvscope
