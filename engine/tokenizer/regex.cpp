// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/error.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

constexpr std::size_t kMaxPatternBytes = 64 << 10;
constexpr std::uint32_t kMaxMatchSteps = 10'000'000;  // of one match: a pattern out of a file may be made to never end
constexpr std::uint32_t kMaxHeapKiB = 64 << 10;
constexpr std::size_t kMaxJitStack = 1 << 20;

template <auto free>
struct Free {
  void operator()(auto* p) const { free(p); }
};

/// What one thread needs for matching, whichever the expression.
struct Workspace {
  std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>> context{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, Free<pcre2_jit_stack_free>> stack{pcre2_jit_stack_create(32 << 10, kMaxJitStack, nullptr)};

  Workspace() {
    if (!data || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), kMaxMatchSteps);
    pcre2_set_heap_limit(context.get(), kMaxHeapKiB);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

[[noreturn]] void refuse(const std::string& pattern, const std::string& where, const std::string& why) {
  throw Error(fmt::format("{}: regular expression {}: {}", where, quote_name(pattern), why));
}

// The property White_Space: PCRE2's \s has U+180E as well, which has not had it since Unicode 6.3.
constexpr std::string_view kWhiteSpace = R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// Word characters of the library that the files are written for: PCRE2's \w has no marks, and other numbers.
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

/// The pattern as PCRE2 reads it. The files are written for another library: what it would read as something else is refused.
class Translation {
 public:
  Translation(const std::string& pattern, const std::string& where) : pattern_(pattern), where_(where) {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\' && at_ + 1 < pattern_.size())
        escape();
      else if (in_class_)
        class_member();
      else
        plain();
    }
  }

  std::string take() { return std::move(out_); }

 private:
  std::string_view rest() const { return std::string_view(pattern_).substr(at_); }

  void copy(std::size_t bytes) {
    out_ += rest().substr(0, bytes);
    at_ += bytes;
  }

  void escape() {
    const char letter = pattern_[at_ + 1];
    if (!in_class_) begin_operand();
    if (letter == 's' || letter == 'S') {
      if (in_class_)
        out_ += letter == 's' ? kWhiteSpace : R"(\S\x{180e})";
      else
        out_ += fmt::format("[{}{}]", letter == 's' ? "" : "^", kWhiteSpace);
      at_ += 2;
      return;
    }
    if (letter == 'w' || (letter == 'W' && !in_class_)) {
      out_ += in_class_ ? std::string(kWord) : fmt::format("[{}{}]", letter == 'w' ? "" : "^", kWord);
      at_ += 2;
      return;
    }
    if (letter == 'W') refuse(pattern_, where_, "\\W within a set is not supported");
    if (std::string_view("bBQEChHKGRXy").find(letter) != std::string_view::npos)
      refuse(pattern_, where_, fmt::format("\\{} is not supported", letter));
    const bool in_braces = std::string_view("pPxo").find(letter) != std::string_view::npos && rest().substr(2).starts_with('{');
    copy(in_braces ? std::min(rest().find('}'), rest().size() - 1) + 1 : 2);
  }

  void class_member() {
    if (rest().starts_with("&&")) refuse(pattern_, where_, "intersections of sets (&&) are not supported");
    if (rest().starts_with("[:")) {
      const std::size_t close = rest().find(":]");
      const std::string_view name = close == std::string_view::npos ? std::string_view() : rest().substr(2, close - 2);
      for (const char* other : {"alnum", "graph", "print", "punct", "word"})  // they hold other characters there
        if (name == other || (name.starts_with('^') && name.substr(1) == other))
          refuse(pattern_, where_, fmt::format("[:{}:] is not supported", other));
      if (name == "alpha") {
        out_ += R"(\p{Alphabetic})";
        at_ += close + 2;
        return;
      }
      if (close != std::string_view::npos) return copy(close + 2);
    }
    if (pattern_[at_] == '[') refuse(pattern_, where_, "sets within sets are not supported");
    if (pattern_[at_] == ']') in_class_ = false;
    copy(1);
  }

  void plain() {
    for (const char* word : {"(*", "(?C", "(?R", "(?m", "(?P>", "(?&", "(?("})
      if (rest().starts_with(word)) refuse(pattern_, where_, fmt::format("{} is not supported", word));
    const char next = pattern_[at_];
    if (next == '{') return interval();
    if (next == '*' || next == '+' || next == '?') return repetition();
    if (next == '(') {
      groups_.push_back(out_.size());
      return copy(rest().starts_with("(?") ? 2 : 1);
    }
    if (next == ')' && !groups_.empty()) {
      operand_ = groups_.back();
      repeated_ = false;
      groups_.pop_back();
    } else if (next != '|' && next != ')' && (next & 0xc0) != 0x80) {
      begin_operand();
    }
    if (next == '[') {
      in_class_ = true;
      copy(rest().starts_with("[^") ? 2 : 1);
      if (rest().starts_with(']')) copy(1);  // a bracket that comes first is a plain one
      return;
    }
    copy(1);
  }

  void begin_operand() {
    operand_ = out_.size();
    repeated_ = false;
  }

  /// What is repeated so far becomes one thing. Otherwise PCRE2 would take what follows for a way of matching the repetition, or refuse it.
  void enclose() {
    if (operand_ == kNone) return;
    out_.insert(operand_, "(?:");
    out_ += ')';
    repeated_ = false;
  }

  /// *, + or ?, with a ? (as few as do) or a + (none given back) behind it.
  void repetition() {
    if (repeated_) enclose();
    copy(rest().size() > 1 && (rest()[1] == '?' || rest()[1] == '+') ? 2 : 1);
    repeated_ = true;
  }

  /// {n}, {n,}, {n,m} and {,m}; any other brace is itself. A + behind one, and a ? behind {n}, are another repetition there, no other way
  /// of matching this one.
  void interval() {
    const auto digits_end = [&](std::size_t i) { return std::min(rest().find_first_not_of("0123456789", i), rest().size()); };
    const std::size_t least_end = digits_end(1);
    const bool has_comma = rest().substr(least_end).starts_with(',');
    const std::size_t end = has_comma ? digits_end(least_end + 1) : least_end;
    if (!rest().substr(end).starts_with('}') || end < (has_comma ? 3 : 2)) {
      begin_operand();
      out_ += "\\{";
      ++at_;
      return;
    }
    if (repeated_) enclose();
    out_ += fmt::format("{{{}", least_end == 1 ? "0" : "");
    ++at_;
    copy(end);
    repeated_ = true;
    if (rest().starts_with('+') || (rest().starts_with('?') && !has_comma)) enclose();
    if (rest().starts_with('?') && has_comma) copy(1);
  }

  static constexpr std::size_t kNone = std::string::npos;

  const std::string& pattern_;
  const std::string& where_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
  std::size_t operand_ = kNone;      // of a repetition that follows: where it begins in out_
  bool repeated_ = false;            // and that it is a repetition itself
  std::vector<std::size_t> groups_;  // that are open: the same
};

}  // namespace

