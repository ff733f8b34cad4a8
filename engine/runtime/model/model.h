// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "arch/model_files.h"
#include "backend/backend.h"

namespace kvscope {

/// The weights of one layer as the backend holds them; shapes as in LayerTensors. in == 0: the model has none.
struct LayerWeights {
  Weight attn_norm, wq, wk, wv, wo, ffn_norm, w_gate, w_up, w_down;
  Weight q_norm, k_norm, attn_after_norm, ffn_after_norm;
  Weight bq, bk, bv, bo, b_gate, b_up, b_down;

  /// body(weight), of all that are there.
  template <class Body>
  void for_each(const Body& body) const {
    for (const Weight* w : {&attn_norm,      &wq, &wk, &wv, &wo, &ffn_norm, &w_gate, &w_up,  &w_down, &q_norm, &k_norm, &attn_after_norm,
                            &ffn_after_norm, &bq, &bk, &bv, &bo, &b_gate,   &b_up,   &b_down})
      if (w->in > 0) body(*w);
  }
};

/// A model ready to run: the files (kept mapped) and the backend's weights.
struct Model {
  ModelFiles files;
  Weight embedding, final_norm, lm_head;
  std::vector<LayerWeights> layers;

  const ModelConfig& config() const { return files.config; }
};

/// taken: called with the bytes of each tensor that the backend has taken over. Throws Error when the backend has no room, and what `taken`
/// throws.
Model load_model(ModelFiles files, Backend& backend, const std::function<void(std::size_t bytes)>& taken = {});

}  // namespace kvscope
