// SPDX-License-Identifier: Apache-2.0
#include "runtime/forward.h"

#include <algorithm>

namespace kvscope {

void Forward::reserve(int rows) {
  if (rows <= capacity_) return;
  const ModelConfig& c = model_.config();
  const std::size_t row = size_of(backend_.dtype()) * static_cast<std::size_t>(rows);
  for (Buffer* b : {&x_, &h_}) *b = backend_.allocate(row * c.dim);
  for (Buffer* b : {&q_, &o_}) *b = backend_.allocate(row * c.q_dim());
  for (Buffer* b : {&k_, &v_}) *b = backend_.allocate(row * c.kv_dim());
  for (Buffer* b : {&gate_, &up_}) *b = backend_.allocate(row * c.hidden_dim);
  capacity_ = rows;
}

void Forward::run(std::span<const int> tokens, std::span<const int> positions, AttentionSite& site, const CancelToken& cancel,
                  const LayerDone& layer_done) {
  const ModelConfig& c = model_.config();
  const int rows = static_cast<int>(tokens.size());
  reserve(rows);
  Backend& b = backend_;
  b.embed(model_.embedding, tokens, x_.data());
  for (int l = 0; l < c.n_layers; ++l) {
    cancel.check();
    const LayerWeights& w = model_.layers[l];
    b.rms_norm(x_.data(), w.attn_norm, c.norm_eps, rows, h_.data());
    b.linear(h_.data(), w.wq, rows, q_.data(), /*add=*/false);
    b.linear(h_.data(), w.wk, rows, k_.data(), /*add=*/false);
    b.linear(h_.data(), w.wv, rows, v_.data(), /*add=*/false);
    const LayerRows layer{.layer = l, .rows = rows, .q = q_.data(), .k = k_.data(), .v = v_.data(), .out = o_.data()};
    site.before_rotation(layer);
    b.rope(q_.data(), rows, c.n_heads, positions);
    b.rope(k_.data(), rows, c.n_kv_heads, positions);
    site.attend(layer);
    b.linear(o_.data(), w.wo, rows, x_.data(), /*add=*/true);
    b.rms_norm(x_.data(), w.ffn_norm, c.norm_eps, rows, h_.data());
    b.linear(h_.data(), w.w_gate, rows, gate_.data(), /*add=*/false);
    b.linear(h_.data(), w.w_up, rows, up_.data(), /*add=*/false);
    b.silu_mul(gate_.data(), up_.data(), rows, c.hidden_dim, gate_.data());
    b.linear(gate_.data(), w.w_down, rows, x_.data(), /*add=*/true);
    if (layer_done) layer_done(l);
  }
}

const void* Forward::residual(int row) const {
  return static_cast<const std::byte*>(x_.data()) +
         size_of(backend_.dtype()) * static_cast<std::size_t>(row) * static_cast<std::size_t>(model_.config().dim);
}

void Forward::logits(int first, std::span<const std::span<double>> out) {
  const ModelConfig& c = model_.config();
  const int n_rows = static_cast<int>(out.size());
  const std::size_t element = size_of(backend_.dtype());
  const std::size_t bytes = element * n_rows * c.vocab_size;
  if (logits_.bytes() < bytes) logits_ = backend_.allocate(bytes);
  const auto* x = static_cast<const std::byte*>(x_.data()) + element * first * c.dim;
  backend_.rms_norm(x, model_.final_norm, c.norm_eps, n_rows, h_.data());
  backend_.linear(h_.data(), model_.lm_head, n_rows, logits_.data(), /*add=*/false);
  backend_.for_each(n_rows,
                    [&](int r) { backend_.to_double(out[r], static_cast<const std::byte*>(logits_.data()) + element * c.vocab_size * r); });
}

}  // namespace kvscope
