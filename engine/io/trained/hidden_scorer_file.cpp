// SPDX-License-Identifier: Apache-2.0
#include "io/trained/hidden_scorer_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/quote_name.h"
#include "io/tensor_file.h"
#include "io/tensor_numbers.h"

namespace kvscope {
namespace {

constexpr std::int64_t kMostOfScorer = 65536;  // layers, heads, numbers of a vector

using TensorShape = std::vector<std::int64_t>;

class HiddenScorerReader {
 public:
  explicit HiddenScorerReader(const std::string& path) : file_(TensorFile::open(path)) { out_.path = path; }

  HiddenScorer read() {
    if (has("layers.0.weight") || has("layers.0.0.weight"))
      read_networks();
    else if (has("0.q_proj.weight"))
      read_gates();
    else
      throw Error(
          fmt::format("{}: expected networks (layers.0.weight or layers.0.0.weight) or gates (0.q_proj.weight), got neither", out_.path));
    for (const auto& [name, tensor] : file_.tensors()) refuse_stray(name);
    for (const auto& [name, tensor] : file_.others()) refuse_stray(name);
    return std::move(out_);
  }

 private:
  bool has(const std::string& name) const { return file_.tensors().contains(name); }

  void read_networks() {
    ScorerNetworks networks;
    const bool two = has("layers.0.0.weight");
    const std::string first = two ? ".0" : "", second = ".2";
    const auto [units, dim] = matrix("layers.0" + first + ".weight", "[units, hidden state]");
    const std::int64_t heads = two ? matrix("layers.0" + second + ".weight", "[KV heads, units]").first : units;
    networks.hidden = two ? static_cast<int>(units) : 0;
    for (std::int64_t l = 0; l < kMostOfScorer && has(fmt::format("layers.{}{}.weight", l, first)); ++l) {
      const std::string layer = fmt::format("layers.{}", l);
      ScorerNetworks::Layer& to = networks.layers.emplace_back();
      to.first = numbers(layer + first + ".weight", {units, dim});
      to.first_bias = numbers(layer + first + ".bias", {units});
      if (!two) continue;
      to.second = numbers(layer + second + ".weight", {heads, units});
      to.second_bias = numbers(layer + second + ".bias", {heads});
    }
    set_sizes(networks.layers.size(), heads, dim);
    out_.function = std::move(networks);
  }

  void read_gates() {
    ScorerGates gates;
    const std::int64_t dim = matrix("0.q_proj.weight", "[KV heads x group x width, hidden state]").second;
    const TensorShape sinks = shape_of("0.k_base"), bias = shape_of("0.b");
    if (sinks.size() != 4 || sinks[1] != 1 || !in_range(sinks)) refuse("0.k_base", "[KV heads, 1, sinks, width]");
    const std::int64_t heads = sinks[0], width = sinks[3];
    if (bias.size() != 3 || bias[0] != heads || bias[1] != 1 || !in_range(bias)) refuse("0.b", fmt::format("[{}, 1, group]", heads));
    const std::int64_t group = bias[2];
    gates.group = static_cast<int>(group);
    gates.width = static_cast<int>(width);
    gates.sinks = static_cast<int>(sinks[2]);
    for (std::int64_t l = 0; l < kMostOfScorer && has(fmt::format("{}.q_proj.weight", l)); ++l) {
      const auto of = [l](const char* name) { return fmt::format("{}.{}", l, name); };
      gates.layers.push_back({.query = numbers(of("q_proj.weight"), {heads * group * width, dim}),
                              .query_bias = numbers(of("q_proj.bias"), {heads * group * width}),
                              .key = numbers(of("k_proj.weight"), {heads * width, dim}),
                              .query_norm = numbers(of("q_norm.weight"), {width}),
                              .key_norm = numbers(of("k_norm.weight"), {width}),
                              .sinks = numbers(of("k_base"), sinks),
                              .bias = numbers(of("b"), bias)});
    }
    set_sizes(gates.layers.size(), heads, dim);
    out_.function = std::move(gates);
  }

  void set_sizes(std::size_t n_layers, std::int64_t n_kv_heads, std::int64_t dim) {
    out_.n_layers = static_cast<int>(n_layers);
    out_.n_kv_heads = static_cast<int>(n_kv_heads);
    out_.dim = static_cast<int>(dim);
  }

  static bool in_range(const TensorShape& shape) {
    return std::ranges::all_of(shape, [](std::int64_t n) { return n >= 1 && n <= kMostOfScorer; });
  }
  const TensorView& tensor(const std::string& name) const {
    const auto found = file_.tensors().find(name);
    if (found == file_.tensors().end())
      throw Error(fmt::format("{}: expected a tensor {} of F64, F32, F16 or BF16, got {}", out_.path, quote_name(name),
                              file_.others().contains(name) ? file_.others().at(name).dtype : "none"));
    return found->second;
  }
  const TensorShape& shape_of(const std::string& name) const { return tensor(name).shape; }
  std::pair<std::int64_t, std::int64_t> matrix(const std::string& name, std::string_view expected) const {
    const TensorShape& shape = shape_of(name);
    if (shape.size() != 2 || !in_range(shape)) refuse(name, expected);
    return {shape[0], shape[1]};
  }
  std::vector<double> numbers(const std::string& name, const TensorShape& shape) {
    if (shape_of(name) != shape) refuse(name, fmt::format("[{}]", fmt::join(shape, ", ")));
    read_.insert(name);
    return finite_numbers(file_, out_.path, quote_name(name), tensor(name));
  }
  [[noreturn]] void refuse(const std::string& name, std::string_view expected) const {
    throw Error(
        fmt::format("{}: tensor {}: expected {}, got [{}]", out_.path, quote_name(name), expected, fmt::join(shape_of(name), ", ")));
  }
  /// What was not read belongs to something else, or to a layer behind one that is missing.
  void refuse_stray(const std::string& name) const {
    if (!read_.contains(name))
      throw Error(fmt::format("{}: expected the tensors of {} layers, got {} besides", out_.path, out_.n_layers, quote_name(name)));
  }

  TensorFile file_;
  HiddenScorer out_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace

HiddenScorer read_hidden_scorer(const std::string& path) { return HiddenScorerReader(path).read(); }

}  // namespace kvscope
