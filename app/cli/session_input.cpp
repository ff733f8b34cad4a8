// SPDX-License-Identifier: Apache-2.0
#include "app/cli/session_input.h"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/model_parts.h"
#include "core/error.h"
#include "io/file_hash.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "runtime/model/run_files.h"
#include "trace/request_json.h"

namespace kvscope::cli {

namespace {

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

[[noreturn]] void refuse(const JsonCursor& f, const char* key, const std::string& expected, const std::string& got) {
  throw Error(fmt::format("{}: {}: expected {}, got {}", f.where(), key, expected, got));
}

}  // namespace

SessionInput read_session_input(const std::string& path) {
  const JsonDocument document = JsonDocument::read(path);
  const JsonCursor f(document);
  if (!f.is_object()) f.fail("a session of kvscope");
  if (f.text_or("kvscope", "") != "session")
    refuse(f, "kvscope", "\"session\"", quoted(f.text_or("kvscope", "")) + ": this is no session of kvscope");
  if (const int version = f.whole_or("version", 0, std::numeric_limits<int>::max(), 0); version > kSessionVersion)
    refuse(f, "version", fmt::format("at most {}", kSessionVersion), fmt::format("{}: a newer kvscope wrote it; take that one", version));
  SessionInput out;
  if (f.given("model")) {
    const JsonCursor model = f.at("model");
    if (!model.is_object()) model.fail("an object with the model's folder");
    const bool built_in = model.flag_or("built_in", false);
    if (!built_in) out.model = model.text_or("folder", "");
    if (!built_in && out.model.empty()) model.fail("\"folder\": the model's, or \"built_in\": true");
  }
  const std::string folder = folder_of(path);
  if (f.given("results") && f.at("results").is_object()) {
    const JsonCursor results = f.at("results");
    out.model_sha256 = results.text_or("model_sha256", "");
    if (results.given("files")) {
      const JsonCursor files = results.at("files");  // of which each file knows its place
      for (std::size_t i = 0; i < files.size(); ++i) {
        const JsonCursor file = files.at(i);
        out.files.push_back({name_beside(file.at("file").text(), folder), file.at("sha256").text()});
      }
    }
  }
  out.request = read_request(f);
  out.request.lanes = with_files_beside(std::move(out.request.lanes), folder);
  return out;
}

void check_same_model(const std::string& path, const SessionInput& session, const std::string& model) {
  if (session.model_sha256.empty() || parts_of_model(model).empty()) return;
  if (session.model_sha256 == kChangedSinceRead)
    throw Error(
        fmt::format("{}: the files of its model had changed before its results were written, so that nobody can tell whether {} "
                    "computed them; --model {} takes this one",
                    path, model, model));
  if (hash_of_model(model) != session.model_sha256)
    throw Error(fmt::format("{}: its results were computed with another model than the one that is in {} now; --model {} takes this one",
                            path, model, model));
}

RunRequest request_of_session(const std::string& path, const std::string& model_folder, bool trusted) {
  SessionInput session = read_session_input(path);
  if (trusted) return std::move(session.request);
  refuse_files_outside(session.request.lanes, model_folder, path);
  if (const std::vector<std::string> changed = changed_files(session.files, session.request.lanes, model_folder); !changed.empty())
    throw Error(fmt::format("{}: its results were computed with another {} than what is there now; --trust-files takes what is there", path,
                            fmt::join(changed, ", ")));
  return std::move(session.request);
}

}  // namespace kvscope::cli
