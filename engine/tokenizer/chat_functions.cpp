// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <minja/minja.hpp>

#include "core/from_chars.h"
#include "tokenizer/unicode.h"

namespace kvscope {
namespace {

using minja::characters;
using minja::Context;
using minja::Value;
using Arguments = minja::ArgumentsValue;
using ContextPtr = std::shared_ptr<Context>;
using Text = std::string;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

/// What a filter, a test or a method was called with. The value itself is the first one.
class Call {
 public:
  Call(std::string name, const ContextPtr& context, Arguments& given) : name_(std::move(name)), context_(context), given_(given) {
    if (given_.args.empty()) fail(name_ + " expects a value");
  }

  const ContextPtr& context() const { return context_; }
  const Value& value() const { return given_.args[0]; }
  /// Those behind the value, from the i-th on; with all names.
  Arguments rest(std::size_t i) const {
    return {{given_.args.begin() + static_cast<std::ptrdiff_t>(std::min(i + 1, given_.args.size())), given_.args.end()}, given_.kwargs};
  }
  std::size_t size() const { return given_.args.size() - 1; }
  /// By its place behind the value or its name; undefined: it is not given.
  Value operator()(std::size_t i, const char* name = "") const {
    if (i < size()) return given_.args[i + 1];
    for (const auto& [key, value] : given_.kwargs)
      if (key == name) return value;
    return Value();
  }
  /// By its name alone.
  Value named(const char* name) const { return (*this)(size(), name); }
  std::int64_t whole(std::size_t i, const char* name, std::int64_t otherwise) const {
    const Value v = (*this)(i, name);
    if (v.is_undefined()) return otherwise;
    if (!v.is_whole()) fail(fmt::format("{}: expected a whole number, got {}", name_, v.dump()));
    return v.whole();
  }
  bool flag(std::size_t i, const char* name, bool otherwise) const {
    const Value v = (*this)(i, name);
    return v.is_undefined() ? otherwise : v.to_bool();
  }
  /// Of what must be a string.
  Text text(std::size_t i, const char* name = "") const {
    const Value v = (*this)(i, name);
    if (!v.is_string()) fail(fmt::format("{}: expected a string, got {}", name_, v.is_undefined() ? "nothing" : v.dump()));
    return v.get<Text>();
  }
  /// The value as a string.
  Text text() const { return value().to_str(); }
  /// Elements of a list, characters of a string, keys of a mapping; none of what is undefined.
  std::vector<Value> items() const {
    std::vector<Value> out;
    if (value().is_undefined()) return out;
    if (!value().is_iterable()) fail(fmt::format("{}: expected a list, got {}", name_, value().dump()));
    value().for_each([&](Value& item) { out.push_back(item); });
    return out;
  }

 private:
  std::string name_;
  const ContextPtr& context_;
  Arguments& given_;
};

Value list_of(const std::vector<Value>& items) { return Value::array(items); }
Value list_of(const std::vector<Text>& texts) {
  Value out = Value::array();
  for (const Text& text : texts) out.push_back(Value(text));
  return out;
}

Text changed(const Text& text, char32_t (*change)(char32_t)) {
  Text out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == 0xdf && change == upper_case)
      out += "SS";  // the one capital of common use that is two letters
    else
      append_character(out, change(c));
  }
  return out;
}
Text upper(const Text& text) { return changed(text, upper_case); }
Text lower(const Text& text) { return changed(text, lower_case); }
Text capitalized(const Text& text) {
  const std::size_t first = text.empty() ? 0 : character_bytes(text[0]);
  return upper(text.substr(0, first)) + lower(text.substr(first));
}

/// Each word with a capital; words are what `is_break` separates.
template <class IsBreak>
Text titled(const Text& text, IsBreak&& is_break) {
  Text out;
  bool begins = true;
  for (const Text& c : characters(text)) {
    out += begins ? upper(c) : lower(c);
    begins = is_break(c);
  }
  return out;
}

bool is_space(std::string_view character) {
  std::size_t at = 0;
  const char32_t c = next_character(character, at);
  return is_white_space(c) || (c >= 0x1c && c <= 0x1f);
}

