// SPDX-License-Identifier: Apache-2.0
#include "trace/sweep_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/file_handle.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/sha256.h"

namespace kvscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kItemSchema = "kvscope.sweep-item/1";
constexpr std::string_view kContentsBegin = "sweep-";
constexpr std::string_view kSumKey = ",\"sha256\":\"", kEnd = "\"}\n";
constexpr std::size_t kSumDigits = 64, kMaxItemBytes = std::size_t(1) << 20;

constexpr JsonLimits kItemLimits{.bytes = kMaxItemBytes, .values = std::size_t(1) << 19};
constexpr int kMostLayers = 1 << 12, kMostKvHeads = 1 << 12;

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const AnswerFates::Moment& moment) { return {{"kept", moment.kept}, {"merged", moment.merged}}; }

void put_result(Json& out, const SweepResult& result) {
  for (std::size_t i = 0; i < kSweepFigures.size(); ++i)
    out["figures"][std::string(kSweepFigures[i])] = std::isfinite(result.figures[i]) ? Json(result.figures[i]) : Json(nullptr);
  out["said"] = result.said;
  for (const LaneWarning& w : result.warnings)
    out["warnings"].push_back({{"kind", name_of(w.kind)}, {"count", w.count}, {"asked", w.asked}, {"got", w.got}, {"n_heads", w.n_heads}});
  if (!result.answer.known()) return;
  out["answer"] = {{"tokens", result.answer.n_tokens},
                   {"layers", result.answer.n_layers},
                   {"kv_heads", result.answer.n_kv_heads},
                   {"after_prompt", json_of(result.answer.after_prompt)},
                   {"at_end", json_of(result.answer.at_end)}};
}

AnswerFates::Moment moment_of(const JsonCursor& from, const AnswerFates& of) {
  AnswerFates::Moment out;
  const JsonCursor kept = from.at("kept"), merged = from.at("merged");
  for (const JsonCursor& list : {kept, merged})
    if (!list.is_array() || list.size() != of.n_heads()) list.fail(fmt::format("a list of {} numbers, one for each head", of.n_heads()));
  for (std::size_t i = 0; i < of.n_heads(); ++i) {
    out.kept.push_back(static_cast<std::uint16_t>(kept.at(i).whole(0, of.n_tokens)));
    out.merged.push_back(static_cast<std::uint16_t>(merged.at(i).whole(0, of.n_tokens - out.kept.back())));
  }
  return out;
}

/// What an earlier version wrote has no answer.
AnswerFates answer_of(const JsonCursor& root) {
  AnswerFates out;
  if (!root.has("answer")) return out;
  const JsonCursor from = root.at("answer");
  out.n_tokens = from.at("tokens").whole(1, std::numeric_limits<std::uint16_t>::max());
  out.n_layers = from.at("layers").whole(1, kMostLayers);
  out.n_kv_heads = from.at("kv_heads").whole(1, kMostKvHeads);
  out.after_prompt = moment_of(from.at("after_prompt"), out);
  out.at_end = moment_of(from.at("at_end"), out);
  return out;
}

/// What an earlier version wrote has none.
std::vector<LaneWarning> warnings_of(const JsonCursor& root) {
  std::vector<LaneWarning> out;
  if (!root.has("warnings")) return out;
  const JsonCursor list = root.at("warnings");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor w = list.at(i);
    LaneWarning warning{.count = w.at("count").real(), .asked = w.at("asked").real(), .got = w.at("got").real()};
    warning.n_heads = w.at("n_heads").whole(0, kMostLayers * kMostKvHeads);
    if (parse_kind(w.at("kind").text(), warning.kind)) out.push_back(warning);  // else one that this build does not know
  }
  return out;
}

SweepResult result_of(const JsonCursor& root) {
  SweepResult out;
  for (std::size_t i = 0; i < kSweepFigures.size(); ++i) out.figures[i] = root.at("figures").at(kSweepFigures[i]).real_or_null();
  out.said = root.at("said").text();
  out.answer = answer_of(root);
  out.warnings = warnings_of(root);
  return out;
}

}  // namespace

std::string SweepItem::key() const { return hexadecimal(sha256(dumped(Json{kItemSchema, model_hash, text_hash, run, seed, settings}))); }

std::string sweep_result_json(const SweepResult& result) {
  Json out;
  put_result(out, result);
  return dumped(out);
}

