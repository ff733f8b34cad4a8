// SPDX-License-Identifier: Apache-2.0
#include "runtime/model.h"

namespace kvscope {

namespace {

Weight to_weight(Backend& backend, const TensorView& tensor) {
  const bool vector = tensor.shape.size() == 1;
  const int out = vector ? 1 : static_cast<int>(tensor.shape[0]);
  return backend.weight(tensor.dtype, out, static_cast<int>(tensor.shape.back()), tensor.bytes.data());
}

}  // namespace

Model load_model(ModelFiles files, Backend& backend) {
  Model model;
  model.embedding = to_weight(backend, files.embedding);
  model.final_norm = to_weight(backend, files.final_norm);
  model.lm_head = to_weight(backend, files.lm_head);
  for (const LayerTensors& t : files.layers) {
    model.layers.push_back({to_weight(backend, t.attn_norm), to_weight(backend, t.wq), to_weight(backend, t.wk), to_weight(backend, t.wv),
                            to_weight(backend, t.wo), to_weight(backend, t.ffn_norm), to_weight(backend, t.w_gate), to_weight(backend, t.w_up),
                            to_weight(backend, t.w_down)});
  }
  model.files = std::move(files);
  return model;
}

}  // namespace kvscope