bool is_letter(std::string_view character) {
  std::size_t at = 0;
  const char32_t c = next_character(character, at);
  return is_word(c) && !is_number(c) && upper_case(c) != lower_case(c);
}

/// Without `set`: white space.
Text stripped(const Text& text, const Value& set, bool left, bool right) {
  std::vector<Text> chars = characters(text);
  const std::vector<Text> of_set = set.is_null() ? std::vector<Text>() : characters(set.get<Text>());
  const auto goes = [&](const Text& c) { return set.is_null() ? is_space(c) : std::ranges::find(of_set, c) != of_set.end(); };
  std::size_t begin = 0, end = chars.size();
  while (left && begin < end && goes(chars[begin])) ++begin;
  while (right && begin < end && goes(chars[end - 1])) --end;
  Text out;
  for (std::size_t i = begin; i < end; ++i) out += chars[i];
  return out;
}

/// At most `most` times; negative: as often as it is there. Nothing stands before each character and at the end.
Text replaced(const Text& text, const Text& from, const Text& to, std::int64_t most) {
  Text out;
  std::size_t at = 0;
  for (std::int64_t n = 0; n != most; ++n) {
    const std::size_t found = from.empty() ? at : text.find(from, at);
    if (found == Text::npos) break;
    out += text.substr(at, found - at) + to;
    at = found + from.size();
    if (!from.empty()) continue;
    if (at == text.size()) break;
    out += text.substr(at, character_bytes(text[at]));
    at += character_bytes(text[at]);
  }
  return out + text.substr(at);
}

std::vector<Text> split_words(const Text& text, std::int64_t most) {
  std::vector<Text> out;
  bool in_word = false;
  for (const Text& c : characters(text)) {
    const bool last = most >= 0 && static_cast<std::int64_t>(out.size()) == most + 1;
    if (is_space(c) && !(in_word && last)) {
      in_word = false;
      continue;
    }
    if (!in_word) out.emplace_back();
    in_word = true;
    out.back() += c;
  }
  return out;
}

std::vector<Text> split(const Text& text, const Value& by, std::int64_t most, bool from_right) {
  if (by.is_null()) {
    if (from_right && most >= 0) fail("rsplit: expected a separator");
    return split_words(text, most);
  }
  const Text separator = by.get<Text>();
  if (separator.empty()) fail("split: expected a separator, got an empty one");
  std::vector<Text> out;
  Text rest = text;
  while (most < 0 || static_cast<std::int64_t>(out.size()) < most) {
    const std::size_t found = from_right ? rest.rfind(separator) : rest.find(separator);
    if (found == Text::npos) break;
    const Text behind = rest.substr(found + separator.size());
    out.push_back(from_right ? behind : rest.substr(0, found));
    rest = from_right ? rest.substr(0, found) : behind;
  }
  out.push_back(rest);
  if (from_right) std::ranges::reverse(out);
  return out;
}

std::vector<Text> lines_of(const Text& text) {
  std::vector<Text> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return out;
}

/// "a.b.0" of a mapping or list; undefined: there is none.
Value attribute_of(const Value& item, const Value& path) {
  if (!path.is_string()) return Value(item).get(path);
  Value out = item;
  for (const Text& part : split(path.get<Text>(), Value("."), -1, false)) {
    const auto index = number_from<std::int64_t>(part);
    out = out.get(index && out.is_array() ? Value(*index) : Value(part));
  }
  return out;
}

/// What is sorted by: letters alike in both cases unless asked.
Value sort_key(const Value& item, const Value& attribute, bool case_sensitive) {
  const Value key = attribute.is_null() ? item : attribute_of(item, attribute);
  return key.is_string() && !case_sensitive ? Value(lower(key.get<Text>())) : key;
}

Value sorted(const Call& call) {
  std::vector<Value> items = call.items();
  const bool case_sensitive = call.flag(1, "case_sensitive", false), backwards = call.flag(0, "reverse", false);
  const Value attribute = call(2, "attribute");
  const auto less = [&](const Value& a, const Value& b) {
    const Value x = sort_key(a, attribute, case_sensitive), y = sort_key(b, attribute, case_sensitive);
    return backwards ? y < x : x < y;
  };
  std::ranges::stable_sort(items, less);
  return list_of(items);
}

