// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <set>
#include <string>

#include "arch/decoder.h"
#include "core/dequantise.h"
#include "core/error.h"
#include "core/half.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

/// Rows [first, first + n) of a matrix.
TensorView rows_of(const TensorView& matrix, std::int64_t first, std::int64_t n) {
  const std::size_t row = matrix.bytes.size() / static_cast<std::size_t>(matrix.shape.front());
  TensorView out = matrix;
  out.shape.front() = n;
  out.bytes = matrix.bytes.subspan(row * static_cast<std::size_t>(first), row * static_cast<std::size_t>(n));
  return out;
}

double number_at(const TensorView& tensor, std::size_t i) {
  const auto read = [&](auto x) {
    std::memcpy(&x, tensor.bytes.data() + i * sizeof x, sizeof x);
    return x;
  };
  switch (tensor.dtype) {
    case DType::f64:
      return read(0.0);
    case DType::f32:
      return static_cast<double>(read(0.0f));
    case DType::f16:
      return static_cast<double>(half_to_float(read(std::uint16_t{})));
    case DType::bf16:
      return static_cast<double>(bfloat_to_float(read(std::uint16_t{})));
    default:
      break;
  }
  constexpr std::size_t kLongestBlock = 256;
  float numbers[kLongestBlock];
  const Block block = block_of(tensor.dtype);
  dequantise(tensor.dtype, tensor.bytes.data() + i / block.numbers * block.bytes, block.numbers, numbers);
  return static_cast<double>(numbers[i % block.numbers]);
}

/// Binds one model, and keeps what it has taken.
class Binder {
 public:
  Binder(const Weights& weights, ModelFiles& model, const DecoderTensors& tensors)
      : weights_(weights),
        model_(model),
        tensors_(tensors),
        prefix_(prefix_of(weights)),
        dim_{"dim", model.config.dim},
        hidden_{"hidden_dim", model.config.hidden_dim},
        q_{"n_heads * head_dim", model.config.q_dim()},
        kv_{"n_kv_heads * head_dim", model.config.kv_dim()} {}

  void bind() {
    const ModelConfig& c = model_.config;
    const std::string beyond = fmt::format("{}layers.{}.", prefix_, c.n_layers);
    for (const std::string& name : weights_.names()) {
      if (name.starts_with(beyond)) {
        throw Error(fmt::format("{}: tensor {} belongs to a layer beyond num_hidden_layers = {} of config.json", model_.folder,
                                quote_name(name), c.n_layers));
      }
    }
    const ExpectedDim vocab{"vocab_size", c.vocab_size};
    model_.embedding = weights_.get(prefix_ + "embed_tokens.weight", {vocab, dim_});
    model_.final_norm = norm(prefix_ + "norm.weight", dim_);
    const char* const head = weights_.has("lm_head.weight") || !weights_.has("language_model.lm_head.weight")
                                 ? "lm_head.weight"
                                 : "language_model.lm_head.weight";
    model_.lm_head = c.tied_embeddings ? model_.embedding : weights_.get(head, {vocab, dim_});
    for (int l = 0; l < c.n_layers; ++l) model_.layers.push_back(layer(l));
    refuse_what_is_left();
  }

 private:
  /// The text part of a multimodal folder stands under a name of its own.
  static std::string prefix_of(const Weights& weights) {
    for (const char* prefix : {"language_model.model.", "model.language_model.", "model.text_model."})
      if (weights.has(std::string(prefix) + "embed_tokens.weight")) return prefix;
    return "model.";
  }

  TensorView get(const std::string& name, const std::vector<ExpectedDim>& shape) {
    taken_.insert(name);
    return weights_.get(name, shape);
  }

  TensorView norm(const std::string& name, const ExpectedDim& width) {
    const TensorView found = get(name, {width});
    if (!tensors_.norms_lack_one) return found;
    auto numbers = std::make_shared<std::vector<double>>(static_cast<std::size_t>(width.size));
    for (std::size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] = 1.0 + number_at(found, i);
    model_.made.push_back(numbers);
    return {.dtype = DType::f64, .shape = found.shape, .bytes = std::as_bytes(std::span(*numbers))};
  }