SweepResult read_sweep_result(std::string_view json, const std::string& name) {
  const JsonDocument document = JsonDocument::parse(json, name, kItemLimits);
  return result_of(JsonCursor(document));
}

std::string sweep_item_json(const SweepItem& item, const SweepResult& result) {
  Json out{{"schema", kItemSchema}, {"key", item.key()},           {"model", item.model},      {"model_hash", item.model_hash},
           {"text", item.text},     {"text_hash", item.text_hash}, {"policy", item.policy},    {"spec", item.run},
           {"ratio", item.ratio},   {"seed", item.seed},           {"settings", item.settings}};
  put_result(out, result);
  std::string text = dumped(out);
  text.pop_back();  // the brace
  const std::string sum = hexadecimal(sha256(text));
  return fmt::format("{}{}{}{}", text, kSumKey, sum, kEnd);
}

SweepResult read_sweep_item(std::string_view json, std::string_view key, const std::string& name) {
  const std::size_t tail = kSumKey.size() + kSumDigits + kEnd.size();
  const std::string_view body = json.substr(0, json.size() - std::min(tail, json.size())), end = json.substr(body.size());
  if (!end.starts_with(kSumKey) || !end.ends_with(kEnd))
    throw Error(fmt::format("{}: expected a whole item of a sweep ({}), got something else or a part of one", name, kItemSchema));
  if (end.substr(kSumKey.size(), kSumDigits) != hexadecimal(sha256(body)))
    throw Error(fmt::format("{}: damaged: its contents are not those that its sha256 was made of", name));
  const JsonDocument document = JsonDocument::parse(json, name, kItemLimits);
  const JsonCursor root(document);
  if (root.at("schema").view() != kItemSchema) root.at("schema").fail(std::string(kItemSchema));
  if (root.at("key").view() != key) root.at("key").fail(fmt::format("the key {}", key));
  return result_of(root);
}

/// Of a file in a store.
static void check_no_link(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode))
    throw Error(fmt::format("{}: expected a file of the sweep, got a link; remove it, to write there would change another file", path));
}

SweepResult load_sweep_item(const std::string& path, std::string_view key) {
  check_no_link(path);
  return read_sweep_item(read_text(path, kMaxItemBytes), key, path);
}

std::string sweep_item_name(std::string_view key) { return fmt::format("{}.json", key.substr(0, 32)); }

bool is_sweep_item_name(std::string_view name) {
  return name.size() == sweep_item_name(std::string(32, '0')).size() && name.ends_with(".json") &&
         name.find_first_not_of("0123456789abcdef") == 32;
}

bool is_sweep_contents_name(std::string_view name) { return name.starts_with(kContentsBegin) && name.ends_with(".json"); }

SweepStore::SweepStore(std::string folder) : folder_(std::move(folder)) {
  if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)
    throw Error(fmt::format("{}: the folder of the sweep cannot be made: {}", folder_, std::strerror(errno)));
  struct stat info {};
  if (::stat(folder_.c_str(), &info) != 0)
    throw Error(fmt::format("{}: the folder of the sweep cannot be examined: {}", folder_, std::strerror(errno)));
  if (!S_ISDIR(info.st_mode)) throw Error(fmt::format("{}: expected a folder for the sweep, got {}", folder_, kind_of_file(info.st_mode)));
  if (::access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    throw Error(fmt::format("{}: expected a folder to write to: {}", folder_, std::strerror(errno)));
}

std::string SweepStore::path_of(const SweepItem& item) const {
  return (std::filesystem::path(folder_) / sweep_item_name(item.key())).string();
}

std::optional<SweepResult> SweepStore::find(const SweepItem& item, std::string* problem) const {
  const std::string path = path_of(item);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) return std::nullopt;
  const bool link = S_ISLNK(info.st_mode);
  try {
    return load_sweep_item(path, item.key());
  } catch (const Error& error) {
    if (link) throw;
    *problem = error.what();
    return std::nullopt;
  }
}

void SweepStore::put(const SweepItem& item, const SweepResult& result) const {
  write_atomically(path_of(item), sweep_item_json(item, result));
}

void SweepStore::announce(const SweepContents& contents) const {
  const std::string json = sweep_contents_json(contents);
  const std::string name = fmt::format("{}{}.json", kContentsBegin, hexadecimal(sha256(json)).substr(0, 32));
  const std::string path = (std::filesystem::path(folder_) / name).string();
  check_no_link(path);
  write_atomically(path, json);
}

}  // namespace kvscope