Value extreme(const Call& call, bool greatest) {
  const std::vector<Value> items = call.items();
  const bool case_sensitive = call.flag(0, "case_sensitive", false);
  const Value attribute = call(1, "attribute");
  if (items.empty()) return Value();
  const auto less = [&](const Value& a, const Value& b) {
    return sort_key(a, attribute, case_sensitive) < sort_key(b, attribute, case_sensitive);
  };
  return greatest ? *std::ranges::max_element(items, less) : *std::ranges::min_element(items, less);
}

Value dict_sorted(const Call& call) {
  Value mapping = call.value();
  if (!mapping.is_object()) fail("dictsort: expected a mapping");
  const bool case_sensitive = call.flag(0, "case_sensitive", false), backwards = call.flag(2, "reverse", false);
  const Value by = call(1, "by");
  const std::int64_t place = by.is_string() && by.get<Text>() == "value" ? 1 : 0;
  std::vector<Value> pairs;
  for (const Value& key : mapping.keys()) pairs.push_back(Value::tuple({key, mapping.at(key)}));
  const auto less = [&](const Value& a, const Value& b) {
    const Value x = sort_key(Value(a).get(Value(place)), Value(), case_sensitive);
    const Value y = sort_key(Value(b).get(Value(place)), Value(), case_sensitive);
    return backwards ? y < x : x < y;
  };
  std::ranges::stable_sort(pairs, less);
  return list_of(pairs);
}

/// As Python rounds: halves to even, of the exact number.
Value rounded(const Call& call) {
  const Value x = call.value();
  const std::int64_t digits = call.whole(0, "precision", 0);
  const Value method = call(1, "method");
  const Text how = method.is_undefined() ? "common" : method.to_str();
  if (!x.is_real()) fail("round: expected a number, got " + x.dump());
  if (digits < -300 || digits > 300) fail("round: expected a precision of at most 300 digits");
  const double factor = std::pow(10.0, static_cast<double>(digits));
  if (how == "ceil") return std::ceil(x.real() * factor) / factor;
  if (how == "floor") return std::floor(x.real() * factor) / factor;
  if (how != "common") fail("round: expected common, ceil or floor, got " + how);
  if (x.is_whole() && digits >= 0) return Value(x.whole());
  if (digits >= 0) return std::stod(fmt::format("{:.{}f}", x.real(), digits));
  const double out = std::nearbyint(x.real() * factor) / factor;
  return x.is_whole() ? Value(static_cast<std::int64_t>(out)) : Value(out);
}

std::optional<double> number_in(const Text& text) {
  const Text trimmed = stripped(text, Value(), true, true);
  const char* begin = trimmed.data() + (trimmed.starts_with('+') ? 1 : 0);
  double out = 0;
  const auto [end, error] = from_chars(begin, trimmed.data() + trimmed.size(), out);
  if (error != std::errc() || end != trimmed.data() + trimmed.size() || trimmed.empty()) return std::nullopt;
  return out;
}

Value as_whole(const Call& call) {
  const Value v = call.value();
  const Value otherwise = call(0, "default");
  const auto base = static_cast<int>(call.whole(1, "base", 10));
  const auto of_real = [&](double x) {
    constexpr double kLimit = 9.2e18;
    return std::abs(x) < kLimit ? Value(static_cast<std::int64_t>(x)) : otherwise.is_undefined() ? Value(std::int64_t(0)) : otherwise;
  };
  if (v.is_whole()) return Value(v.whole());
  if (v.is_number()) return of_real(v.real());
  if (v.is_string()) {
    const Text text = stripped(v.get<Text>(), Value(), true, true);
    const bool prefixed = base == 16 && (text.starts_with("0x") || text.starts_with("0X"));
    const char* begin = text.data() + (prefixed ? 2 : text.starts_with('+') ? 1 : 0);
    std::int64_t whole = 0;
    if (base >= 2 && base <= 36) {
      const auto [end, error] = from_chars(begin, text.data() + text.size(), whole, base);
      if (error == std::errc() && end == text.data() + text.size()) return Value(whole);
    }
    if (const std::optional<double> x = number_in(text)) return of_real(*x);
  }
  return otherwise.is_undefined() ? Value(std::int64_t(0)) : otherwise;
}