  LayerTensors layer(int l) {
    const ModelConfig& c = model_.config;
    const std::string of_layer = fmt::format("{}layers.{}.", prefix_, l);
    const auto matrix = [&](const char* part, const ExpectedDim& out, const ExpectedDim& in) {
      return get(of_layer + part + ".weight", {out, in});
    };
    const auto bias = [&](bool is_there, const char* part, const ExpectedDim& out) {
      return is_there ? get(of_layer + part + ".bias", {out}) : TensorView();
    };
    const auto norm_of = [&](const char* part, const ExpectedDim& width) {
      return part ? norm(of_layer + part + ".weight", width) : TensorView();
    };
    LayerTensors t;
    t.attn_norm = norm_of(tensors_.attn_norm, dim_);
    if (tensors_.fused) {
      const TensorView qkv = matrix("self_attn.qkv_proj", {"(n_heads + 2 * n_kv_heads) * head_dim", c.q_dim() + 2 * c.kv_dim()}, dim_);
      t.wq = rows_of(qkv, 0, c.q_dim());
      t.wk = rows_of(qkv, c.q_dim(), c.kv_dim());
      t.wv = rows_of(qkv, c.q_dim() + c.kv_dim(), c.kv_dim());
    } else {
      t.wq = matrix("self_attn.q_proj", q_, dim_);
      t.wk = matrix("self_attn.k_proj", kv_, dim_);
      t.wv = matrix("self_attn.v_proj", kv_, dim_);
    }
    t.bq = bias(c.qkv_bias, "self_attn.q_proj", q_);
    t.bk = bias(c.qkv_bias, "self_attn.k_proj", kv_);
    t.bv = bias(c.qkv_bias, "self_attn.v_proj", kv_);
    if (tensors_.head_norm != DecoderTensors::HeadNorm::none) {
      const bool whole = tensors_.head_norm == DecoderTensors::HeadNorm::whole;
      const ExpectedDim head{"head_dim", c.head_dim};
      t.q_norm = norm_of("self_attn.q_norm", whole ? q_ : head);
      t.k_norm = norm_of("self_attn.k_norm", whole ? kv_ : head);
    }
    t.wo = matrix("self_attn.o_proj", dim_, q_);
    t.bo = bias(c.out_bias, "self_attn.o_proj", dim_);
    t.attn_after_norm = norm_of(tensors_.attn_after_norm, dim_);
    t.ffn_norm = norm_of(tensors_.ffn_norm, dim_);
    if (tensors_.fused) {
      const TensorView both = matrix("mlp.gate_up_proj", {"2 * hidden_dim", 2 * hidden_.size}, dim_);
      t.w_gate = rows_of(both, 0, hidden_.size);
      t.w_up = rows_of(both, hidden_.size, hidden_.size);
    } else {
      t.w_gate = matrix("mlp.gate_proj", hidden_, dim_);
      t.w_up = matrix("mlp.up_proj", hidden_, dim_);
    }
    t.b_gate = bias(c.mlp_bias, "mlp.gate_proj", hidden_);
    t.b_up = bias(c.mlp_bias, "mlp.up_proj", hidden_);
    t.w_down = matrix("mlp.down_proj", dim_, hidden_);
    t.b_down = bias(c.mlp_bias, "mlp.down_proj", dim_);
    t.ffn_after_norm = norm_of(tensors_.ffn_after_norm, dim_);
    return t;
  }

  /// A bias or a norm that is in the file and not in the arithmetic would make other logits.
  void refuse_what_is_left() const {
    for (const std::string& name : weights_.names()) {
      const bool counts = name.ends_with("_proj.bias") || name.ends_with("norm.weight");
      if (counts && name.starts_with(prefix_ + "layers.") && !taken_.contains(name))
        throw Error(fmt::format("{}: tensor {}: {} layers of this config.json have no such bias or norm; is it another kind of model?",
                                model_.folder, quote_name(name), model_.config.arch));
    }
  }

  const Weights& weights_;
  ModelFiles& model_;
  const DecoderTensors& tensors_;
  std::string prefix_;
  ExpectedDim dim_, hidden_, q_, kv_;
  std::set<std::string> taken_;
};

}  // namespace

void bind_decoder(const Weights& weights, ModelFiles& model, const DecoderTensors& tensors) { Binder(weights, model, tensors).bind(); }

}  // namespace kvscope
