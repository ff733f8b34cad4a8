// SPDX-License-Identifier: Apache-2.0
#include "io/json_file.h"

#include <fmt/format.h>

#include "core/error.h"
#include "io/files.h"

namespace kvscope {

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  using Event = nlohmann::json::parse_event_t;
  const auto limit_depth = [&name](int depth, Event event, nlohmann::json&) {
    if (depth >= kMaxJsonDepth && (event == Event::object_start || event == Event::array_start)) {
      throw Error(fmt::format("{}: JSON is nested deeper than {} levels", name, kMaxJsonDepth));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), limit_depth);
  } catch (const nlohmann::json::parse_error& e) {
    throw Error(fmt::format("{}: expected JSON, got something else at byte {} of {}; it is cut short or damaged: copy or write it again", name, e.byte, text.size()));
  } catch (const nlohmann::json::exception&) {  // a number outside double
    throw Error(fmt::format("{}: expected JSON with numbers in the range of a double", name));
  }
}

nlohmann::json read_json(const std::string& path, std::size_t max_bytes) { return parse_json(read_text(path, max_bytes), path); }

}  // namespace kvscope