Value as_real(const Call& call) {
  const Value v = call.value(), otherwise = call(0, "default");
  if (v.is_real()) return Value(v.real());
  if (const auto x = v.is_string() ? number_in(v.get<Text>()) : std::nullopt) return Value(*x);
  return otherwise.is_undefined() ? Value(0.0) : otherwise;
}

Value summed(const Call& call) {
  const Value attribute = call(0, "attribute"), start = call(1, "start");
  Value out = start.is_undefined() ? Value(std::int64_t(0)) : start;
  for (const Value& item : call.items()) out = out + (attribute.is_null() ? item : attribute_of(item, attribute));
  return out;
}

Value joined(const Call& call) {
  const Value separator = call(0, "d"), attribute = call(1, "attribute");
  Text out;
  bool first = true;
  for (const Value& item : call.items()) {
    if (!first && !separator.is_undefined()) out += separator.to_str();
    first = false;
    out += (attribute.is_null() ? item : attribute_of(item, attribute)).to_str();
  }
  return out;
}

Value indented(const Call& call) {
  const Value width = call(0, "width"), first = call(1, "first"), blank = call(2, "blank");
  const Text indent = width.is_string()
                          ? width.get<Text>()
                          : Text(static_cast<std::size_t>(std::clamp<std::int64_t>(call.whole(0, "width", 4), 0, 1 << 16)), ' ');
  Text out;
  const std::vector<Text> lines = lines_of(call.text() + "\n");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 ? blank.to_bool() || !lines[i].empty() : first.to_bool()) out += indent;
    out += lines[i];
  }
  return out;
}

/// As json.dumps does with ensure_ascii off, which is how chat templates are given it.
Value as_json(const Call& call) {
  if (call.flag(3, "sort_keys", false)) {
    const std::function<nlohmann::json(const Value&)> by_keys = [](const Value& v) { return nlohmann::json::parse(v.dump(-1, true)); };
    const std::int64_t indent = call.whole(1, "indent", -1);
    const nlohmann::ordered_json ordered = nlohmann::ordered_json::parse(by_keys(call.value()).dump());
    return Value(ordered).dump(static_cast<int>(indent), /*to_json=*/true);
  }
  const std::size_t place = call(0).is_boolean() ? 1 : 0;  // some give ensure_ascii first
  const Value indent = call(place, "indent");
  return call.value().dump(indent.is_whole() ? static_cast<int>(std::clamp<std::int64_t>(indent.whole(), -1, 64)) : -1, /*to_json=*/true);
}

Value unique(const Call& call) {
  const bool case_sensitive = call.flag(0, "case_sensitive", false);
  const Value attribute = call(1, "attribute");
  std::vector<Value> seen, out;
  for (const Value& item : call.items()) {
    const Value key = sort_key(item, attribute, case_sensitive);
    if (std::ranges::find(seen, key) != seen.end()) continue;
    seen.push_back(key);
    out.push_back(item);
  }
  return list_of(out);
}

Text escaped(const Text& text) {
  Text out;
  for (const char c : text) {
    const std::string_view as = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&#34;" : c == '\'' ? "&#39;" : "";
    out += as.empty() ? std::string_view(&c, 1) : as;
  }
  return out;
}

Value call_named(const Call& call, const Text& kind, const Text& name, const Value& value, const Arguments& more) {
  const Value function = call.context()->get(Value(kind + name));
  if (!function.is_callable()) fail(fmt::format("Unknown {}: {}", kind == "| " ? "filter" : "test", name));
  Arguments arguments{{value}, more.kwargs};
  arguments.args.insert(arguments.args.end(), more.args.begin(), more.args.end());
  return function.call(call.context(), arguments);
}

/// select, reject, and of an attribute: items that pass a test, or that are true.
Value selected(const Call& call, bool wanted, bool of_attribute) {
  const std::size_t place = of_attribute ? 1 : 0;
  const Value test = call(place);
  std::vector<Value> out;
  for (const Value& item : call.items()) {
    const Value value = of_attribute ? attribute_of(item, call(0)) : item;
    const bool passes =
        test.is_undefined() ? value.to_bool() : call_named(call, "is ", test.to_str(), value, call.rest(place + 1)).to_bool();
    if (passes == wanted) out.push_back(item);
  }
  return list_of(out);
}

