// SPDX-License-Identifier: Apache-2.0
#include "app/cli/session_input.h"

#include <charconv>
#include <cstdint>

#include <fmt/core.h>

#include "core/error.h"
#include "io/json_file.h"
#include "policy/catalog.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::json;
constexpr std::size_t kMostBytes = std::size_t(64) << 20;  // as the window's limit
constexpr int kVersion = 1;

/// Reads one object; what is missing keeps its default.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) refuse("", "an object", object.type_name());
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& expected, const std::string& got) const {
    throw Error(fmt::format("{}{}{}: expected {}, got {}", where_, key.empty() ? "" : ".", key, expected, got));
  }
  const Json* find(const std::string& key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const Json* v = find(key);
    if (!v) return otherwise;
    if (!v->is_string()) refuse(key, "a text", v->type_name());
    return v->get<std::string>();
  }
  bool boolean(const std::string& key, bool otherwise) const {
    const Json* v = find(key);
    if (!v) return otherwise;
    if (!v->is_boolean()) refuse(key, "true or false", v->type_name());
    return v->get<bool>();
  }
  double number(const std::string& key, double otherwise, double least, double most) const {
    const Json* v = find(key);
    if (!v) return otherwise;
    if (!v->is_number() || !(v->get<double>() >= least && v->get<double>() <= most))
      refuse(key, fmt::format("a number from {} to {}", least, most), v->dump(-1, ' ', false, Json::error_handler_t::replace));
    return v->get<double>();
  }
  std::vector<int> integers(const std::string& key) const {
    std::vector<int> out;
    const Json* v = find(key);
    if (!v) return out;
    if (!v->is_array()) refuse(key, "a list", v->type_name());
    for (const Json& item : *v) {
      if (!item.is_number_integer() || item < 0 || item > INT32_MAX) refuse(key, "whole numbers from 0", item.dump(-1, ' ', false, Json::error_handler_t::replace));
      out.push_back(item.get<int>());
    }
    return out;
  }

 private:
  const Json& object_;
  std::string where_;
};

MeasureSet measures_of(const Json& object, const std::string& where) {
  const Fields f(object, where);
  MeasureSet out;
  out.local = f.boolean("local_error", out.local);
  out.theta = f.boolean("theta", out.theta);
  out.hidden = f.boolean("hidden", out.hidden);
  out.prediction = f.boolean("prediction", out.prediction);
  return out;
}

}  // namespace

SessionInput read_session_input(const std::string& path) {
  const Json document = read_json(path, kMostBytes);
  const Fields f(document, path + ": session");
  if (f.text("kvscope", "") != "session") f.refuse("kvscope", "\"session\"", fmt::format("\"{}\": this is no session of kvscope", f.text("kvscope", "")));
  if (f.number("version", 0, 0, INT32_MAX) > kVersion)
    f.refuse("version", fmt::format("at most {}", kVersion), fmt::format("{}: a newer kvscope wrote it; take that one", f.number("version", 0, 0, INT32_MAX)));
  SessionInput out;
  if (const Json* model = f.find("model")) {
    const Fields m(*model, path + ": session.model");
    if (!m.boolean("built_in", false)) out.model = m.text("folder", "");
  }
  RunRequest& r = out.request;
  r.prompt = f.text("prompt", "");
  r.prompt_ids = f.integers("prompt_ids");
  r.follow_ids = f.integers("follow_ids");
  if (const Json* lanes = f.find("lanes")) {
    if (!lanes->is_array()) f.refuse("lanes", "a list", lanes->type_name());
    for (const Json& lane : *lanes) {
      if (!lane.is_string()) f.refuse("lanes", "texts", lane.type_name());
      r.lanes.push_back(lane.get<std::string>());
      parse_lane_spec(r.lanes.back());  // says what is wrong before a model is opened
    }
  }
  const std::string mode = f.text("prompt_mode", "prefill"), follow = f.text("follow", "reference");
  if (mode != "prefill" && mode != "stream") f.refuse("prompt_mode", "prefill or stream", fmt::format("\"{}\"", mode));
  const std::optional<Follow> whose = follow_of(follow);
  if (!whose) f.refuse("follow", "reference, self or file", fmt::format("\"{}\"", follow));
  r.mode = mode == "stream" ? PromptMode::stream : PromptMode::prefill;
  r.follow = *whose;
  r.n_generate = static_cast<int>(f.number("generate", 0, -1, 1 << 20));
  r.temperature = f.number("temperature", 0, 0, 100);
  const std::string seed = f.text("seed", "0");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), r.seed);
  if (error != std::errc() || end != seed.data() + seed.size()) f.refuse("seed", "digits", fmt::format("\"{}\"", seed));
  r.shadow = f.boolean("shadow", true);
  if (const Json* measures = f.find("measures")) r.measures = measures_of(*measures, path + ": session.measures");
  return out;
}

}  // namespace kvscope::cli
