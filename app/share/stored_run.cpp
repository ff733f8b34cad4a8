// SPDX-License-Identifier: Apache-2.0
#include "app/share/stored_run.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "app/share/packing.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"

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

/// Nothing where the file is no session.
std::optional<StoredRun> of_session(const std::string& text, const std::string& path) {
  const JsonDocument document = JsonDocument::parse(text, path, kTraceLimits);
  const JsonCursor root(document);
  if (!root.is_object()) root.fail("a trace or a session of kvscope");
  if (root.text_or("kvscope", "") != "session") return std::nullopt;
  if (text.size() > kMostOfSession)
    throw Error(fmt::format("{}: expected a session of at most {} bytes, got {}", path, kMostOfSession, text.size()));
  return StoredRun{results_of(root, path), root.real_or("temperature", 0, 100, 0)};
}

}  // namespace

StoredRun read_stored_run(const std::string& path) {
  const std::string text = read_text(path, kMaxTraceBytes);
  if (std::optional<StoredRun> run = of_session(text, path)) return std::move(*run);
  return {read_trace(text, path), std::nullopt};
}

}  // namespace kvscope::share