Value mapped(const Call& call) {
  const Value attribute = call.named("attribute"), otherwise = call.named("default");
  std::vector<Value> out;
  for (const Value& item : call.items()) {
    if (attribute.is_undefined()) {
      out.push_back(call_named(call, "| ", call.text(0), item, call.rest(1)));
    } else {
      const Value found = attribute_of(item, attribute);
      out.push_back(found.is_undefined() ? otherwise : found);
    }
  }
  return list_of(out);
}

Value pairs_of(const Call& call) {
  if (call.value().is_undefined()) return Value::array();
  Value mapping = call.value();
  if (!mapping.is_object()) fail("items: can only get item pairs from a mapping");
  std::vector<Value> out;
  for (const Value& key : mapping.keys()) out.push_back(Value::tuple({key, mapping.at(key)}));
  return list_of(out);
}

/// In a field of so many characters: -1 to its left, 0 in the middle, as Python rounds it, 1 to its right.
Text placed(const Text& text, std::int64_t width, const Text& fill, int where) {
  constexpr std::int64_t kMost = 1000000;
  if (width > kMost) fail(fmt::format("expected a width of at most {}, got {}", kMost, width));
  if (characters(fill).size() != 1) fail("expected one character to fill with, got " + Value(fill).dump());
  const auto size = static_cast<std::int64_t>(characters(text).size());
  if (width <= size) return text;
  const std::int64_t room = width - size;
  const std::int64_t before = where < 0 ? 0 : where > 0 ? room : room / 2 + (room & width & 1);
  Text left, right;
  for (std::int64_t i = 0; i < room; ++i) (i < before ? left : right) += fill;
  return left + text + right;
}

/// What "format" puts into its text: values by place, or by name.
Value format_values(const Call& call) {
  const Arguments given = call.rest(0);
  if (!given.args.empty() && !given.kwargs.empty()) fail("format: expected values by place or by name, got both");
  if (given.kwargs.empty()) return Value::tuple(given.args);
  Value out = Value::object();
  for (const auto& [name, value] : given.kwargs) out.set(Value(name), value);
  return out;
}

Value reversed(const Call& call) {
  std::vector<Value> items = call.items();
  std::ranges::reverse(items);
  if (!call.value().is_string()) return list_of(items);
  Text out;
  for (const Value& c : items) out += c.get<Text>();
  return out;
}

std::int64_t words_in(const Text& text) {
  std::int64_t n = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool word = is_word(next_character(text, at));
    n += word && !in_word;
    in_word = word;
  }
  return n;
}

Value with_default(const Call& call) {
  const Value v = call.value(), otherwise = call(0, "default_value");
  if (!v.is_undefined() && !(call.flag(1, "boolean", false) && !v.to_bool())) return v;
  return otherwise.is_undefined() ? Value("") : otherwise;
}

Value end_of(const Call& call, bool last) {
  const std::vector<Value> items = call.items();
  return items.empty() ? Value() : last ? items.back() : items.front();
}

Value length(const Call& call) { return Value(static_cast<std::int64_t>(call.items().size())); }

Value replaced(const Call& call) {
  const Value most = call(2, "count");
  return replaced(call.text(), call.text(0, "old"), call.text(1, "new"), most.is_null() ? -1 : call.whole(2, "count", -1));
}

Value absolute(const Call& call) {
  if (!call.value().is_real()) fail("abs: expected a number, got " + call.value().dump());
  return call.value() < Value(std::int64_t(0)) ? -call.value() : call.value();
}

bool breaks_title(const Text& c) { return is_space(c) || std::string_view("-({[<").find(c) != std::string_view::npos; }

using Function = Value (*)(const Call&);
struct Named {
  const char* name;
  Function function;
};

