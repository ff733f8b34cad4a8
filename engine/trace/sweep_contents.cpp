// SPDX-License-Identifier: Apache-2.0
#include "trace/sweep_contents.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/json_cursor.h"
#include "trace/sweep_store.h"

namespace kvscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kContentsSchema = "kvscope.sweep-contents/1";
constexpr std::size_t kKeyDigits = 64;

bool is_key(std::string_view text) {
  return text.size() == kKeyDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::vector<std::size_t> SweepContents::beside() const {
  std::vector<std::size_t> out;
  for (const Run& run : runs) out.push_back(run.beside);
  return out;
}

std::string sweep_contents_json(const SweepContents& contents) {
  Json out{{"schema", kContentsSchema}, {"model", contents.model}, {"how", contents.how}, {"command", contents.command}};
  out["runs"] = Json::array();
  for (const SweepContents::Run& run : contents.runs)
    out["runs"].push_back({{"policy", run.policy}, {"spec", run.spec}, {"ratio", run.ratio}, {"beside", run.beside}});
  out["texts"] = Json::array();
  for (const SweepContents::Text& text : contents.texts)
    out["texts"].push_back({{"text", text.number}, {"depth", std::isfinite(text.depth) ? Json(text.depth) : Json(nullptr)}});
  out["seeds"] = contents.seeds;
  out["keys"] = contents.keys;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

SweepContents read_sweep_contents(std::string_view json, const std::string& name) {
  const JsonDocument document = JsonDocument::parse(json, name, {.bytes = kMaxSweepContentsBytes, .values = std::size_t(1) << 21});
  const JsonCursor root(document), runs = root.at("runs"), texts = root.at("texts"), seeds = root.at("seeds"), keys = root.at("keys");
  if (root.at("schema").view() != kContentsSchema) root.at("schema").fail(std::string(kContentsSchema));
  SweepContents out;
  out.model = root.at("model").text();
  out.how = root.text_or("how", "");
  out.command = root.text_or("command", "");
  const auto n_runs = static_cast<int>(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const JsonCursor run = runs.at(i);
    out.runs.push_back({run.at("policy").text(), run.at("spec").text(), run.at("ratio").real(0, 1),
                        static_cast<std::size_t>(run.at("beside").whole(0, n_runs - 1))});
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const double depth = texts.at(i).at("depth").real_or_null();
    if (depth < 0 || depth > 1) texts.at(i).at("depth").fail("a number from 0 to 1, or null");
    out.texts.push_back({texts.at(i).at("text").whole(1, std::numeric_limits<int>::max()), depth});
  }
  for (std::size_t i = 0; i < seeds.size(); ++i) out.seeds.push_back(seeds.at(i).unsigned_whole());
  if (out.runs.empty()) runs.fail("one run at least");
  const std::size_t n = out.runs.size() * out.texts.size() * out.seeds.size();  // values are limited: no overflow
  if (keys.size() != n || n == 0) keys.fail(fmt::format("{} keys: one for each text, seed and run, and one at least", n));
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_key(keys.at(i).view())) keys.at(i).fail(fmt::format("a key of {} hexadecimal digits", kKeyDigits));
    out.keys.push_back(keys.at(i).text());
  }
  return out;
}

}  // namespace kvscope
