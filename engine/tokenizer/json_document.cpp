// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/json_document.h"

#include <fmt/format.h>

#include "core/error.h"
#include "io/json_document.h"
#include "io/parse_json.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

using JsonValue = nlohmann::json;

constexpr std::size_t kMaxTokens = 1 << 20, kMaxMerges = 1 << 22;
constexpr std::size_t kMaxOtherValues = 1 << 21;  // some 150 bytes each at most, which added tokens have eight of

class Reader : public nlohmann::json_sax<JsonValue> {
 public:
  Reader(TokenizerDocument& out, const std::string& name) : out_(out), name_(name) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool b) override { return value(b); }
  bool number_integer(number_integer_t n) override { return number(n, n >= 0 && n < std::int64_t(kMaxTokens)); }
  bool number_unsigned(number_unsigned_t n) override { return number(n, n < kMaxTokens); }
  bool number_float(number_float_t x, const string_t&) override { return value(x); }
  bool binary(binary_t&) override { fail("expected text, got binary data"); }

  bool string(string_t& text) override {
    if (place_ == Place::merges) {
      if (depth_ == 3) {
        add_merge_of_line(text);
      } else if (depth_ == 4) {
        if (++parts_ > 2) fail("model.merges: expected pairs, got a longer list");
        (parts_ == 1 ? out_.merges.back().first : out_.merges.back().second) = std::move(text);
      }
      return true;
    }
    return value(std::move(text));
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside && depth_ == 2 && in_model_ && keys_.back() == "vocab") {
      place_ = Place::vocabulary;
      out_.has_vocabulary = true;
      ++depth_;
      return true;
    }
    return open(JsonValue::object());
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::merges && depth_ == 3) {
      add_merge({}, {});
      parts_ = 0;
      ++depth_;
      return true;
    }
    if (place_ == Place::outside && depth_ == 2 && in_model_ && (keys_.back() == "merges" || keys_.back() == "vocab")) {
      place_ = keys_.back() == "merges" ? Place::merges : Place::passed_over;
      ++depth_;
      return true;
    }
    return open(JsonValue::array());
  }

  bool key(string_t& key) override {
    if (place_ == Place::passed_over) return true;
    if (place_ == Place::vocabulary) {
      token_ = std::move(key);
      return true;
    }
    keys_.back() = std::move(key);
    if (depth_ == 1) in_model_ = keys_.back() == "model";
    return true;
  }

  bool end_object() override { return close(); }
  bool end_array() override {
    if (place_ == Place::merges && depth_ == 4 && parts_ != 2) fail("model.merges: expected pairs, got a shorter list");
    return close();
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("expected JSON, got something else at byte {}; it is cut short or damaged: copy or download it again", position));
  }

 private:
  enum class Place { outside, vocabulary, merges, passed_over };

  [[noreturn]] void fail(const std::string& what) const { throw Error(fmt::format("{}: {}", name_, what)); }

  template <typename N>
  bool number(N n, bool fits) {
    if (place_ != Place::vocabulary) return value(n);
    if (!fits) fail(fmt::format("model.vocab: token {}: expected an id below {}, got {}", quote_name(token_), kMaxTokens, n));
    if (out_.vocabulary.size() >= kMaxTokens) fail(fmt::format("model.vocab: expected at most {} tokens, got more", kMaxTokens));
    out_.vocabulary.emplace_back(std::move(token_), static_cast<int>(n));
    return true;
  }

  void add_merge(std::string left, std::string right) {
    if (out_.merges.size() >= kMaxMerges) fail(fmt::format("model.merges: expected at most {} pairs, got more", kMaxMerges));
    out_.merges.emplace_back(std::move(left), std::move(right));
  }

  void add_merge_of_line(const std::string& line) {
    if (line.starts_with("#version")) return;
    const std::size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      fail(fmt::format("model.merges: expected two names with a space between them, got {}", quote_name(line)));
    add_merge(line.substr(0, space), line.substr(space + 1));
  }

  bool value(JsonValue v) {
    if (place_ == Place::passed_over) return true;
    if (place_ == Place::vocabulary) fail(fmt::format("model.vocab: token {}: expected an id, got something else", quote_name(token_)));
    if (place_ == Place::merges) fail("model.merges: expected names, got something else");
    put(std::move(v));
    return true;
  }

  JsonValue* put(JsonValue v) {
    if (++n_values_ > kMaxOtherValues) fail(fmt::format("expected at most {} values besides the vocabulary, got more", kMaxOtherValues));
    if (open_.empty()) {
      out_.rest = std::move(v);
      return &out_.rest;
    }
    JsonValue& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(v));
      return &parent.back();
    }
    return &(parent[keys_.back()] = std::move(v));
  }

  bool open(JsonValue v) {
    if (depth_ >= kMaxJsonDepth) fail(fmt::format("JSON is nested deeper than {} levels", kMaxJsonDepth));
    ++depth_;
    if (place_ == Place::passed_over) return true;
    if (place_ != Place::outside) fail("model: expected names and ids, got something deeper");
    open_.push_back(put(std::move(v)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    --depth_;
    if (place_ != Place::outside) {
      if (depth_ == 2) place_ = Place::outside;
      return true;
    }
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  TokenizerDocument& out_;
  const std::string& name_;
  std::vector<JsonValue*> open_;
  std::vector<std::string> keys_;  // of each open object, the member that is read
  Place place_ = Place::outside;
  std::string token_;
  int depth_ = 0, parts_ = 0;
  std::size_t n_values_ = 0;
  bool in_model_ = false;
};

}  // namespace

TokenizerDocument read_tokenizer_document(std::string_view text, const std::string& name) {
  TokenizerDocument out;
  Reader reader(out, name);
  try {
    parse_json<JsonValue>(text, reader);
  } catch (const nlohmann::json::exception&) {  // a number outside double
    throw Error(fmt::format("{}: expected JSON with numbers in the range of a double", name));
  }
  if (!out.rest.is_object()) throw Error(fmt::format("{}: expected a JSON object, got another value", name));
  return out;
}

}  // namespace kvscope