constexpr Named kFilters[] = {
    {"abs", absolute},
    {"attr", [](const Call& c) { return Value(c.value()).get(c(0, "name")); }},
    {"capitalize", [](const Call& c) { return Value(capitalized(c.text())); }},
    {"center", [](const Call& c) { return Value(placed(c.text(), c.whole(0, "width", 80), " ", 0)); }},
    {"count", length},
    {"d", with_default},
    {"default", with_default},
    {"dictsort", dict_sorted},
    {"e", [](const Call& c) { return Value(escaped(c.text())); }},
    {"escape", [](const Call& c) { return Value(escaped(c.text())); }},
    {"first", [](const Call& c) { return end_of(c, false); }},
    {"float", as_real},
    {"format", [](const Call& c) { return Value(c.text()) % format_values(c); }},
    {"indent", indented},
    {"int", as_whole},
    {"items", pairs_of},
    {"join", joined},
    {"last", [](const Call& c) { return end_of(c, true); }},
    {"length", length},
    {"list", [](const Call& c) { return list_of(c.items()); }},
    {"lower", [](const Call& c) { return Value(lower(c.text())); }},
    {"map", mapped},
    {"max", [](const Call& c) { return extreme(c, true); }},
    {"min", [](const Call& c) { return extreme(c, false); }},
    {"reject", [](const Call& c) { return selected(c, false, false); }},
    {"rejectattr", [](const Call& c) { return selected(c, false, true); }},
    {"replace", replaced},
    {"reverse", reversed},
    {"round", rounded},
    {"safe", [](const Call& c) { return Value(c.text()); }},
    {"select", [](const Call& c) { return selected(c, true, false); }},
    {"selectattr", [](const Call& c) { return selected(c, true, true); }},
    {"sort", sorted},
    {"string", [](const Call& c) { return Value(c.text()); }},
    {"sum", summed},
    {"title", [](const Call& c) { return Value(titled(c.text(), breaks_title)); }},
    {"tojson", as_json},
    {"trim", [](const Call& c) { return Value(stripped(c.text(), c(0, "chars"), true, true)); }},
    {"unique", unique},
    {"upper", [](const Call& c) { return Value(upper(c.text())); }},
    {"wordcount", [](const Call& c) { return Value(words_in(c.text())); }},
};

bool is_in(const Value& value, const Value& container) { return minja::in(value, container); }

constexpr Named kTests[] = {
    {"boolean", [](const Call& c) { return Value(c.value().is_boolean()); }},
    {"callable", [](const Call& c) { return Value(c.value().is_callable()); }},
    {"defined", [](const Call& c) { return Value(!c.value().is_undefined()); }},
    {"divisibleby", [](const Call& c) { return Value((c.value() % c(0, "num")) == Value(std::int64_t(0))); }},
    {"even", [](const Call& c) { return Value((c.value() % Value(std::int64_t(2))) == Value(std::int64_t(0))); }},
    {"false", [](const Call& c) { return Value(c.value().is_boolean() && !c.value().to_bool()); }},
    {"float", [](const Call& c) { return Value(c.value().is_number_float()); }},
    {"in", [](const Call& c) { return Value(is_in(c.value(), c(0, "seq"))); }},
    {"integer", [](const Call& c) { return Value(c.value().is_number_integer()); }},
    {"iterable", [](const Call& c) { return Value(c.value().is_iterable() || c.value().is_undefined()); }},
    {"lower", [](const Call& c) { return Value(lower(c.text()) == c.text() && upper(c.text()) != c.text()); }},
    {"mapping", [](const Call& c) { return Value(c.value().is_object() && !c.value().is_callable()); }},
    {"none", [](const Call& c) { return Value(c.value().is_none()); }},
    {"number", [](const Call& c) { return Value(c.value().is_real()); }},
    {"odd", [](const Call& c) { return Value((c.value() % Value(std::int64_t(2))) == Value(std::int64_t(1))); }},
    {"sameas", [](const Call& c) { return Value(c.value() == c(0, "other")); }},
    {"sequence", [](const Call& c) { return Value(c.value().is_iterable() || c.value().is_undefined()); }},
    {"string", [](const Call& c) { return Value(c.value().is_string()); }},
    {"true", [](const Call& c) { return Value(c.value().is_boolean() && c.value().to_bool()); }},
    {"undefined", [](const Call& c) { return Value(c.value().is_undefined()); }},
    {"upper", [](const Call& c) { return Value(upper(c.text()) == c.text() && lower(c.text()) != c.text()); }},
};

