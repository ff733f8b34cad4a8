// SPDX-License-Identifier: Apache-2.0
#include "runtime/forward.h"

#include <algorithm>

namespace kvscope {

void Forward::reserve(int rows, int layers) {
  if (rows <= capacity_ && layers * rows <= layers_ * capacity_) return;
  const ModelConfig& c = model_.config();
  const std::size_t row = size_of(backend_.dtype()) * static_cast<std::size_t>(rows);
  for (Buffer* b : {&x_, &h_}) *b = backend_.allocate(row * c.dim);
  for (Buffer* b : {&q_, &o_}) *b = backend_.allocate(row * c.q_dim() * layers);
  for (Buffer* b : {&k_, &v_}) *b = backend_.allocate(row * c.kv_dim() * layers);
  for (Buffer* b : {&gate_, &up_}) *b = backend_.allocate(row * c.hidden_dim);
  capacity_ = rows;
  layers_ = layers;
}

void Forward::run(std::span<const int> tokens, std::span<const int> positions, AttentionSite& site, const CancelToken& cancel,
                  const LayerDone& layer_done, Keep keep) {
  const ModelConfig& c = model_.config();
  const int rows = static_cast<int>(tokens.size());
  reserve(rows, keep == Keep::all_layers ? c.n_layers : 1);
  Backend& b = backend_;
  b.embed(model_.embedding, tokens, x_.data());
  for (int l = 0; l < c.n_layers; ++l) {
    cancel.check();
    const LayerWeights& w = model_.layers[l];
    b.rms_norm(x_.data(), w.attn_norm, c.norm_eps, rows, h_.data());
    const std::size_t place =
        keep == Keep::all_layers ? size_of(b.dtype()) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(l) : 0;
    const auto part = [place](Buffer& of_layers, int width) { return of_layers.as<std::byte>() + place * static_cast<std::size_t>(width); };
    void *const q = part(q_, c.q_dim()), *const k = part(k_, c.kv_dim()), *const v = part(v_, c.kv_dim()), *const o = part(o_, c.q_dim());
    b.linear(h_.data(), w.wq, rows, q, /*add=*/false);
    b.linear(h_.data(), w.wk, rows, k, /*add=*/false);
    b.linear(h_.data(), w.wv, rows, v, /*add=*/false);
    const LayerRows layer{.layer = l, .rows = rows, .q = q, .k = k, .v = v, .out = o};
    site.before_rotation(layer);
    b.rope(q, rows, c.n_heads, positions);
    b.rope(k, rows, c.n_kv_heads, positions);
    site.attend(layer);
    b.linear(o, w.wo, rows, x_.data(), /*add=*/true);
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

void Forward::project(int first, int n) {
  const ModelConfig& c = model_.config();
  const std::size_t element = size_of(backend_.dtype()), bytes = element * n * c.vocab_size;
  if (logits_.bytes() < bytes) logits_ = backend_.allocate(bytes);
  const auto* x = static_cast<const std::byte*>(x_.data()) + element * first * c.dim;
  backend_.rms_norm(x, model_.final_norm, c.norm_eps, n, h_.data());
  backend_.linear(h_.data(), model_.lm_head, n, logits_.data(), /*add=*/false);
}

void Forward::logits_of(std::span<const std::byte> residual_row, std::span<double> out) {
  reserve(/*rows=*/1, /*layers=*/1);
  backend_.upload(x_.data(), residual_row.data(), residual_row.size());
  project(0, 1);
  logits({&out, 1});
}

void Forward::logits(std::span<const std::span<double>> out) {
  const std::size_t row = size_of(backend_.dtype()) * model_.config().vocab_size;
  backend_.for_each(static_cast<int>(out.size()),
                    [&](int r) { backend_.to_double(out[r], static_cast<const std::byte*>(logits_.data()) + row * r); });
}

}  // namespace kvscope
