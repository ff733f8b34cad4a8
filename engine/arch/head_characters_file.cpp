// SPDX-License-Identifier: Apache-2.0
#include "arch/head_characters_file.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "io/json_cursor.h"

namespace kvscope {
namespace {

constexpr std::size_t kMaxBytes = 16u << 20;
constexpr const char* kSchema = "kvscope.head_characters/1";
constexpr double kRounding = 1e-5;  // sums of shares were rounded to six digits

class Reader {
 public:
  Reader(const JsonCursor& json, const std::string& path, const ModelConfig& config) : json_(json), path_(path), config_(config) {
    if (!json.is_object()) refuse("an object", "something else");
    const bool known = json.has("schema") && json.at("schema").is_string() && json.at("schema").view() == kSchema;
    if (!known) refuse(fmt::format("schema \"{}\"", kSchema), json.has("schema") ? json.at("schema").shown() : "none");
  }

  int count(const char* name) const {
    const JsonCursor value = member(name);
    if (!value.is_whole() || value.real() < 1 || value.real() > 1'000'000)
      refuse(fmt::format("{}: a number of tokens", name), value.shown());
    return static_cast<int>(value.real());
  }

  /// [n_layers][n_heads], each in [0, highest]
  std::vector<double> numbers(const char* name, double highest) const {
    const JsonCursor rows = member(name);
    const auto n_layers = static_cast<std::size_t>(config_.n_layers), n_heads = static_cast<std::size_t>(config_.n_heads);
    const std::string shape = fmt::format("{}: numbers [{} layers][{} query heads]", name, n_layers, n_heads);
    if (!rows.is_array() || rows.size() != n_layers) refuse(shape, rows.is_array() ? fmt::format("{} layers", rows.size()) : "no list");
    std::vector<double> out;
    for (std::size_t l = 0; l < n_layers; ++l) {
      const JsonCursor row = rows.at(l);
      if (!row.is_array() || row.size() != n_heads)
        refuse(shape, row.is_array() ? fmt::format("{} heads in layer {}", row.size(), out.size() / n_heads) : "a layer that is no list");
      for (std::size_t h = 0; h < n_heads; ++h) {
        const JsonCursor value = row.at(h);
        const double x = value.is_number() ? value.real() : std::nan("");
        if (!(x >= 0 && x <= highest + kRounding))
          refuse(fmt::format("{}: numbers from 0 to {:.3g}", name, highest),
                 fmt::format("{:.20} in layer {}, query head {}", value.shown(), out.size() / n_heads, out.size() % n_heads));
        out.push_back(std::min(x, highest));
      }
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    throw Error(fmt::format("{}: expected {}, got {:.60}; kvscope-cli heads --out-characters writes it anew", path_, expected, got));
  }
  JsonCursor member(const char* name) const {
    if (!json_.has(name)) refuse(name, "none");
    return json_.at(name);
  }

  const JsonCursor& json_;
  const std::string& path_;
  const ModelConfig& config_;
};

}  // namespace

HeadCharacters read_head_characters(const std::string& path, const ModelConfig& config) {
  const JsonDocument document = JsonDocument::read(path, {.bytes = kMaxBytes, .values = kJsonLimits.values});
  const JsonCursor json(document);
  const Reader reader(json, path, config);
  constexpr double kMostNats = 64;  // no text has e^64 tokens
  HeadCharacters out;
  out.n_layers = config.n_layers;
  out.n_heads = config.n_heads;
  out.sink_tokens = reader.count("sink_tokens");
  out.near_tokens = reader.count("near_tokens");
  out.sink = reader.numbers("sink", 1);
  out.local = reader.numbers("near", 1);
  out.previous = reader.numbers("previous", 1);
  out.induction = reader.numbers("induction", 1);
  out.retrieval = reader.numbers("retrieval", 1);
  out.entropy = reader.numbers("entropy", kMostNats);
  return out;
}

}  // namespace kvscope