Value is_equal(const Call& c) { return Value(c.value() == c(0)); }
Value is_other(const Call& c) { return Value(c.value() != c(0)); }
Value is_less(const Call& c) { return Value(c.value() < c(0)); }
Value is_at_most(const Call& c) { return Value(c.value() <= c(0)); }
Value is_greater(const Call& c) { return Value(c.value() > c(0)); }
Value is_at_least(const Call& c) { return Value(c.value() >= c(0)); }

constexpr Named kComparisons[] = {
    {"eq", is_equal},   {"equalto", is_equal},       {"==", is_equal},  {"ne", is_other},    {"!=", is_other},
    {"lt", is_less},    {"lessthan", is_less},       {"<", is_less},    {"le", is_at_most},  {"<=", is_at_most},
    {"gt", is_greater}, {"greaterthan", is_greater}, {">", is_greater}, {"ge", is_at_least}, {">=", is_at_least},
};

/// Begins or ends with the string, or with one of a list of them.
bool has_edge(const Call& call, bool begin) {
  const Text text = call.text();
  const auto has = [&](const Value& edge) {
    if (!edge.is_string()) fail("startswith and endswith expect strings");
    return begin ? text.starts_with(edge.get<Text>()) : text.ends_with(edge.get<Text>());
  };
  bool any = false;
  if (!call(0).is_array()) return has(call(0));
  call(0).for_each([&](Value& edge) { any = any || has(edge); });
  return any;
}

/// In characters; -1: it is not there.
Value found_in(const Call& call, bool last) {
  const Text text = call.text();
  const std::size_t at = last ? text.rfind(call.text(0)) : text.find(call.text(0));
  return Value(at == Text::npos ? std::int64_t(-1) : static_cast<std::int64_t>(characters(text.substr(0, at)).size()));
}

Value times_in(const Call& call) {
  const Text text = call.text(), part = call.text(0);
  if (part.empty()) return Value(static_cast<std::int64_t>(characters(text).size()) + 1);
  std::int64_t n = 0;
  for (std::size_t at = text.find(part); at != Text::npos; at = text.find(part, at + part.size())) ++n;
  return Value(n);
}

/// There are characters, and each is of a kind.
Value all_of(const Call& call, bool (*is)(const Text&)) {
  const std::vector<Text> chars = characters(call.text());
  return Value(!chars.empty() && std::ranges::all_of(chars, is));
}

bool is_digit(const Text& c) {
  return c.size() == 1 ? c[0] >= '0' && c[0] <= '9' : [&] {
    std::size_t at = 0;
    return is_number(next_character(c, at));
  }();
}
bool is_alpha(const Text& c) { return is_letter(c); }
bool is_alnum(const Text& c) { return is_letter(c) || is_digit(c); }
bool is_blank(const Text& c) { return is_space(c); }

Value without_edge(const Call& call, bool begin) {
  const Text text = call.text(), edge = call.text(0);
  if (begin) return Value(text.starts_with(edge) ? text.substr(edge.size()) : text);
  return Value(text.ends_with(edge) ? text.substr(0, text.size() - edge.size()) : text);
}

Value joined_by(const Call& call) {
  Text out;
  bool first = true;
  const Value items = call(0);
  if (!items.is_iterable()) fail("join: expected a list, got " + items.dump());
  items.for_each([&](Value& item) {
    if (!item.is_string()) fail("join: expected strings, got " + item.dump());
    if (!first) out += call.text();
    first = false;
    out += item.get<Text>();
  });
  return out;
}

template <int where>
Value placed_in(const Call& call) {
  if (call.size() == 0) fail("expected a width");
  return Value(placed(call.text(), call.whole(0, "width", 0), call.size() > 1 ? call.text(1) : " ", where));
}

