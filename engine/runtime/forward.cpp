// SPDX-License-Identifier: Apache-2.0
#include "runtime/forward.h"

#include <algorithm>
#include <cmath>

namespace kvscope {

namespace {

void finish_logits(const ModelConfig& c, std::span<double> logits) {
  if (c.logit_scale != 1)
    for (double& x : logits) x *= c.logit_scale;
  if (c.logit_cap != 0)
    for (double& x : logits) x = c.logit_cap * std::tanh(x / c.logit_cap);
}

}  // namespace

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
  if (c.embedding_scale != 1) b.scale(x_.data(), rows, c.dim, c.dim, c.embedding_scale);
  for (int l = 0; l < c.n_layers; ++l) {
    cancel.check();
    const LayerWeights& w = model_.layers[l];
    const std::size_t place =
        keep == Keep::all_layers ? size_of(b.dtype()) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(l) : 0;
    const auto part = [place](Buffer& of_layers, int width) { return of_layers.as<std::byte>() + place * static_cast<std::size_t>(width); };
    void *const q = part(q_, c.q_dim()), *const k = part(k_, c.kv_dim()), *const v = part(v_, c.kv_dim()), *const o = part(o_, c.q_dim());
    const void* const in = project_heads(l, rows, q, k, v);
    const LayerRows layer{.layer = l, .rows = rows, .in = in, .q = q, .k = k, .v = v, .out = o};
    site.before_rotation(layer);
    if (const int table = c.rope_of(l, n_prompt_); table >= 0) {
      b.rope(q, rows, c.n_heads, positions, table);
      b.rope(k, rows, c.n_kv_heads, positions, table);
    }
    site.attend(layer);
    add_to_residual(o, w.wo, w.bo, w.attn_after_norm, rows);
    feed_forward(w, rows);
    if (layer_done) layer_done(l);
  }
}

void Forward::linear(const void* x, const Weight& w, const Weight& bias, int rows, void* y) {
  backend_.linear(x, w, rows, y, /*add=*/false);
  if (bias.in > 0) backend_.add_to_rows(y, bias, rows);
}

const void* Forward::project_heads(int layer, int rows, void* q, void* k, void* v) {
  const ModelConfig& c = model_.config();
  const LayerWeights& w = model_.layers[static_cast<std::size_t>(layer)];
  const void* const x = w.attn_norm.in > 0 ? h_.data() : x_.data();
  if (w.attn_norm.in > 0) backend_.rms_norm(x_.data(), w.attn_norm, c.norm_eps, rows, h_.data());
  linear(x, w.wq, w.bq, rows, q);
  linear(x, w.wk, w.bk, rows, k);
  linear(x, w.wv, w.bv, rows, v);
  // as many rows as the weight makes of it: one per head, or one of all heads
  if (w.q_norm.in > 0) backend_.rms_norm(q, w.q_norm, c.norm_eps, rows * (c.q_dim() / w.q_norm.in), q);
  if (w.k_norm.in > 0) backend_.rms_norm(k, w.k_norm, c.norm_eps, rows * (c.kv_dim() / w.k_norm.in), k);
  const int table = c.rope_of(layer, n_prompt_);
  const Rope& rope = c.ropes[static_cast<std::size_t>(std::max(table, 0))];
  if (table < 0 || rope.gain == 1) return x;
  const int rotated = rope.dims > 0 ? rope.dims : c.head_dim;
  backend_.scale(q, rows * c.n_heads, c.head_dim, rotated, rope.gain);
  backend_.scale(k, rows * c.n_kv_heads, c.head_dim, rotated, rope.gain);
  return x;
}

void Forward::feed_forward(const LayerWeights& w, int rows) {
  const ModelConfig& c = model_.config();
  const void* const x = w.ffn_norm.in > 0 ? h_.data() : x_.data();
  if (w.ffn_norm.in > 0) backend_.rms_norm(x_.data(), w.ffn_norm, c.norm_eps, rows, h_.data());
  linear(x, w.w_gate, w.b_gate, rows, gate_.data());
  linear(x, w.w_up, w.b_up, rows, up_.data());
  if (c.activation == Activation::gelu_tanh)
    backend_.gelu_mul(gate_.data(), up_.data(), rows, c.hidden_dim, gate_.data());
  else
    backend_.silu_mul(gate_.data(), up_.data(), rows, c.hidden_dim, gate_.data());
  add_to_residual(gate_.data(), w.w_down, w.b_down, w.ffn_after_norm, rows);
}

void Forward::add_to_residual(const void* y, const Weight& w, const Weight& bias, const Weight& norm, int rows) {
  const ModelConfig& c = model_.config();
  if (norm.in == 0 && c.residual_scale == 1) {
    backend_.linear(y, w, rows, x_.data(), /*add=*/true);
    if (bias.in > 0) backend_.add_to_rows(x_.data(), bias, rows);
    return;
  }
  linear(y, w, bias, rows, h_.data());
  if (norm.in > 0) backend_.rms_norm(h_.data(), norm, c.norm_eps, rows, h_.data());
  backend_.add_scaled(x_.data(), h_.data(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(c.dim), c.residual_scale);
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
  const Backend::Area read[] = {{logits_.data(), bytes}, {x, element * c.dim}};  // the steps of a full cache are made again from the latter
  backend_.expect_downloads(read);
}

void Forward::logits_of(std::span<const std::byte> residual_row, std::span<double> out) {
  reserve(/*rows=*/1, /*layers=*/1);
  backend_.upload(x_.data(), residual_row.data(), residual_row.size());
  project(0, 1);
  logits({&out, 1});
}

void Forward::logits(std::span<const std::span<double>> out) {
  const std::size_t row = size_of(backend_.dtype()) * model_.config().vocab_size;
  backend_.for_each(static_cast<int>(out.size()), [&](int r) {
    backend_.to_double(out[r], static_cast<const std::byte*>(logits_.data()) + row * r);
    finish_logits(model_.config(), out[r]);
  });
}

}  // namespace kvscope
