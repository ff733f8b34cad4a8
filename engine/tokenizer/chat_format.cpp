// SPDX-License-Identifier: Apache-2.0
// "%s: %d" % (name, n) in chat templates, as Python does it.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include <minja/minja.hpp>

namespace minja {
namespace {

using Text = std::string;
constexpr int kMostWidth = 1000000;

[[noreturn]] void fail(const Text& what) { throw std::runtime_error("%: " + what); }

/// "%(name)-08.3f" from its % on.
struct Conversion {
  Text name;
  bool named = false, left = false, zeros = false, sign = false, blank = false, alternate = false;
  int width = 0, precision = -1;
  char kind = '\0';
};

/// The values that a text takes: a tuple's one after the other, or whatever it is as the only one.
class Given {
 public:
  explicit Given(const Value& values) : values_(values) {}

  Value next() {
    const std::size_t n = values_.is_tuple() ? values_.size() : 1;
    if (used_ >= n) fail("not enough arguments for format string");
    ++used_;
    return values_.is_tuple() ? values_.at(used_ - 1) : values_;
  }
  Value named(const Text& name) {
    if (!values_.is_object()) fail("format requires a mapping");
    if (!values_.contains(name)) fail("there is no '" + name + "' in the mapping");
    used_ = 1;
    return values_.get(Value(name));
  }
  void check_all_used() const {
    if (values_.is_tuple() ? used_ < values_.size() : used_ == 0 && !values_.is_object() && !values_.is_array())
      fail("not all arguments converted during string formatting");
  }

 private:
  Value values_;
  std::size_t used_ = 0;
};

class Reader {
 public:
  Reader(std::string_view text, Given& given) : text_(text), given_(given) {}

  /// Behind a "%".
  Conversion conversion(std::size_t& at) {
    Conversion out;
    if (peek(at) == '(') {
      const std::size_t begin = ++at;
      for (int open = 1; open > 0; ++at) open += peek(at) == '(' ? 1 : peek(at) == ')' ? -1 : 0;
      out.named = true;
      out.name = text_.substr(begin, at - 1 - begin);
    }
    for (;; ++at) {
      const char c = peek(at);
      bool* const flag = c == '-' ? &out.left : c == '0' ? &out.zeros : c == '+' ? &out.sign : c == ' ' ? &out.blank : &out.alternate;
      if (flag == &out.alternate && c != '#') break;
      *flag = true;
    }
    out.width = number(at);
    if (out.width < 0) out.left = true, out.width = -out.width;
    if (peek(at) == '.') out.precision = std::max(0, number(++at));
    while (peek(at) == 'h' || peek(at) == 'l' || peek(at) == 'L') ++at;
    out.kind = peek(at++);
    return out;
  }

 private:
  char peek(std::size_t at) const {
    if (at >= text_.size()) fail("incomplete format");
    return text_[at];
  }
  int number(std::size_t& at) {
    if (peek(at) == '*') {
      const Value v = (++at, given_.next());
      if (!v.is_whole() || std::abs(v.real()) > kMostWidth) fail("expected a width of at most a million for *");
      return static_cast<int>(v.whole());
    }
    int out = 0;
    for (; peek(at) >= '0' && peek(at) <= '9'; ++at)
      if ((out = 10 * out + (peek(at) - '0')) > kMostWidth) fail("expected a width of at most a million");
    return out;
  }

  std::string_view text_;
  Given& given_;
};

Text of_whole(const Conversion& c, const Value& value) {
  if (!value.is_real() || (c.kind != 'd' && c.kind != 'i' && c.kind != 'u' && !value.is_whole()))
    fail(fmt::format("%{}: expected a number, got {}", c.kind, value.dump()));
  if (!value.is_whole() && !(std::abs(value.real()) < 9e18)) fail("expected a number of at most 64 bits");
  const std::int64_t n = value.is_whole() ? value.whole() : static_cast<std::int64_t>(value.real());
  const std::uint64_t size = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  Text digits = c.kind == 'o' ? fmt::format("{:o}", size) : c.kind == 'x' ? fmt::format("{:x}", size) : fmt::format("{}", size);
  if (c.kind == 'X') digits = fmt::format("{:X}", size);
  if (c.precision > static_cast<int>(digits.size())) digits.insert(0, static_cast<std::size_t>(c.precision) - digits.size(), '0');
  const char* prefix = !c.alternate ? "" : c.kind == 'o' ? "0o" : c.kind == 'x' ? "0x" : c.kind == 'X' ? "0X" : "";
  return (n < 0 ? "-" : c.sign ? "+" : c.blank ? " " : "") + Text(prefix) + digits;
}

Text of_real(const Conversion& c, const Value& value) {
  if (!value.is_real()) fail(fmt::format("%{}: must be real number, not {}", c.kind, value.dump()));
  const char kind[] = {c.kind == 'F' && std::isfinite(value.real()) ? 'f' : c.kind, '\0'};
  return fmt::format(fmt::runtime(Text("{:") +
                                  (c.sign    ? "+"
                                   : c.blank ? " "
                                             : "") +
                                  (c.alternate ? "#" : "") + ".{}" + kind + "}"),
                     value.real(), c.precision < 0 ? 6 : c.precision);
}

/// In characters, zeros behind sign and prefix.
Text padded(const Conversion& c, Text text, bool number) {
  const std::size_t size = characters(text).size(), width = static_cast<std::size_t>(c.width);
  if (size >= width) return text;
  if (c.left) return text + Text(width - size, ' ');
  if (!c.zeros || !number) return Text(width - size, ' ') + text;
  std::size_t at = text.find_first_not_of("+- ");
  if (c.alternate && text.size() > at + 1 && text[at] == '0' && text[at + 1] >= 'A') at += 2;
  return text.insert(at, width - size, '0');
}

Text shown(const Conversion& c, const Value& value) {
  switch (c.kind) {
    case 's':
    case 'r':
    case 'a': {
      const Text text = c.kind != 's' ? value.dump() : value.is_undefined() ? Text() : value.to_str();
      std::vector<Text> chars = characters(text);
      if (c.precision < 0 || chars.size() <= static_cast<std::size_t>(c.precision)) return text;
      chars.resize(static_cast<std::size_t>(c.precision));
      return fmt::format("{}", fmt::join(chars, ""));
    }
    case 'c':
      if (!value.is_string() || value.size() != 1) fail("%c: expected one character, got " + value.dump());
      return value.to_str();
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return of_whole(c, value);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return of_real(c, value);
    default:
      fail(fmt::format("unsupported format character '{}'", c.kind));
  }
}

}  // namespace

std::string formatted(const std::string& text, const Value& arguments) {
  Given given(arguments);
  Reader reader(text, given);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      out += text[at++];
      continue;
    }
    const Conversion c = reader.conversion(++at);
    if (c.kind == '%') {
      out += '%';
      continue;
    }
    const Value value = c.named ? given.named(c.name) : given.next();
    out += padded(c, shown(c, value), std::string_view("sra").find(c.kind) == std::string_view::npos && c.kind != 'c');
  }
  given.check_all_used();
  return out;
}

}  // namespace minja
