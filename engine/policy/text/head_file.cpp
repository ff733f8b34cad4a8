// SPDX-License-Identifier: Apache-2.0
#include "policy/text/head_file.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uintmax_t kLargest = 16u << 20;

/// Path of the file; "" where there is none.
std::string find_file(const HeadFile& file) {
  std::error_code error;
  if (!file.of_model && fs::is_regular_file(file.name, error)) return file.name;
  const fs::path in_folder = fs::path(file.folder) / file.name;
  return fs::is_regular_file(in_folder, error) ? in_folder.string() : std::string();
}

std::string need_file(const HeadFile& file) {
  if (file.name.empty()) throw UsageError(fmt::format("{}: expected the name of a JSON file, got none", file.key));
  std::string path = find_file(file);
  if (!path.empty()) return path;
  if (file.of_model)
    throw UsageError(fmt::format("{}: expected {} in the model's folder {}, got none; kvscope-cli heads makes one, or name another file",
                                 file.key, file.name, kvscope::quoted(file.folder)));
  throw UsageError(
      fmt::format("{}: file {} is neither in the working directory nor in the model's folder", file.key, kvscope::quoted(file.name)));
}

Json read_json(const std::string& key, const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kLargest)
    throw UsageError(
        fmt::format("{}: {}: expected a file of at most {} MiB, got {} bytes", key, kvscope::quoted(path), kLargest >> 20, size));
  std::ifstream in(path, std::ios::binary);
  constexpr int kDeepest = 64;
  constexpr std::size_t kMostValues = std::size_t(1) << 20;  // some hundred MB at most
  std::size_t n_values = 0;
  const auto limit = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest)
      throw UsageError(fmt::format("{}: {}: expected JSON of at most {} levels, got more", key, kvscope::quoted(path), kDeepest));
    if (++n_values > kMostValues)
      throw UsageError(fmt::format("{}: {}: expected JSON of at most {} values, got more", key, kvscope::quoted(path), kMostValues));
    return true;
  };
  Json data = Json::parse(in, limit, /*allow_exceptions=*/false);
  if (data.is_discarded()) throw UsageError(fmt::format("{}: {}: expected JSON, got something else", key, kvscope::quoted(path)));
  return data;
}

/// The number itself, or the mean of a list of numbers; NaN where it is neither.
double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_array() || value.empty()) return std::nan("");
  double sum = 0;
  for (const Json& x : value) sum += x.is_number() ? x.get<double>() : std::nan("");
  return sum / static_cast<double>(value.size());
}

}  // namespace

bool has_file(const HeadFile& file) { return !find_file(file).empty(); }

std::vector<double> read_head_file(const HeadFile& file, int n_layers, int n_columns) {
  const std::string& key = file.key;
  const std::string path = need_file(file);
  const Json data = read_json(key, path);
  const auto refuse = [&](const std::string& got) {
    throw UsageError(
        fmt::format("{}: {}: expected numbers [{} layers][{} heads], got {}", key, kvscope::quoted(path), n_layers, n_columns, got));
  };
  std::vector<double> out;
  if (data.is_array()) {
    if (data.size() != static_cast<std::size_t>(n_layers)) refuse(fmt::format("{} rows", data.size()));
    for (const Json& row : data) {
      if (!row.is_array() || row.size() != static_cast<std::size_t>(n_columns))
        refuse(row.is_array() ? fmt::format("a row of {}", row.size()) : std::string("a row that is no list"));
      for (const Json& value : row) out.push_back(value.is_number() ? value.get<double>() : std::nan(""));
    }
  } else if (data.is_object()) {
    for (int l = 0; l < n_layers; ++l)
      for (int g = 0; g < n_columns; ++g) {
        const auto place = data.find(fmt::format("{}-{}", l, g));
        if (place == data.end()) refuse(fmt::format("no entry \"{}-{}\"", l, g));
        out.push_back(number_of(*place));
      }
  } else {
    refuse("neither a list nor an object");
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      refuse(fmt::format("no finite number in layer {}, head {}", i / static_cast<std::size_t>(n_columns),
                         i % static_cast<std::size_t>(n_columns)));
  return out;
}

}  // namespace kvscope
