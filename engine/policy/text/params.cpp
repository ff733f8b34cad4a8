// SPDX-License-Identifier: Apache-2.0
#include "policy/text/params.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/from_chars.h"
#include "policy/rules.h"
#include "policy/text/lane_edits.h"

namespace kvscope {
namespace {

/// The whole text as a finite number, written plainly (digits, point, exponent, minus).
template <class T>
std::optional<T> read_number(std::string_view text) {
  const auto value = number_from<T>(text);
  return value && std::isfinite(static_cast<double>(*value)) ? value : std::nullopt;
}

constexpr char kQuote = '"';

/// Where the first key=value of `rest` ends: at its comma or at the end. A value that begins with a quote ends with one, commas inside.
std::size_t end_of_item(std::string_view rest, std::string_view spec) {
  const std::size_t equals = rest.find('='), comma = std::min(rest.find(','), rest.size());
  if (equals >= comma || equals + 1 == rest.size() || rest[equals + 1] != kQuote) return comma;
  const std::size_t close = rest.find(kQuote, equals + 2);
  if (close == std::string_view::npos)
    throw UsageError(fmt::format("run {}: expected a closing quote after {}, got none", quoted(spec), quoted(rest.substr(0, equals + 2))));
  if (close + 1 < rest.size() && rest[close + 1] != ',')
    throw UsageError(
        fmt::format("run {}: expected a comma or the end after the closing quote, got {}", quoted(spec), quoted(rest.substr(close + 1))));
  return close + 1;
}

/// Where a value ends whose brackets close behind its first comma, as a formula's do; npos: it is no such value.
std::size_t end_of_cut_value(std::string_view rest) {
  int open = 0;
  bool cut = false;
  for (std::size_t i = 0; i < rest.size() && rest[i] != kQuote; ++i) {
    open += rest[i] == '(' ? 1 : rest[i] == ')' ? -1 : 0;
    if (rest[i] == ',' && open <= 0) return cut ? i : std::string_view::npos;
    cut = cut || rest[i] == ',';
    if (i + 1 == rest.size() && cut && open <= 0) return rest.size();
  }
  return std::string_view::npos;
}

/// Refuses a value whose commas stand in brackets and in no quotes, with the run as it can be pasted. begin, end: where it stands in the
/// text.
void refuse_cut_value(std::string_view text, std::string_view spec, std::string_view key, std::size_t begin, std::size_t end) {
  constexpr std::size_t kLongest = 200;
  const std::string_view value = text.substr(begin, end - begin);
  std::string mended = fmt::format("'{}{}{}{}{}'", text.substr(0, begin), kQuote, value, kQuote, text.substr(end));
  const bool pasted = mended.size() <= kLongest && std::ranges::count(mended, '\'') == 2 &&
                      std::ranges::none_of(mended, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!pasted) mended = quoted(fmt::format("{}={}{}{}", key, kQuote, value, kQuote));
  throw UsageError(
      fmt::format("run {}: {}: expected a value with commas in double quotes, got {}; write {}, on a command line in such single quotes",
                  quoted(spec), quoted(key), quoted(value), mended));
}

std::string range_words(double min, double max) { return fmt::format("from {:.12g} to {:.12g}", min, max); }

[[noreturn]] void refuse(const std::string& where, const ParamInfo& param, const std::string& expected, std::string_view got) {
  throw UsageError(
      fmt::format("{}: {}: expected {}, got {}{}{}", where, param.key, expected, quoted(got), param.why.empty() ? "" : ": ", param.why));
}

}  // namespace

void Params::set(std::string_view key, std::string_view value) {
  const auto place = std::ranges::find(values_, key, [](const auto& v) -> std::string_view { return v.first; });
  if (place == values_.end())
    values_.emplace_back(key, value);
  else
    place->second = value;
}

const std::string* Params::find(std::string_view key) const {
  for (const auto& [name, value] : values_)
    if (name == key) return &value;
  return nullptr;
}

const std::string& Params::text(std::string_view key) const {
  static const std::string none;
  const std::string* value = find(key);
  return value ? *value : none;
}

double Params::number(std::string_view key) const {
  const std::optional<double> value = read_number<double>(text(key));
  KVSCOPE_ASSERT(value);
  return *value;
}

double Params::first_number(std::initializer_list<std::string_view> keys) const {
  const auto known = std::ranges::find_if(keys, [this](std::string_view key) { return has(key); });
  KVSCOPE_ASSERT(known != keys.end());
  return number(*known);
}

int Params::count(std::string_view key, int c) const {
  const std::string* value = find(key);
  return value ? count_or_fraction(*value, c) : 0;
}

std::string quoted(std::string_view words) {
  constexpr std::size_t kLongest = 60;
  std::string text = "'";
  for (const char c : words.substr(0, kLongest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  // a cut inside a UTF-8 character would leave a broken one
  if (words.size() > kLongest) {
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    if (text.size() > 1 && static_cast<unsigned char>(text.back()) >= 0xc0) text.pop_back();
    text += fmt::format("...' ({} bytes)", words.size());
    return text;
  }
  return text + "'";
}

LaneSpec split_lane_spec(std::string_view text) {
  LaneSpec out;
  out.text = text;
  out.edits = edits_of(text);
  const std::string_view spec = text.substr(0, edits_begin(text));
  const std::size_t colon = spec.find(':');
  out.name = spec.substr(0, colon);
  if (out.name.empty()) throw UsageError(fmt::format("run {}: expected name[:key=value[,key=value]...], got no policy name", quoted(spec)));
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : spec.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t end = end_of_item(rest, spec), equals = rest.find('=');
    const bool last = end == rest.size();
    const std::string_view item = rest.substr(0, end);
    if (!last && end + 1 == rest.size())
      throw UsageError(fmt::format("run {}: expected key=value behind the last comma, got nothing", quoted(spec)));
    if (equals >= end || equals == 0 || equals + 1 == end)
      throw UsageError(fmt::format("run {}: expected key=value between commas, got {}", quoted(spec), quoted(item)));
    const std::string_view key = item.substr(0, equals);
    std::string_view value = item.substr(equals + 1);
    if (const std::size_t cut = end_of_cut_value(rest.substr(equals + 1)); cut != std::string_view::npos) {
      const std::size_t begin = spec.size() - rest.size() + equals + 1;
      refuse_cut_value(text, spec, key, begin, begin + cut);
    }
    if (value.front() == kQuote) value = value.substr(1, value.size() - 2);
    if (value.empty())
      throw UsageError(fmt::format("run {}: {}: expected a value between the quotes, got none", quoted(spec), quoted(key)));
    if (std::ranges::any_of(out.given, [&](const auto& g) { return g.first == key; }))
      throw UsageError(fmt::format("run {}: key {} comes twice, expected once", quoted(spec), quoted(key)));
    if (out.given.size() == 64) throw UsageError(fmt::format("run {}: expected at most 64 keys, got more", quoted(spec)));
    out.given.emplace_back(key, value);
    rest = last ? std::string_view{} : rest.substr(end + 1);
  }
  return out;
}

std::string join_lane_spec(const LaneSpec& spec) {
  std::string text = spec.name;
  for (std::size_t i = 0; i < spec.given.size(); ++i) {
    const auto& [key, value] = spec.given[i];
    const std::string_view around = value.find_first_of(",@") == std::string::npos ? "" : "\"";
    text += fmt::format("{}{}={}{}{}", i == 0 ? ':' : ',', key, around, value, around);
  }
  return text + text_of(spec.edits);
}

void check_value(const ParamInfo& param, std::string_view value, const std::string& where) {
  switch (param.kind) {
    case ParamInfo::Kind::choice:
      if (std::ranges::find(param.choices, value) == param.choices.end())
        refuse(where, param, fmt::format("one of {}", fmt::join(param.choices, ", ")), value);
      return;
    case ParamInfo::Kind::text: {  // with choices: one of them, or a number
      if (param.choices.empty() || std::ranges::find(param.choices, value) != param.choices.end()) return;
      const std::optional<double> x = read_number<double>(value);
      if (!x || *x < param.min || *x > param.max)
        refuse(where, param, fmt::format("one of {}, or a number {}", fmt::join(param.choices, ", "), range_words(param.min, param.max)),
               value);
      return;
    }
    case ParamInfo::Kind::number: {
      const std::optional<double> x = read_number<double>(value);
      if (!x || *x < param.min || *x > param.max) refuse(where, param, "a number " + range_words(param.min, param.max), value);
      return;
    }
    case ParamInfo::Kind::count_or_fraction:
      if (value.find('.') != std::string_view::npos) {
        const std::optional<double> x = read_number<double>(value);
        if (!x || *x < 0 || *x > 1) refuse(where, param, "a fraction of the budget from 0.0 to 1.0 (a count has no decimal point)", value);
        return;
      }
      [[fallthrough]];
    case ParamInfo::Kind::count: {
      const std::optional<int> x = read_number<int>(value);
      if (!x || *x < param.min || *x > param.max || (param.odd && *x % 2 == 0))
        refuse(where, param, fmt::format("{} {}", param.odd ? "an odd count" : "a count", range_words(param.min, param.max)), value);
      return;
    }
  }
}

}  // namespace kvscope
