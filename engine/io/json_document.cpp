// SPDX-License-Identifier: Apache-2.0
#include "io/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/whole_characters.h"
#include "io/files.h"
#include "io/parse_json.h"

namespace kvscope {

/// Fills a document from the events of a parser.
class JsonTable : public nlohmann::json_sax<nlohmann::json> {
  using Document = JsonDocument;
  using Kind = JsonDocument::Kind;

 public:
  JsonTable(Document& document, const JsonLimits& limits, std::string_view text) : document_(document), limits_(limits), text_(text) {}

  bool null() override { return add({}); }
  bool boolean(bool flag) override { return add({.kind = Kind::flag, .unsigned_integer = flag}); }
  bool number_integer(number_integer_t v) override { return add({.kind = Kind::integer, .integer = v}); }
  bool number_unsigned(number_unsigned_t v) override { return add({.kind = Kind::unsigned_integer, .unsigned_integer = v}); }
  bool number_float(number_float_t v, const string_t&) override { return add({.kind = Kind::real, .real = v}); }
  bool string(string_t& text) override { return add(text_value(text)); }
  bool binary(binary_t&) override { return false; }  // not in texts
  bool key(string_t& name) override { return add(text_value(name)); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }

  bool end_array() override {
    const std::size_t first = close();
    const Document::Value list{
        .kind = Kind::list, .count = static_cast<std::uint32_t>(waiting_.size() - first), .unsigned_integer = document_.places_.size()};
    document_.places_.insert(document_.places_.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(first), waiting_.end());
    waiting_.resize(first);
    return add(list);
  }

  bool end_object() override {
    const std::size_t first = close();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> members;
    for (std::size_t i = first; i < waiting_.size(); i += 2) members.emplace_back(waiting_[i], waiting_[i + 1]);
    waiting_.resize(first);
    const auto name = [this](std::uint32_t place) { return document_.text_of(document_.values_[place]); };
    std::sort(members.begin(), members.end(), [&](const auto& a, const auto& b) {
      const std::string_view x = name(a.first), y = name(b.first);
      return x != y ? x < y : a.first < b.first;
    });
    Document::Value object{.kind = Kind::object, .count = 0, .unsigned_integer = document_.places_.size()};
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 1 < members.size() && name(members[i].first) == name(members[i + 1].first)) {
        if (limits_.once)
          throw Error(fmt::format("{}: expected every key of an object once, got \"{}\" twice", document_.name(),
                                  shortened(name(members[i].first), 60)));
        continue;  // the last one counts
      }
      document_.places_.push_back(members[i].first);
      document_.places_.push_back(members[i].second);
      ++object.count;
    }
    return add(object);
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) throw Error(fmt::format("{}: expected JSON with numbers in the range of a double", document_.name()));
    const std::size_t at = std::min(position, text_.size());
    if (std::string_view(error.what()).find("ill-formed UTF-8") != std::string_view::npos)
      throw Error(fmt::format("{}: expected JSON in UTF-8, got other bytes in line {}; save it as UTF-8 text", document_.name(),
                              std::ranges::count(text_.substr(0, at > 0 ? at - 1 : 0), '\n') + 1));
    if (limits_.once) {  // written by hand
      const std::string_view before = text_.substr(0, at > 0 ? at - 1 : 0), line = before.substr(before.rfind('\n') + 1);
      throw Error(fmt::format(
          "{}: expected JSON, got something else in line {}, column {}: a comma, a quotation mark or a bracket is missing there or before",
          document_.name(), std::ranges::count(before, '\n') + 1, line.size() + 1));
    }
    throw Error(fmt::format(
        "{}: expected JSON, got something else at byte {} of {}: it is cut short or damaged; copy the file again from where it was saved",
        document_.name(), at, text_.size()));
  }

 private:
  bool add(const Document::Value& value) {
    if (document_.values_.size() >= limits_.values)
      throw Error(fmt::format("{}: expected JSON of at most {} values, got more", document_.name(), limits_.values));
    waiting_.push_back(static_cast<std::uint32_t>(document_.values_.size()));
    document_.values_.push_back(value);
    return true;
  }
  Document::Value text_value(const string_t& text) {
    const Document::Value value{
        .kind = Kind::text, .count = static_cast<std::uint32_t>(text.size()), .unsigned_integer = document_.texts_.size()};
    document_.texts_ += text;
    return value;
  }
  bool open() {
    if (firsts_.size() >= kMaxJsonDepth)
      throw Error(fmt::format("{}: expected JSON of at most {} levels, got one that is nested deeper", document_.name(), kMaxJsonDepth));
    firsts_.push_back(waiting_.size());
    return true;
  }
  std::size_t close() {
    const std::size_t first = firsts_.back();
    firsts_.pop_back();
    return first;
  }

  Document& document_;
  const JsonLimits limits_;
  const std::string_view text_;
  std::vector<std::uint32_t> waiting_;  // values whose list or object is not at its end
  std::vector<std::size_t> firsts_;     // of these, by list or object
};

JsonDocument JsonDocument::parse(std::string_view text, const std::string& name, const JsonLimits& limits) {
  if (text.size() > limits.bytes) throw Error(fmt::format("{}: expected at most {} bytes, got {}", name, limits.bytes, text.size()));
  JsonDocument document;
  document.name_ = name;
  JsonTable table(document, limits, text);
  parse_json<nlohmann::json>(text, table);
  return document;
}

JsonDocument JsonDocument::read(const std::string& path, const JsonLimits& limits) {
  return parse(read_text(path, limits.bytes), path, limits);
}

}  // namespace kvscope
