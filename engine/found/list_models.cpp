// SPDX-License-Identifier: Apache-2.0
#include "found/list_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>

#include "arch/model_files.h"
#include "arch/weights.h"
#include "core/cache_bytes.h"
#include "core/error.h"
#include "core/machine_memory.h"
#include "found/model_walk.h"
#include "io/files.h"
#include "io/gguf_file.h"
#include "io/json_cursor.h"
#include "runtime/model/devices.h"

namespace kvscope {
namespace {

constexpr std::size_t kTypesShown = 3;
constexpr double kLeastShare = 0.01;  // of the bytes: norms are no type of a model
constexpr JsonLimits kConfigLimits{.bytes = std::size_t(4) << 20, .values = kJsonLimits.values};

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out;
}

/// Of tensors whose bytes have no view only the number is known, so then all are counted.
std::string numbers_of(const std::vector<TensorFile>& files) {
  std::map<std::string, double> bytes, tensors;
  bool all_have_views = true;
  for (const TensorFile& file : files) {
    for (const auto& [name, tensor] : file.tensors()) {
      bytes[upper(name_of(tensor.dtype))] += static_cast<double>(tensor.bytes.size());
      ++tensors[upper(name_of(tensor.dtype))];
    }
    for (const auto& [name, tensor] : file.others()) {
      all_have_views = false;
      ++tensors[upper(tensor.dtype)];
    }
  }
  const auto& shares = all_have_views ? bytes : tensors;
  std::vector<std::pair<double, std::string>> types;
  double sum = 0;
  for (const auto& [type, share] : shares) {
    types.emplace_back(share, type);
    sum += share;
  }
  std::ranges::stable_sort(types, std::greater<>(), &std::pair<double, std::string>::first);
  std::vector<std::string> shown;
  for (const auto& [share, type] : types)
    if (shown.size() < kTypesShown && share >= kLeastShare * sum) shown.push_back(type);
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// Family and types of what does not open, as far as its files say them.
void read_what_is_there(FoundModel& row) {
  const auto attempt = [](const auto& read) {
    try {
      read();
    } catch (const std::exception&) {  // what is wrong is in row.problem
    }
  };
  if (GgufFile::is_one(row.path)) {
    attempt([&] {
      GgufFile file = GgufFile::open(row.path);
      row.family = file.text_or("general.architecture", "");
      std::vector<TensorFile> files;
      files.push_back(file.take_tensors());
      row.numbers = numbers_of(files);
    });
    return;
  }
  attempt([&] {
    const JsonDocument config = JsonDocument::read(in_folder(row.path, "config.json"), kConfigLimits);
    const JsonCursor root(config);
    if (root.is_object()) row.family = root.text_or("model_type", "");
  });
  attempt([&] { row.numbers = numbers_of(Weights::open(row.path).take_files()); });
}

void look_into(FoundModel& row, const ListOptions& options) {
  if (!row.problem.empty()) return;
  try {
    const ModelFiles model = check_model(row.path);
    row.family = model.config.arch;
    row.reads_text = model.has_tokenizer;
    row.numbers = numbers_of(model.files);
    row.weight_bytes = static_cast<double>(model.weight_bytes);
    row.max_positions = model.config.max_positions;
    for (std::size_t i = 0; i < kFoundContexts.size(); ++i) {
      if (row.max_positions > 0 && kFoundContexts[i] > row.max_positions) continue;
      row.run_bytes[i] = row.weight_bytes + full_cache_bytes(model.config, options.precision, kFoundContexts[i]);
    }
    check_memory(model, options.precision, options.memory > 0 ? options.memory : machine_memory());
  } catch (const Error& error) {
    row.problem = error.what();
  } catch (const std::bad_alloc&) {
    row.problem = fmt::format("{}: to look into it takes more memory than there is", row.path);
  }
  if (row.family.empty() && !row.problem.empty()) read_what_is_there(row);
}

}  // namespace

std::vector<FoundModel> list_models(const std::vector<ModelPlace>& places, const ListOptions& options) {
  ModelWalk walk(options.limits, options.cancel);
  for (const ModelPlace& place : places) walk.look_in(place);
  std::vector<FoundModel> rows = walk.take();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (options.cancel) options.cancel->check();
    look_into(rows[i], options);
    if (options.on_model) options.on_model(rows[i], i + 1, rows.size());
  }
  return rows;
}

}  // namespace kvscope
