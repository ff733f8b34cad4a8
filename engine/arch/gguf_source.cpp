// SPDX-License-Identifier: Apache-2.0
#include "arch/gguf_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "arch/config_reader.h"
#include "arch/gguf_architecture.h"
#include "arch/gguf_tokenizer.h"
#include "core/error.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxParts = 1024;

/// MODEL-00001-of-00003.gguf -> the path of part 1, 2, 3.
std::string path_of_part(const std::string& path, std::int64_t part, std::int64_t parts) {
  const std::string ending = fmt::format("-of-{:05}.gguf", parts);
  constexpr std::size_t kDigits = 5;
  if (!path.ends_with(ending) || path.size() < ending.size() + kDigits + 1)
    throw Error(fmt::format("{}: is one of {} files (split.count): expected a name that ends in -00001{}", path, parts, ending));
  return fmt::format("{}{:05}{}", path.substr(0, path.size() - ending.size() - kDigits), part, ending);
}

/// All files of a model, the given one first.
std::vector<GgufFile> open_parts(const std::string& path) {
  std::vector<GgufFile> files;
  files.push_back(GgufFile::open(path));
  constexpr const char *kCount = "split.count", *kNumber = "split.no", *kTensors = "split.tensors.count";
  const std::int64_t parts = files[0].whole_or(kCount, 1);
  if (parts <= 1) return files;
  if (parts > kMaxParts) files[0].fail(kCount, fmt::format("expected at most {} files, got {}", kMaxParts, parts));
  if (const std::int64_t number = files[0].whole_or(kNumber, 0); number != 0)
    throw Error(fmt::format("{}: is part {} of {}; open the first one, {}", path, number + 1, parts,
                            fs::path(path_of_part(path, 1, parts)).filename().string()));
  std::size_t tensors = files[0].tensors().tensors().size() + files[0].tensors().others().size();
  for (std::int64_t part = 2; part <= parts; ++part) {
    const std::string other = path_of_part(path, part, parts);
    std::error_code ignored;
    if (!fs::exists(other, ignored))
      throw Error(
          fmt::format("{}: is missing, {} is part 1 of {}; is the download complete?", other, fs::path(path).filename().string(), parts));
    files.push_back(GgufFile::open(other));
    if (files.back().whole(kNumber) != part - 1 || files.back().whole(kCount) != parts)
      throw Error(fmt::format("{}: expected part {} of {}, got part {} of {}", other, part, parts, files.back().whole(kNumber) + 1,
                              files.back().whole(kCount)));
    tensors += files.back().tensors().tensors().size() + files.back().tensors().others().size();
  }
  if (const std::int64_t all = files[0].whole_or(kTensors, static_cast<std::int64_t>(tensors)); all != static_cast<std::int64_t>(tensors))
    files[0].fail(kTensors, fmt::format("expected {} tensors in all parts, got {}", all, tensors));
  return files;
}

/// Rows of each head: the first of pair 0, 1, ..., then the second ones, from an order in which the two of a pair are neighbours.
std::vector<std::byte> split_halves(const TensorView& tensor, std::size_t heads) {
  const std::size_t rows = static_cast<std::size_t>(tensor.shape[0]), row_bytes = tensor.bytes.size() / rows, head_rows = rows / heads;
  std::vector<std::byte> out(tensor.bytes.size());
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t i = 0; i < head_rows / 2; ++i) {
        const std::size_t from = h * head_rows + 2 * i + half, to = h * head_rows + half * (head_rows / 2) + i;
        std::copy_n(tensor.bytes.data() + from * row_bytes, row_bytes, out.data() + to * row_bytes);
      }
    }
  }
  return out;
}

void split_halves_of_heads(TensorFile& file, std::int64_t query_heads, std::int64_t key_heads) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> changed;
  for (const auto& [name, tensor] : file.tensors()) {
    const bool query = name.ends_with(".attn_q.weight") || name.ends_with(".attn_q.bias");
    const bool key = name.ends_with(".attn_k.weight") || name.ends_with(".attn_k.bias");
    const std::int64_t heads = query ? query_heads : key ? key_heads : 0;
    if (heads <= 0 || tensor.shape[0] % (2 * heads) != 0) continue;  // who binds the tensor says what is wrong
    changed.emplace_back(name, split_halves(tensor, static_cast<std::size_t>(heads)));
  }
  for (auto& [name, bytes] : changed) file.replace(name, file.tensors().at(name).dtype, std::move(bytes));
}

/// Norms as the model's own files have them, exactly: in doubles.
void take_one_from_norms(TensorFile& file) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> changed;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.ends_with("norm.weight") || tensor.dtype != DType::f32) continue;
    std::vector<std::byte> bytes(tensor.bytes.size() * 2);
    for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i) {
      float with_one = 0;
      std::memcpy(&with_one, tensor.bytes.data() + i * sizeof(float), sizeof(float));
      const double without = static_cast<double>(with_one) - 1;
      std::memcpy(bytes.data() + i * sizeof(double), &without, sizeof(double));
    }
    changed.emplace_back(name, std::move(bytes));
  }
  for (auto& [name, bytes] : changed) file.replace(name, DType::f64, std::move(bytes));
}

}  // namespace

GgufSource open_gguf_source(const std::string& path, ReadWeights read) {
  std::vector<GgufFile> files = open_parts(path);
  const GgufFile& first = files[0];
  const GgufArchitecture& architecture = gguf_architecture(first);
  GgufSource out{JsonDocument::parse(config_of_gguf(files, architecture), path),
                 Weights(path, [&architecture](std::string_view name) { return name_in_gguf(architecture, name); }),
                 open_gguf_tokenizer(first)};
  if (read == ReadWeights::what_changes) out.chat = model_chat([&] { return open_gguf_chat_template(first); });
  const ConfigReader config(out.config);
  constexpr int kMostHeads = (1 << 20) - 1;  // as who reads the configuration
  const int heads = config.whole("num_attention_heads", 1, kMostHeads);
  const int key_heads = config.whole_or("num_key_value_heads", 1, kMostHeads, heads);
  for (GgufFile& file : files) {
    const std::string name = file.name();
    TensorFile tensors = file.take_tensors();
    const bool changes = read == ReadWeights::what_changes;
    if (changes && architecture.pairs_neighbours) split_halves_of_heads(tensors, heads, key_heads);
    if (changes && architecture.norms_hold_one) take_one_from_norms(tensors);
    out.weights.add(name, std::move(tensors), [&](std::string_view own) { return name_in_safetensors(architecture, own); });
  }
  return out;
}

}  // namespace kvscope
