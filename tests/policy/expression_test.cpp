// SPDX-License-Identifier: Apache-2.0
// What a user may write as a score, what it computes, and how a mistake is pointed at.
#include "policy/text/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kNames[] = {"x", "y", "knorm"};

/// Value at x = 3, y = -2, knorm = 0.5.
double value(std::string_view text) {
  const double x[] = {3}, y[] = {-2}, knorm[] = {0.5};
  const std::span<const double> columns[] = {x, y, knorm};
  return Expression(text, kNames).evaluate(columns, 1).front();
}

std::string expression_refusal(std::string_view text) {
  try {
    const Expression taken(text, kNames);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Expression, ComputesWithTheUsualPrecedence) {
  EXPECT_EQ(value("1+2*3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("8-2-1"), 5) << "from left to right";
  EXPECT_EQ(value("8/2/2"), 2);
  EXPECT_EQ(value("2^3^2"), 512) << "powers from right to left";
  EXPECT_EQ(value("-x^2"), -9) << "the sign after the power";
  EXPECT_EQ(value("2^-1"), 0.5);
  EXPECT_EQ(value("--x"), 3);
  EXPECT_EQ(value("x*-y"), 6);
  EXPECT_EQ(value("1e2 + .5 + 2."), 102.5);
  EXPECT_EQ(value("x * y / knorm"), -12);
}

TEST(Expression, KnowsFunctionsAndComparisons) {
  EXPECT_EQ(value("min(x, y) + max(x, y, 10)"), 8);
  EXPECT_EQ(value("abs(y) + sqrt(4) + exp(0) + log(1)"), 5);
  EXPECT_EQ(value("x > y"), 1);
  EXPECT_EQ(value("x < y"), 0);
  EXPECT_EQ(value("(x >= 3) + (x <= 3) + (x == 3) + (x != 3)"), 3);
  EXPECT_EQ(value("(x > 5) * 100 + (x <= 5) * y"), -2) << "a choice";
}

TEST(Expression, FollowsIeeeArithmetic) {
  EXPECT_EQ(value("1/0"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value("log(0)"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value("0/0")));
  EXPECT_TRUE(std::isnan(value("sqrt(y)")));
  EXPECT_TRUE(std::isnan(value("min(0/0, 1)"))) << "no number is lost in a minimum";
  EXPECT_TRUE(std::isnan(value("max(1, 0/0)")));
  EXPECT_TRUE(std::isnan(value("y^0.5")));
  EXPECT_EQ(value("0/0 == 0/0"), 0);
}

TEST(Expression, TakesAllSlotsAtOnceAndReadsOnlyWhatItNames) {
  std::vector<double> y(200), expected(200);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = 0.25 * static_cast<double>(i) - 9;
    expected[i] = std::max(y[i], 1.0) - 2 * y[i];
  }
  const Expression expression("max(y, 1) - 2 * y", kNames);
  EXPECT_FALSE(expression.uses(0));
  EXPECT_TRUE(expression.uses(1));
  EXPECT_FALSE(expression.uses(2));
  const std::span<const double> columns[] = {{}, y, {}};
  EXPECT_EQ(expression.evaluate(columns, y.size()), expected);
  EXPECT_TRUE(expression.evaluate(columns, 0).empty());
  EXPECT_THAT(Expression("7", kNames).evaluate(columns, 3), ElementsAre(7, 7, 7));
}

TEST(Expression, PointsAtTheMistake) {
  EXPECT_THAT(expression_refusal("x * vnrom / y"),
              AllOf(HasSubstr("expected one of the quantities x y knorm or the functions min max log exp sqrt abs"),
                    HasSubstr("got 'vnrom' at column 5"), HasSubstr("'x * \u2038vnrom / y'")));
  EXPECT_THAT(expression_refusal("x +"), AllOf(HasSubstr("expected a quantity, a number, a function or '('"),
                                               HasSubstr("got the end at column 4"), HasSubstr("'x +\u2038'")));
  EXPECT_THAT(expression_refusal("(x + y"), AllOf(HasSubstr("expected ')'"), HasSubstr("column 7")));
  EXPECT_THAT(expression_refusal("x + y)"), AllOf(HasSubstr("expected an operator or the end, got ')' at column 6")));
  EXPECT_THAT(expression_refusal("x y"), HasSubstr("expected an operator or the end, got 'y' at column 3"));
  EXPECT_THAT(expression_refusal("x < y < 1"), HasSubstr("got '<' at column 7")) << "comparisons do not chain";
  EXPECT_THAT(expression_refusal("log x"), HasSubstr("expected '(' after log, got 'x' at column 5"));
  EXPECT_THAT(expression_refusal("min(x)"), HasSubstr("expected ',' and one more argument of min, got ')' at column 6"));
  EXPECT_THAT(expression_refusal("log(x, y)"), HasSubstr("expected ')', got ',' at column 6"));
  EXPECT_THAT(expression_refusal("2x"), HasSubstr("expected a number, got '2x' at column 1"));
  EXPECT_THAT(expression_refusal("0x10"), HasSubstr("expected a number, got '0x10'"));
  EXPECT_THAT(expression_refusal("1.2.3"), HasSubstr("expected a number, got '1.2.3'"));
  EXPECT_THAT(expression_refusal("X"), HasSubstr("got 'X' at column 1"));
  EXPECT_THAT(expression_refusal("(((((((((((((((((x + y + zzz + x + x + x + x + x"),
              HasSubstr("'...((((((((((((x + y + \u2038zzz + x + x + x + x ...'"));
}

TEST(Expression, SurvivesHostileTexts) {
  using namespace std::string_view_literals;
  EXPECT_THAT(expression_refusal(""), HasSubstr("got the end at column 1"));
  EXPECT_THAT(expression_refusal("   "), HasSubstr("got the end at column 4"));
  EXPECT_THAT(expression_refusal("x\0y"sv), HasSubstr("got '?' at column 2"));
  EXPECT_THAT(expression_refusal("x\ny"), HasSubstr("got '?' at column 2"));
  EXPECT_THAT(expression_refusal("x + \xc3\xa9"), HasSubstr("got '?' at column 5")) << "no broken UTF-8 in the message";
  EXPECT_THAT(expression_refusal("1e999"), HasSubstr("a number that a double can hold, got '1e999'"));
  EXPECT_THAT(expression_refusal("1e-999"), HasSubstr("a number that a double can hold, got '1e-999'"));
  EXPECT_THAT(expression_refusal(std::string(100000, '(')), HasSubstr("at most 400 characters, got 100000"));
  EXPECT_THAT(expression_refusal(std::string(300, '(')), HasSubstr("at most 32 levels"));
  EXPECT_THAT(expression_refusal(std::string(300, '-') + "x"), HasSubstr("at most 32 levels"));
  std::string powers = "x", nested = "x", sum = "x", deep = "x";
  for (int i = 0; i < 60; ++i) powers += "^x";
  for (int i = 0; i < 40; ++i) nested = "min(1," + nested + ")";
  for (int i = 0; i < 199; ++i) sum += "+x";
  for (int i = 0; i < 15; ++i) deep = "(1+" + deep + ")";
  EXPECT_THAT(expression_refusal(powers), HasSubstr("at most 32 levels"));
  EXPECT_THAT(expression_refusal(nested), HasSubstr("at most 32 levels"));
  EXPECT_EQ(value(sum), 600) << "long is not deep";
  EXPECT_EQ(value(deep), 18);
  for (const char* text : {")",   "*x",    "x**y", "x//y",  "x+*y", "()", "min()", "min(,)", "min(x,)", "min(x y)", "x;y", "x=1",
                           "x!y", "&x",    "x,y",  "\"x\"", "..",   "1e", "1e+",   "e5",     "nan",     "inf",      "-",   "x^",
                           "log", "log()", "5(x)", "x(5)",  "min",  "#",  "$x",    "%",      "x<=",     "<x"})
    EXPECT_NE(expression_refusal(text), "") << text;
}

}  // namespace
}  // namespace kvscope
