// SPDX-License-Identifier: Apache-2.0
#include "app/cli/session_input.h"

#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "io/json_cursor.h"
#include "policy/catalog.h"
#include "runtime/model/run_files.h"

namespace kvscope::cli {

namespace {

constexpr int kVersion = 1;

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

[[noreturn]] void refuse(const JsonCursor& f, const char* key, const std::string& expected, const std::string& got) {
  throw Error(fmt::format("{}: {}: expected {}, got {}", f.where(), key, expected, got));
}

std::vector<int> ids_of(const JsonCursor& f, const char* key) {
  return f.given(key) ? f.at(key).wholes(0, std::numeric_limits<int>::max()) : std::vector<int>();
}

MeasureSet measures_of(const JsonCursor& f) {
  MeasureSet out;
  out.local = f.flag_or("local_error", out.local);
  out.theta = f.flag_or("theta", out.theta);
  out.hidden = f.flag_or("hidden", out.hidden);
  out.prediction = f.flag_or("prediction", out.prediction);
  return out;
}

}  // namespace

SessionInput read_session_input(const std::string& path) {
  const JsonDocument document = JsonDocument::read(path);
  const JsonCursor f(document);
  if (!f.is_object()) f.fail("a session of kvscope");
  if (f.text_or("kvscope", "") != "session")
    refuse(f, "kvscope", "\"session\"", quoted(f.text_or("kvscope", "")) + ": this is no session of kvscope");
  if (const int version = f.whole_or("version", 0, std::numeric_limits<int>::max(), 0); version > kVersion)
    refuse(f, "version", fmt::format("at most {}", kVersion), fmt::format("{}: a newer kvscope wrote it; take that one", version));
  SessionInput out;
  if (f.given("model") && !f.at("model").flag_or("built_in", false)) out.model = f.at("model").text_or("folder", "");
  RunRequest& r = out.request;
  r.prompt = f.text_or("prompt", "");
  const std::string text = f.text_or("prompt_text", "plain");
  const std::optional<PromptText> kind = prompt_text_of(text);
  if (!kind) refuse(f, "prompt_text", "plain, names or chat", quoted(text));
  r.prompt_text = *kind;
  r.prompt_ids = ids_of(f, "prompt_ids");
  r.follow_ids = ids_of(f, "follow_ids");
  for (std::size_t i = 0; f.given("lanes") && i < f.at("lanes").size(); ++i) {
    r.lanes.push_back(parse_lane_spec(f.at("lanes").at(i).view()));  // says what is wrong before a model is opened
  }
  const std::string mode = f.text_or("prompt_mode", "prefill"), follow = f.text_or("follow", "reference");
  if (mode != "prefill" && mode != "stream") refuse(f, "prompt_mode", "prefill or stream", quoted(mode));
  const std::optional<Follow> whose = follow_of(follow);
  if (!whose) refuse(f, "follow", "reference, self or file", quoted(follow));
  r.mode = mode == "stream" ? PromptMode::stream : PromptMode::prefill;
  r.follow = *whose;
  r.n_generate = f.whole_or("generate", -1, 1 << 20, 0);
  r.temperature = f.real_or("temperature", 0, 100, 0);
  const std::string seed = f.text_or("seed", "0");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), r.seed);
  if (error != std::errc() || end != seed.data() + seed.size()) refuse(f, "seed", "digits", quoted(seed));
  r.shadow = f.flag_or("shadow", true);
  if (f.given("measures")) r.measures = measures_of(f.at("measures"));
  return out;
}

RunRequest request_of_session(const std::string& path, const std::string& model_folder, bool trusted) {
  RunRequest request = read_session_input(path).request;
  const std::vector<std::string> outside =
      trusted ? std::vector<std::string>()
              : named_files_outside(request.lanes, model_folder, {std::filesystem::path(path).parent_path().string()});
  if (!outside.empty())
    throw UsageError(
        fmt::format("{}: its runs name files outside of its folder: {}; --trust-files reads them", path, fmt::join(outside, ", ")));
  return request;
}

}  // namespace kvscope::cli