/// Zeros behind the sign.
Value filled_with_zeros(const Call& call) {
  const Text text = call.text();
  const bool sign = text.starts_with('+') || text.starts_with('-');
  const std::int64_t width = std::max<std::int64_t>(0, call.whole(0, "width", 0)) - (sign ? 1 : 0);
  return Value((sign ? text.substr(0, 1) : Text()) + placed(sign ? text.substr(1) : text, width, "0", 1));
}

/// Before, the separator itself, after; where it is not there, the whole at one end.
Value parted(const Call& call, bool last) {
  const Text text = call.text(), separator = call.text(0);
  if (separator.empty()) fail("partition: empty separator");
  const std::size_t at = last ? text.rfind(separator) : text.find(separator);
  if (at == Text::npos) return last ? Value::tuple({"", "", text}) : Value::tuple({text, "", ""});
  return Value::tuple({text.substr(0, at), separator, text.substr(at + separator.size())});
}

constexpr Named kMethods[] = {
    {"capitalize", [](const Call& c) { return Value(capitalized(c.text())); }},
    {"center", placed_in<0>},
    {"count", times_in},
    {"endswith", [](const Call& c) { return Value(has_edge(c, false)); }},
    {"find", [](const Call& c) { return found_in(c, false); }},
    {"isalnum", [](const Call& c) { return all_of(c, is_alnum); }},
    {"isalpha", [](const Call& c) { return all_of(c, is_alpha); }},
    {"isdigit", [](const Call& c) { return all_of(c, is_digit); }},
    {"islower", [](const Call& c) { return Value(lower(c.text()) == c.text() && upper(c.text()) != c.text()); }},
    {"isspace", [](const Call& c) { return all_of(c, is_blank); }},
    {"isupper", [](const Call& c) { return Value(upper(c.text()) == c.text() && lower(c.text()) != c.text()); }},
    {"join", joined_by},
    {"ljust", placed_in<-1>},
    {"lower", [](const Call& c) { return Value(lower(c.text())); }},
    {"lstrip", [](const Call& c) { return Value(stripped(c.text(), c(0), true, false)); }},
    {"partition", [](const Call& c) { return parted(c, false); }},
    {"removeprefix", [](const Call& c) { return without_edge(c, true); }},
    {"removesuffix", [](const Call& c) { return without_edge(c, false); }},
    {"replace", replaced},
    {"rfind", [](const Call& c) { return found_in(c, true); }},
    {"rjust", placed_in<1>},
    {"rpartition", [](const Call& c) { return parted(c, true); }},
    {"rsplit", [](const Call& c) { return list_of(split(c.text(), c(0, "sep"), c.whole(1, "maxsplit", -1), true)); }},
    {"rstrip", [](const Call& c) { return Value(stripped(c.text(), c(0), false, true)); }},
    {"split", [](const Call& c) { return list_of(split(c.text(), c(0, "sep"), c.whole(1, "maxsplit", -1), false)); }},
    {"splitlines", [](const Call& c) { return list_of(lines_of(c.text())); }},
    {"startswith", [](const Call& c) { return Value(has_edge(c, true)); }},
    {"strip", [](const Call& c) { return Value(stripped(c.text(), c(0), true, true)); }},
    {"title", [](const Call& c) { return Value(titled(c.text(), [](const Text& x) { return !is_letter(x); })); }},
    {"upper", [](const Call& c) { return Value(upper(c.text())); }},
    {"zfill", filled_with_zeros},
};

Value date_now(const ContextPtr&, Arguments& arguments) {
  arguments.expectArgs("strftime_now", {1, 1}, {0, 0});
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[256];
  const std::size_t size = std::strftime(text, sizeof text, arguments.args[0].get<Text>().c_str(), &local);
  return Value(Text(text, size));
}

void add(Context& context, const Text& kind, std::span<const Named> functions) {
  for (const Named& one : functions)
    context.set(Value(kind + one.name),
                Value::callable([&one](const ContextPtr& from, Arguments& given) { return one.function(Call(one.name, from, given)); }));
}

}  // namespace

void add_chat_functions(minja::Context& context) {
  add(context, "| ", kFilters);
  add(context, "is ", kTests);
  add(context, "is ", kComparisons);
  add(context, "str.", kMethods);
  context.set("strftime_now", Value::callable(date_now));
}

}  // namespace kvscope
