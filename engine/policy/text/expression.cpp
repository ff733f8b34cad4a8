// SPDX-License-Identifier: Apache-2.0
#include "policy/text/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/from_chars.h"

namespace kvscope {

/// Recursive descent; writes the steps of an expression in the order in which they are carried out.
class ExpressionParser {
 public:
  ExpressionParser(Expression& out, std::span<const std::string_view> names) : out_(out), text_(out.text_), names_(names) {}

  void parse() {
    comparison();
    if (!at_end()) refuse("an operator or the end");
  }

 private:
  using Code = Expression::Code;
  struct Function {
    std::string_view name;
    Code code;
    bool folds;  // two or more arguments, taken together one by one
  };
  static constexpr Function kFunctions[] = {{"min", Code::min, true},  {"max", Code::max, true},    {"log", Code::log, false},
                                            {"exp", Code::exp, false}, {"sqrt", Code::sqrt, false}, {"abs", Code::abs, false}};

  /// Counts how deep the text is nested while it lives.
  class Level {
   public:
    explicit Level(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.level_ > Expression::kDeepest)
        parser_.refuse(fmt::format("at most {} levels of parentheses, signs and powers", Expression::kDeepest));
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  void comparison() {
    struct Sign {
      std::string_view text;
      Code code;
    };
    static constexpr Sign kSigns[] = {{"<=", Code::less_equal}, {">=", Code::greater_equal}, {"==", Code::equal},
                                      {"!=", Code::not_equal},  {"<", Code::less},           {">", Code::greater}};
    sum();
    for (const Sign& sign : kSigns)
      if (takes(sign.text)) {
        sum();
        emit({sign.code});
        return;
      }
  }
  void sum() {
    product();
    while (true) {
      if (takes("+")) {
        product();
        emit({Code::add});
      } else if (takes("-")) {
        product();
        emit({Code::subtract});
      } else {
        return;
      }
    }
  }
  void product() {
    factor();
    while (true) {
      if (takes("*")) {
        factor();
        emit({Code::multiply});
      } else if (takes("/")) {
        factor();
        emit({Code::divide});
      } else {
        return;
      }
    }
  }
  /// The sign binds weaker than the power: -x^2 = -(x^2).
  void factor() {
    const Level level(*this);
    if (takes("-")) {
      factor();
      emit({Code::negate});
      return;
    }
    primary();
    if (takes("^")) {
      factor();
      emit({Code::power});
    }
  }
  void primary() {
    skip_space();
    const char c = at_end() ? '\0' : text_[at_];
    if (takes("(")) {
      comparison();
      if (!takes(")")) refuse("')'");
    } else if (is_digit(c) || c == '.') {
      number();
    } else if (is_letter(c)) {
      name();
    } else {
      refuse("a quantity, a number, a function or '('");
    }
  }
  void number() {
    double value = 0;
    const char* first = text_.data() + at_;
    const auto [stop, error] = from_chars(first, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) refuse("a number that a double can hold", static_cast<std::size_t>(stop - first));
    if (error != std::errc() || (stop < text_.data() + text_.size() && (is_letter(*stop) || *stop == '.'))) refuse("a number");
    at_ += static_cast<std::size_t>(stop - first);
    emit({Code::number, 0, value});
  }
  void name() {
    const std::size_t start = at_;
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view word = std::string_view(text_).substr(start, end - start);
    if (const auto function = std::ranges::find(kFunctions, word, &Function::name); function != std::end(kFunctions)) {
      at_ = end;
      arguments(*function);
      return;
    }
    const auto column = std::ranges::find(names_, word);
    if (column == names_.end())
      refuse(fmt::format("one of the quantities {} or the functions {}", fmt::join(names_, " "), Expression::functions()));
    at_ = end;
    const auto i = static_cast<std::size_t>(column - names_.begin());
    out_.uses_[i] = 1;
    emit({Code::column, i});
  }
  void arguments(const Function& function) {
    if (!takes("(")) refuse(fmt::format("'(' after {}", function.name));
    comparison();
    if (function.folds && (skip_space(), at_end() || text_[at_] != ','))
      refuse(fmt::format("',' and one more argument of {}", function.name));
    if (!function.folds) emit({function.code});
    while (function.folds && takes(",")) {
      comparison();
      emit({function.code});
    }
    if (!takes(")")) refuse("')'");
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool takes(std::string_view sign) {
    skip_space();
    if (!std::string_view(text_).substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void emit(Expression::Step step) {
    const bool pushes = step.code == Code::number || step.code == Code::column;
    const bool keeps = step.code == Code::negate || step.code >= Code::log;  // one value for one
    if (pushes)
      out_.deepest_ = std::max(out_.deepest_, ++stack_);
    else if (!keeps)
      --stack_;
    out_.steps_.push_back(step);
  }
  /// n: bytes that are the fault; 0: the word that begins here.
  [[noreturn]] void refuse(const std::string& expected, std::size_t n = 0);

  Expression& out_;
  const std::string& text_;
  std::span<const std::string_view> names_;
  std::size_t at_ = 0;
  std::size_t stack_ = 0;
  int level_ = 0;
};

void ExpressionParser::refuse(const std::string& expected, std::size_t n) {
  constexpr std::size_t kAround = 20;
  const auto plain = [this](std::size_t from, std::size_t length) {  // a cut inside a UTF-8 character would leave a broken one
    std::string part = text_.substr(from, length);
    std::ranges::replace_if(
        part, [](char c) { return c < 0x20 || c == 0x7f; }, '?');
    return part;
  };
  std::size_t end = at_ + n;
  while (n == 0 && end < text_.size() && end < at_ + kAround && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) ++end;
  const std::string got = at_ < text_.size() ? fmt::format("'{}'", plain(at_, std::max(end, at_ + 1) - at_)) : "the end";
  const std::size_t from = at_ > kAround ? at_ - kAround : 0;
  throw UsageError(fmt::format("expected {}, got {} at column {}: '{}{}\u2038{}{}'", expected, got, at_ + 1, from > 0 ? "..." : "",
                               plain(from, at_ - from), plain(at_, kAround), at_ + kAround < text_.size() ? "..." : ""));
}

Expression::Expression(std::string_view text, std::span<const std::string_view> names) : text_(text), uses_(names.size(), 0) {
  if (text.size() > kLongest)
    throw UsageError(fmt::format("expected an expression of at most {} characters, got {}", kLongest, text.size()));
  ExpressionParser(*this, names).parse();
}

namespace {

/// The values of some slots, one block of memory each: few enough that they stay in the cache, enough for loops with vectors.
class BlockStack {
 public:
  static constexpr std::size_t kBlock = 64;  // slots

  explicit BlockStack(std::size_t deepest) : values_(deepest * kBlock) {}

  void begin(std::size_t n_slots) {
    n_ = n_slots;
    depth_ = 0;
  }
  template <class F>
  void push(F value_of) {
    double* top = values_.data() + depth_++ * kBlock;
    for (std::size_t i = 0; i < n_; ++i) top[i] = value_of(i);
  }
  template <class F>
  void replace(F f) {
    double* top = values_.data() + (depth_ - 1) * kBlock;
    for (std::size_t i = 0; i < n_; ++i) top[i] = f(top[i]);
  }
  template <class F>
  void combine(F f) {
    const double* right = values_.data() + --depth_ * kBlock;
    double* left = values_.data() + (depth_ - 1) * kBlock;
    for (std::size_t i = 0; i < n_; ++i) left[i] = f(left[i], right[i]);
  }
  const double* bottom() const { return values_.data(); }

 private:
  std::vector<double> values_;
  std::size_t n_ = 0, depth_ = 0;
};

double smaller(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b); }
double larger(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b); }

/// An operator or a function on what is on top.
template <class Code>
void apply(Code code, BlockStack& stack) {
  switch (code) {
    case Code::number:
    case Code::column:
      break;
    case Code::add:
      stack.combine([](double a, double b) { return a + b; });
      break;
    case Code::subtract:
      stack.combine([](double a, double b) { return a - b; });
      break;
    case Code::multiply:
      stack.combine([](double a, double b) { return a * b; });
      break;
    case Code::divide:
      stack.combine([](double a, double b) { return a / b; });
      break;
    case Code::power:
      stack.combine([](double a, double b) { return std::pow(a, b); });
      break;
    case Code::negate:
      stack.replace([](double a) { return -a; });
      break;
    case Code::less:
      stack.combine([](double a, double b) { return a < b ? 1.0 : 0.0; });
      break;
    case Code::less_equal:
      stack.combine([](double a, double b) { return a <= b ? 1.0 : 0.0; });
      break;
    case Code::greater:
      stack.combine([](double a, double b) { return a > b ? 1.0 : 0.0; });
      break;
    case Code::greater_equal:
      stack.combine([](double a, double b) { return a >= b ? 1.0 : 0.0; });
      break;
    case Code::equal:
      stack.combine([](double a, double b) { return a == b ? 1.0 : 0.0; });
      break;
    case Code::not_equal:
      stack.combine([](double a, double b) { return a != b ? 1.0 : 0.0; });
      break;
    case Code::min:
      stack.combine([](double a, double b) { return smaller(a, b); });
      break;
    case Code::max:
      stack.combine([](double a, double b) { return larger(a, b); });
      break;
    case Code::log:
      stack.replace([](double a) { return std::log(a); });
      break;
    case Code::exp:
      stack.replace([](double a) { return std::exp(a); });
      break;
    case Code::sqrt:
      stack.replace([](double a) { return std::sqrt(a); });
      break;
    case Code::abs:
      stack.replace([](double a) { return std::abs(a); });
      break;
  }
}

}  // namespace

std::vector<double> Expression::evaluate(std::span<const std::span<const double>> columns, std::size_t n) const {
  std::vector<double> out(n);
  BlockStack stack(deepest_);
  for (std::size_t first = 0; first < n; first += BlockStack::kBlock) {
    const std::size_t m = std::min(BlockStack::kBlock, n - first);
    stack.begin(m);
    for (const Step& step : steps_) {
      if (step.code == Code::number) {
        stack.push([&](std::size_t) { return step.number; });
      } else if (step.code == Code::column) {
        stack.push([&](std::size_t i) { return columns[step.column][first + i]; });
      } else {
        apply(step.code, stack);
      }
    }
    std::copy_n(stack.bottom(), m, out.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return out;
}

}  // namespace kvscope
