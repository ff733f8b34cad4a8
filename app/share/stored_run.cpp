// SPDX-License-Identifier: Apache-2.0
#include "app/share/stored_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/share/packing.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "policy/catalog.h"
#include "trace/request_json.h"

namespace kvscope::share {

namespace {

constexpr std::size_t kMostOfSession = std::size_t(64) << 20;

/// Results stand in a session as base64 of a trace that zlib compressed.
Trace results_of(const JsonCursor& session, const std::string& path) {
  const std::string name = path + ": results";
  if (!session.given("results"))
    throw Error(
        path +
        ": expected a session with results, got one without; open it in the window, let it compute and save it, or share it with --session");
  const JsonCursor results = session.at("results");
  if (results.at("schema").text() != "kvscope.trace/1") results.at("schema").fail("kvscope.trace/1");
  if (results.at("packed").text() != "zlib, base64") results.at("packed").fail("zlib, base64");
  const auto n = static_cast<std::size_t>(results.at("bytes").whole(0, std::numeric_limits<int>::max()));
  if (n > kMaxTraceBytes) results.at("bytes").fail(fmt::format("at most {}", kMaxTraceBytes));
  return read_trace(inflated(from_base64(results.at("data").view(), name), n, name), name);
}

/// The file's own words may have been changed after its results were stored, which then are of something else.
void expect_results_of(const JsonCursor& session, const Trace& results, const std::string& path) {
  const Snapshot& s = results.snapshot;
  std::vector<std::string> notes;  // what is not known here changes nothing of the results
  RunRequest asked = read_request(session, &notes);
  if (!session.given("prompt")) asked.prompt = s.prompt;
  if (!session.given("prompt_mode")) asked.mode = s.prefill_mode ? PromptMode::prefill : PromptMode::stream;
  if (!session.given("follow")) asked.follow = follow_of(s.follow).value_or(asked.follow);
  if (!session.given("temperature") && !std::isnan(s.temperature)) asked.temperature = s.temperature;
  if (!session.given("seed")) asked.seed = results.seed;
  if (!session.given("generate")) asked.n_generate = static_cast<int>(s.tokens.size());
  if (!session.given("lanes"))
    for (const LaneSnapshot& lane : s.lanes) asked.lanes.push_back(lane_spec_of_result(lane.spec));
  const char* const other = not_of(asked, results);
  if (other)
    throw Error(
        fmt::format("{}: expected results of the session's own request, got those of other {}: it was changed after they were stored; "
                    "--session {} computes what it asks for",
                    path, other, path));
}

/// Nothing where the file is no session.
std::optional<StoredRun> of_session(const std::string& text, const std::string& path) {
  const JsonDocument document = JsonDocument::parse(text, path, kTraceLimits);
  const JsonCursor root(document);
  if (!root.is_object()) root.fail("a trace or a session of kvscope");
  if (root.text_or("kvscope", "") != "session") return std::nullopt;
  if (text.size() > kMostOfSession)
    throw Error(fmt::format("{}: expected a session of at most {} bytes, got {}", path, kMostOfSession, text.size()));
  StoredRun run{results_of(root, path), newer_session_notice(root.whole_or("version", 0, std::numeric_limits<int>::max(), 0))};
  expect_results_of(root, run.trace, path);
  run.trace.snapshot.temperature = root.real_or("temperature", 0, 100, 0);  // what earlier versions stored does not say it
  return run;
}

}  // namespace

StoredRun read_stored_run(const std::string& path) {
  const std::string text = read_text(path, kMaxTraceBytes);
  if (std::optional<StoredRun> run = of_session(text, path)) return std::move(*run);
  return {read_trace(text, path)};
}

}  // namespace kvscope::share
