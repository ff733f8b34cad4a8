// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Arithmetic over named columns of numbers, written by a user: + - * / ^ (right to left), comparisons < <= > >= == != (1 or 0),
/// parentheses, decimal numbers, and the functions min max (two or more arguments) log exp sqrt abs. No variables, no loops, no state: the
/// same columns give the same result. IEEE arithmetic: 1/0 is infinite, log(-1) is NaN; min and max are NaN where an argument is.
class Expression {
 public:
  static constexpr std::size_t kLongest = 400;  // characters
  static constexpr int kDeepest = 32;           // nested parentheses, signs and powers

  /// names: of the columns. Throws UsageError, which says what was expected at which column and shows the place by a caret.
  Expression(std::string_view text, std::span<const std::string_view> names);

  const std::string& text() const { return text_; }
  /// True if the text names column i: only these are read.
  bool uses(std::size_t i) const { return uses_[i] != 0; }
  /// [n]; columns: as many as there are names, of n numbers where they are used.
  std::vector<double> evaluate(std::span<const std::span<const double>> columns, std::size_t n) const;

  /// The functions by name, for help.
  static std::string_view functions() { return "min max log exp sqrt abs"; }

 private:
  friend class ExpressionParser;
  enum class Code : std::uint8_t {
    number,
    column,
    add,
    subtract,
    multiply,
    divide,
    power,
    negate,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    min,
    max,
    log,
    exp,
    sqrt,
    abs
  };
  struct Step {
    Code code;
    std::size_t column = 0;
    double number = 0;
  };

  std::string text_;
  std::vector<Step> steps_;  // reverse Polish
  std::vector<char> uses_;   // [columns]
  std::size_t deepest_ = 0;  // most values on the stack
};

}  // namespace kvscope
