// SPDX-License-Identifier: Apache-2.0
#include "io/trained/head_vectors_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "io/tensor_file.h"
#include "io/tensor_numbers.h"

namespace kvscope {
namespace {

constexpr const char* kTensor = "q_filters";
constexpr std::int64_t kMaxVectors = 65536;  // layers, heads or numbers of a vector

}  // namespace

HeadVectors read_head_vectors(const std::string& path) {
  const TensorFile file = TensorFile::open(path);
  const auto found = file.tensors().find(kTensor);
  if (found == file.tensors().end())
    throw Error(fmt::format("{}: expected a tensor {} of F32, F16 or BF16, got {}", path, kTensor,
                            file.others().contains(kTensor) ? file.others().at(kTensor).dtype : "no such tensor"));
  const TensorView& view = found->second;
  const auto in_range = [](std::int64_t n) { return n >= 1 && n <= kMaxVectors; };
  if (view.shape.size() != 3 || !std::ranges::all_of(view.shape, in_range))
    throw Error(fmt::format("{}: tensor {}: expected [layers, KV heads, head_dim], got [{}]", path, kTensor, fmt::join(view.shape, ", ")));
  return {.path = path,
          .n_layers = static_cast<int>(view.shape[0]),
          .n_kv_heads = static_cast<int>(view.shape[1]),
          .width = static_cast<int>(view.shape[2]),
          .numbers = finite_numbers(file, path, kTensor, view)};
}

}  // namespace kvscope
