// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "io/parse_json.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

constexpr std::size_t kMaxRank = 8;

/// Accepts exactly {"name": {"dtype": "F32", "shape": [..], "data_offsets": [.., ..]}, "__metadata__": {"key": "text"}}.
/// Reading event by event keeps hostile nesting from building anything.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file_name) : file_name_(file_name) {}

  std::vector<HeaderEntry> take() { return std::move(entries_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::file;
    } else if (place_ == Place::file) {
      place_ = entry_.name == "__metadata__" ? Place::metadata : Place::entry;
      keys_.clear();
    } else {
      fail("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry) {
      for (const char* needed : {"dtype", "shape", "data_offsets"}) {
        if (!keys_.contains(needed)) throw Error(fmt::format("{}: tensor {} has no \"{}\"", file_name_, quote_name(entry_.name), needed));
      }
      entries_.push_back(std::exchange(entry_, {}));
    }
    place_ = place_ == Place::file ? Place::outside : Place::file;
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == Place::file) {
      if (!names_.insert(name).second) throw Error(fmt::format("{}: tensor {} is listed twice", file_name_, quote_name(name)));
      entry_ = {};
      entry_.name = name;
      return true;
    }
    key_ = name;
    if (place_ == Place::metadata) return true;
    if (name != "dtype" && name != "shape" && name != "data_offsets") fail_key("an unknown key");
    if (!keys_.insert(name).second) fail_key("twice the key");
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::entry || key_ != "dtype") fail("a string");
    entry_.dtype = text;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry || key_ == "dtype") fail("a list");
    place_ = Place::numbers;
    return true;
  }

  bool end_array() override {
    place_ = Place::entry;
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::numbers) fail("a number");
    auto& list = key_ == "shape" ? entry_.shape : entry_.data_offsets;
    if (list.size() >= (key_ == "shape" ? kMaxRank : 2)) fail("a longer list");
    list.push_back(number);
    return true;
  }

  bool number_integer(number_integer_t number) override {
    fail(fmt::format("{}", number));
    return false;
  }
  bool number_float(number_float_t, const string_t&) override { return fail("a number that is not a 64-bit unsigned integer"), false; }
  bool null() override { return fail("null"), false; }
  bool boolean(bool value) override { return fail(value ? "true" : "false"), false; }
  bool binary(binary_t&) override { return fail("binary"), false; }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    throw Error(fmt::format("{}: expected the header to be JSON, got something else at byte {} of it", file_name_, byte));
  }

 private:
  enum class Place { outside, file, metadata, entry, numbers };

  [[noreturn]] void fail(std::string_view got) const {
    switch (place_) {
      case Place::outside:
        throw Error(fmt::format("{}: expected the header to be a JSON object, got {}", file_name_, got));
      case Place::file:
        throw Error(fmt::format("{}: expected an object for tensor {}, got {}", file_name_, quote_name(entry_.name), got));
      case Place::metadata:
        throw Error(fmt::format("{}: expected texts in \"__metadata__\", got {}", file_name_, got));
      case Place::entry:
        break;
      case Place::numbers:
        break;
    }
    const std::string_view expected = key_ == "dtype"   ? "a text"
                                      : key_ == "shape" ? "at most 8 unsigned integers"
                                                        : "two unsigned integers";
    throw Error(fmt::format("{}: tensor {}: expected {} in \"{}\", got {}", file_name_, quote_name(entry_.name), expected, key_, got));
  }
  [[noreturn]] void fail_key(std::string_view what) const {
    throw Error(fmt::format("{}: tensor {} has {} {}, expected dtype, shape and data_offsets", file_name_, quote_name(entry_.name), what,
                            quote_name(key_)));
  }

  const std::string& file_name_;
  Place place_ = Place::outside;
  HeaderEntry entry_;
  std::string key_;
  std::set<std::string> keys_;   // of this entry
  std::set<std::string> names_;  // of all entries
  std::vector<HeaderEntry> entries_;
};

}  // namespace

std::vector<HeaderEntry> parse_safetensors_header(std::string_view json, const std::string& file_name) {
  HeaderReader reader(file_name);
  parse_json<nlohmann::json>(json, reader);
  return reader.take();
}

}  // namespace kvscope
