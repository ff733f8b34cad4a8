// SPDX-License-Identifier: Apache-2.0
#include "remote/commands.h"

#include <string_view>

#include <fmt/core.h>

#include "core/error.h"
#include "trace/request_json.h"

namespace kvscope::remote {

namespace {
constexpr DType kPrecisions[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
}

std::string load_text(const LoadCommand& c) {
  JsonText out;
  out.begin_object();
  out.member("folder", std::string_view(c.folder)).member("precision", std::string_view(name_of(c.options.precision)));
  out.member("threads", c.options.n_threads).member("device", std::string_view(c.options.device));
  out.member("record_limit", static_cast<unsigned long long>(c.options.record_limit)).end_object();
  return out.take();
}

LoadCommand read_load(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "a model to load");
  const JsonCursor f(document);
  LoadCommand c{.folder = f.text_or("folder", ""), .options = {}};
  const std::string precision = f.text_or("precision", name_of(c.options.precision));
  bool known = false;
  for (const DType p : kPrecisions) {
    if (name_of(p) != precision) continue;
    c.options.precision = p;
    known = true;
  }
  if (!known) throw Error(fmt::format("{}: precision: expected f32, f64, f16 or bf16, got \"{}\"", f.where(), precision));
  c.options.n_threads = f.whole_or("threads", 0, 1024, 0);
  c.options.device = f.text_or("device", c.options.device);
  if (f.given("record_limit")) c.options.record_limit = static_cast<std::size_t>(f.at("record_limit").unsigned_whole());
  return c;
}

std::string request_text(const RunRequest& request) {
  JsonText out;
  out.begin_object();
  write_request(out, request);
  out.end_object();
  return out.take();
}

RunRequest read_request_text(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "a request");
  return read_request(JsonCursor(document));
}

}  // namespace kvscope::remote
