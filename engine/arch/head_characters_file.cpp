// SPDX-License-Identifier: Apache-2.0
#include "arch/head_characters_file.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "io/json_file.h"

namespace kvscope {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = 16u << 20;
constexpr const char* kSchema = "kvscope.head_characters/1";
constexpr double kRounding = 1e-5;  // sums of shares were rounded to six digits

class Reader {
 public:
  Reader(const Json& json, const std::string& path, const ModelConfig& config) : json_(json), path_(path), config_(config) {
    if (!json.is_object()) refuse("an object", "something else");
    const auto schema = json.find("schema");
    if (schema == json.end() || !schema->is_string() || *schema != kSchema)
      refuse(fmt::format("schema \"{}\"", kSchema), schema == json.end() ? "none" : schema->dump());
  }

  int count(const char* name) const {
    const Json& value = member(name);
    if (!value.is_number_integer() || value < 1 || value > 1'000'000) refuse(fmt::format("{}: a number of tokens", name), value.dump());
    return value.get<int>();
  }

  /// [n_layers][n_heads], each in [0, highest]
  std::vector<double> numbers(const char* name, double highest) const {
    const Json& rows = member(name);
    const auto n_layers = static_cast<std::size_t>(config_.n_layers), n_heads = static_cast<std::size_t>(config_.n_heads);
    const std::string shape = fmt::format("{}: numbers [{} layers][{} query heads]", name, n_layers, n_heads);
    if (!rows.is_array() || rows.size() != n_layers) refuse(shape, rows.is_array() ? fmt::format("{} layers", rows.size()) : "no list");
    std::vector<double> out;
    for (const Json& row : rows) {
      if (!row.is_array() || row.size() != n_heads)
        refuse(shape, row.is_array() ? fmt::format("{} heads in layer {}", row.size(), out.size() / n_heads) : "a layer that is no list");
      for (const Json& value : row) {
        const double x = value.is_number() ? value.get<double>() : std::nan("");
        if (!(x >= 0 && x <= highest + kRounding))
          refuse(fmt::format("{}: numbers from 0 to {:.3g}", name, highest),
                 fmt::format("{:.20} in layer {}, query head {}", value.dump(), out.size() / n_heads, out.size() % n_heads));
        out.push_back(std::min(x, highest));
      }
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    throw Error(fmt::format("{}: expected {}, got {:.60}; kvscope-cli heads --out-characters writes it anew", path_, expected, got));
  }
  const Json& member(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(name, "none");
    return *found;
  }

  const Json& json_;
  const std::string& path_;
  const ModelConfig& config_;
};

}  // namespace

HeadCharacters read_head_characters(const std::string& path, const ModelConfig& config) {
  const Json json = read_json(path, kMaxBytes);
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