struct Regex::Compiled {
  std::unique_ptr<pcre2_code, Free<pcre2_code_free>> code;
  bool jit = false;
  std::string pattern, where;
};

Regex::Regex(const std::string& pattern, const std::string& where) : compiled_(std::make_unique<Compiled>()) {
  if (pattern.size() > kMaxPatternBytes)
    throw Error(fmt::format("{}: expected a regular expression of at most {} bytes, got {}", where, kMaxPatternBytes, pattern.size()));
  const std::string translated = Translation(pattern, where).take();
  const std::unique_ptr<pcre2_compile_context, Free<pcre2_compile_context_free>> context(pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  compiled_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, context.get()));
  if (!compiled_->code) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    refuse(pattern, where, fmt::format("at byte {}: {}", at, reinterpret_cast<const char*>(message)));
  }
  compiled_->jit = pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE) == 0;
  compiled_->pattern = pattern;
  compiled_->where = where;
}

Regex::~Regex() = default;
Regex::Regex(Regex&& other) noexcept = default;
Regex& Regex::operator=(Regex&& other) noexcept = default;

std::optional<Span> Regex::find(std::string_view text, std::size_t from) const {
  thread_local Workspace workspace;
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (compiled_->jit) {
    result = pcre2_jit_match(compiled_->code.get(), subject, text.size(), from, 0, workspace.data.get(), workspace.context.get());
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
    result = pcre2_match(compiled_->code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, workspace.data.get(),
                         workspace.context.get());
  }
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) refuse(compiled_->pattern, compiled_->where, fmt::format("needs too many steps for this text (error {})", result));
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(workspace.data.get());
  return Span{found[0], found[1]};
}

}  // namespace kvscope
