// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/devices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "backend/device_blocks.h"
#include "core/byte_size.h"
#include "core/cache_bytes.h"
#include "core/error.h"
#include "core/machine_memory.h"

namespace kvscope {

std::size_t least_bytes(const ModelFiles& files, DType precision) {
  constexpr std::size_t kRows = 64;
  constexpr int kTokens = 1024;
  const ModelConfig& c = files.config;
  const auto n = [](int x) { return static_cast<std::size_t>(std::max(x, 0)); };
  const int tokens = c.max_positions > 0 ? std::min(c.max_positions, kTokens) : kTokens;
  const std::size_t activations = kRows * (2 * n(c.dim) + 2 * n(c.q_dim()) + 2 * n(c.kv_dim()) + 2 * n(c.hidden_dim)) + n(c.vocab_size);
  return files.weight_bytes + size_of(precision) * activations + static_cast<std::size_t>(full_cache_bytes(c, precision, tokens));
}

namespace {

bool is_decoded(const TensorView& tensor) {
  if (!is_quantised(tensor.dtype)) return false;
  const auto size = [&](std::size_t i) { return static_cast<int>(tensor.shape[i]); };
  return tensor.shape.size() != 2 || !stays_in_blocks(tensor.dtype, size(0), size(1));
}

/// What blocks take more as numbers where a device decodes them.
std::size_t added_by_decoding(const ModelFiles& files, DType precision) {
  std::size_t added = 0;
  for (const TensorFile& file : files.files) {
    for (const auto& [name, tensor] : file.tensors()) {
      const Block block = block_of(tensor.dtype);
      if (is_decoded(tensor)) added += tensor.bytes.size() / block.bytes * block.numbers * size_of(precision) - tensor.bytes.size();
    }
  }
  return added;
}

}  // namespace

void check_memory(const ModelFiles& files, DType precision, double memory) {
  const double needed = static_cast<double>(least_bytes(files, precision));
  if (needed <= memory) return;
  throw Error(
      fmt::format("{}: expected a model that fits into the {} of memory of this machine, got one of {} of weights that needs {} for a "
                  "short text; take a smaller model or one with fewer bits per weight",
                  files.folder.empty() ? files.config.name : files.folder, size_text(memory),
                  size_text(static_cast<double>(files.weight_bytes)), size_text(needed)));
}

std::set<DType> decoded_on_cuda(const ModelFiles& files) {
  std::set<DType> out;
  for (const TensorFile& file : files.files) {
    for (const auto& [name, tensor] : file.tensors())
      if (is_decoded(tensor)) out.insert(tensor.dtype);
  }
  return out;
}

std::string beyond_cuda(const ModelFiles& files) {
  const ModelConfig& c = files.config;
  std::vector<std::string_view> out;
  const auto any = [&](const auto& of_layer) {
    for (int l = 0; l < c.n_layers; ++l)
      if (of_layer(c.layer(l))) return true;
    return false;
  };
  const auto need = [&](bool needed, std::string_view what) {
    if (needed) out.push_back(what);
  };
  const Rope& rope = c.ropes.front();
  need(any([](const LayerConfig& l) { return l.window > 0; }), "layers with windows");
  need(any([](const LayerConfig& l) { return l.logits.cap != 0; }), "capped attention logits");
  need(any([](const LayerConfig& l) { return l.logits.scale != 0; }), "a scale of attention of its own");
  need(c.ropes.size() > 1, "several tables of rotations");
  need(rope.dims > 0 || rope.gain != 1, "heads that are rotated in part or scaled");
  need(c.activation != Activation::silu, "GELU");
  need(c.qkv_bias || c.out_bias || c.mlp_bias, "biases");
  need(c.embedding_scale != 1, "a scale of the embedding");
  need(c.residual_scale != 1 || (!files.layers.empty() && !files.layers.front().attn_after_norm.shape.empty()),
       "norms or scales of what a layer adds");
  return fmt::format("{}", fmt::join(out, ", "));
}

ChosenBackend choose_backend(const SessionOptions& options, const ModelFiles& files) {
  const auto cpu = [&](std::string notice = {}) {
    check_memory(files, options.precision, machine_memory());
    return ChosenBackend{make_cpu_backend(options.precision, files.config, {.n_threads = options.n_threads}), std::move(notice)};
  };
  const auto cuda = [&] {
    if (const std::string more = beyond_cuda(files); !more.empty())
      throw Error(fmt::format("device cuda: {} needs what the CUDA backend does not have ({}); use --device cpu",
                              files.config.name.empty() ? "the model" : files.config.name, more));
    return make_cuda_backend(options.precision, files.config,
                             {.n_threads = options.n_threads,
                              .needed_bytes = least_bytes(files, options.precision) + added_by_decoding(files, options.precision)});
  };
  const bool narrow = options.precision == DType::f16 || options.precision == DType::bf16;
  if (options.device != "auto" && options.device != "cpu" && options.device != "cuda")
    throw UsageError(fmt::format("device '{}': expected auto, cpu or cuda", options.device));
  if (options.device == "cuda") {
    if (options.precision == DType::f64)
      throw UsageError("device cuda: computes in f32, f16 or bf16, got --precision f64; use --device cpu");
    return {cuda(), ""};
  }
  const auto refuse_narrow = [&](const std::string& why) {
    throw UsageError(fmt::format("precision {}: the CPU computes in f32 or f64 (weights in {} are read as they are){}; use f32",
                                 name_of(options.precision), name_of(options.precision), why));
  };
  if (options.device == "cpu") {
    if (narrow) refuse_narrow("");
    return cpu();
  }
  if (options.precision == DType::f64 || (!narrow && files.weight_bytes < kWorthADevice)) return cpu();
  const CudaStatus status = cuda_status();
  if (!status.usable) {
    if (narrow) refuse_narrow(", and there is no CUDA device: " + status.why_not);
    return cpu();
  }
  try {
    return {cuda(), ""};
  } catch (const Error& e) {
    if (narrow) throw;
    return cpu(fmt::format("ran on the CPU: {}", e.what()));
  }
}

}  // namespace kvscope
