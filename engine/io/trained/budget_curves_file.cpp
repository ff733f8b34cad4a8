// SPDX-License-Identifier: Apache-2.0
#include "io/trained/budget_curves_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "io/tensor_file.h"
#include "io/tensor_numbers.h"

namespace kvscope {
namespace {

constexpr const char* kCurvesTensor = "budget_curves";
constexpr std::int64_t kMostCurves = 65536;  // layers or heads

}  // namespace

BudgetCurves read_budget_curves(const std::string& path) {
  const TensorFile file = TensorFile::open(path);
  const auto found = file.tensors().find(kCurvesTensor);
  if (found == file.tensors().end())
    throw Error(fmt::format("{}: expected a tensor {} of F64, F32, F16 or BF16, got {}", path, kCurvesTensor,
                            file.others().contains(kCurvesTensor) ? file.others().at(kCurvesTensor).dtype : "no such tensor"));
  const TensorView& view = found->second;
  if (view.shape.size() != 3 || view.shape[0] != BudgetCurves::kShares || view.shape[1] < 1 || view.shape[1] > kMostCurves ||
      view.shape[2] < 1 || view.shape[2] > kMostCurves)
    throw Error(fmt::format("{}: tensor {}: expected [{}, layers, KV heads], got [{}]", path, kCurvesTensor, BudgetCurves::kShares,
                            fmt::join(view.shape, ", ")));
  BudgetCurves out{.path = path,
                   .n_layers = static_cast<int>(view.shape[1]),
                   .n_kv_heads = static_cast<int>(view.shape[2]),
                   .numbers = finite_numbers(file, path, kCurvesTensor, view)};
  const auto bad = std::ranges::find_if_not(out.numbers, [](double x) { return x >= 0 && x <= 1; });
  if (bad != out.numbers.end())
    throw Error(fmt::format("{}: tensor {}: expected shares from 0 to 1, got {} at place {}", path, kCurvesTensor, *bad,
                            bad - out.numbers.begin()));
  return out;
}

}  // namespace kvscope
