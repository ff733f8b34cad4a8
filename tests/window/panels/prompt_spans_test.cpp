// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <QStringList>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/window/panels/prompt/line_ends.h"
#include "app/window/panels/prompt/prompt_editor_spans.h"

namespace kvscope {
namespace {

Snapshot tokenised(const std::vector<std::string>& pieces) {
  Snapshot s;
  s.tokens.push_back({1, "", "<s>", true, -1, -1});
  for (const std::string& piece : pieces) {
    TokenInfo token;
    token.bytes = piece;
    token.text_begin = static_cast<int>(s.prompt.size());
    s.prompt += piece;
    token.text_end = static_cast<int>(s.prompt.size());
    s.tokens.push_back(token);
  }
  return s;
}

std::vector<int> known(const TokenSpans& spans, const QString& text) {
  std::vector<int> tokens;
  for (const TokenSpans::Span& s : spans.in(0, static_cast<int>(text.size()) + 1)) tokens.push_back(s.token);
  return tokens;
}

TEST(TokenSpans, CountBytesInUtf8AndPlacesInUtf16) {
  // a: 1 byte, 1 unit; é: 2, 1; €: 3, 1; 😀: 4, 2; b
  const Snapshot s = tokenised({"a", "é", "€", "😀", "b"});
  TokenSpans spans;
  spans.setTokens(s, QString::fromStdString(s.prompt));
  EXPECT_EQ(spans.positionOf(1), 0);
  EXPECT_EQ(spans.positionOf(2), 1);
  EXPECT_EQ(spans.positionOf(3), 2);
  EXPECT_EQ(spans.positionOf(4), 3);
  EXPECT_EQ(spans.positionOf(5), 5);
  EXPECT_EQ(spans.positionOf(0), -1) << "the token for the beginning is not in the text";
}

/// In the editor two characters are one line end: tokens behind it stand where they are seen.
TEST(TokenSpans, CountALineEndOfTwoCharactersOnce) {
  const Snapshot s = tokenised({"a", "\r", "\n", "b\r\n", "c", "\r", "d"});
  TokenSpans spans;
  spans.setTokens(s, "a\nb\nc\nd");
  EXPECT_EQ(spans.positionOf(1), 0);
  EXPECT_EQ(spans.positionOf(3), 1);
  EXPECT_EQ(spans.positionOf(4), 2);
  EXPECT_EQ(spans.positionOf(5), 4);
  EXPECT_EQ(spans.positionOf(6), 5) << "alone it is a line end, too";
  EXPECT_EQ(spans.positionOf(7), 6);
  EXPECT_EQ(spans.unread(), 0);
}

TEST(LineEnds, OfWhatIsNotEditedStay) {
  const QString text = QString("a\r\nb\rc\nd") + QChar(QChar::ParagraphSeparator) + "e";
  EXPECT_EQ(shownText(text), "a\nb\nc\nd\ne");
  EXPECT_EQ(withLineEndsOf(text, "a\nb\nc\nd\ne"), text);
  EXPECT_EQ(withLineEndsOf(text, "a\nb\nc\nd\neQ"), text + "Q");
  EXPECT_EQ(withLineEndsOf(text, "Qa\nb\nc\nd\ne"), "Q" + text);
  EXPECT_EQ(withLineEndsOf("a\r\nb\r\nc", "a\nbx\nc"), "a\r\nbx\r\nc");
  EXPECT_EQ(withLineEndsOf("a\r\nb\r\nc", "ab\nc"), "ab\r\nc") << "a line end goes as a whole";
  EXPECT_EQ(withLineEndsOf("a\r\nb\r\nc", ""), "");
  EXPECT_EQ(withLineEndsOf("", "a\nb"), "a\nb");
  EXPECT_EQ(withLineEndsOf("a\r\nb", "a\nx\nb"), "a\r\nx\r\nb") << "what is typed ends lines as the text does";
  EXPECT_EQ(withLineEndsOf("a\r\nb\nc", "a\nb\nc\nd"), "a\r\nb\nc\nd") << "where it does so by CR LF alone";
  EXPECT_EQ(withLineEndsOf("a\r\nb", "x\ny"), "x\ny") << "and is no other text";
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {  // whatever is changed, it is shown as it was typed
    QString some, typed;
    for (int n = static_cast<int>(random() % 12); n > 0; --n) some += QChar("ab\r\n"[random() % 4]);
    typed = shownText(some);
    const auto at = static_cast<qsizetype>(random() % static_cast<std::size_t>(typed.size() + 1));
    typed.replace(at, static_cast<qsizetype>(random() % 3), random() % 2 ? "\n" : "x");
    EXPECT_EQ(shownText(withLineEndsOf(some, typed)), typed) << some.toStdString();
  }
}

TEST(TokenSpans, GiveByteTokensTheirShareOfTheCharacter) {
  const std::string face = "😀";  // four bytes
  const Snapshot s = tokenised({face.substr(0, 1), face.substr(1)});
  TokenSpans spans;
  spans.setTokens(s, QString::fromStdString(s.prompt));
  const auto found = spans.in(0, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].begin, (TextBorder{0, 0}));
  EXPECT_EQ(found[0].end, (TextBorder{0, 0.25}));
  EXPECT_EQ(found[1].begin, (TextBorder{0, 0.25}));
  EXPECT_EQ(found[1].end, (TextBorder{2, 0}));
}

TEST(TokenSpans, KnowOnlyTheCommonBeginningAndEndAfterAnEdit) {
  const Snapshot s = tokenised({"one", " two", " three"});
  TokenSpans spans;
  spans.setTokens(s, "one two three");
  spans.setText("one 2 three");
  EXPECT_THAT(known(spans, "one 2 three"), ::testing::ElementsAre(1, 3));
  EXPECT_EQ(spans.positionOf(3), 5) << "moved two places to the left";
  EXPECT_EQ(spans.positionOf(2), -1);
}

TEST(TokenSpans, MoveAllTokensBehindAnInsertionAtTheStart) {
  const Snapshot s = tokenised({"ab", "cd"});
  TokenSpans spans;
  spans.setTokens(s, "abcd");
  spans.setText("xyzabcd");
  EXPECT_EQ(spans.positionOf(1), 3);
  EXPECT_EQ(spans.positionOf(2), 5);
  EXPECT_EQ(spans.tokens(5, 6), std::make_pair(2, 2));
}

TEST(TokenSpans, DoNotCallHalfACharacterCommon) {
  const Snapshot s = tokenised({"😀"});
  TokenSpans spans;
  spans.setTokens(s, "😀");
  spans.setText("😁");  // the same first half of the surrogate pair
  EXPECT_TRUE(spans.in(0, 2).empty());
}

TEST(TokenSpans, CountWhatWasNotRead) {
  Snapshot s = tokenised({"read", " and"});
  s.prompt += " not read";  // cut to the model's length
  TokenSpans spans;
  spans.setTokens(s, QString::fromStdString(s.prompt));
  EXPECT_EQ(spans.unread(), 9);
}

TEST(TokenSpans, IgnoreRangesThatLieOutsideTheText) {
  Snapshot s = tokenised({"ab"});
  s.tokens[1].text_end = 99;
  s.tokens.push_back({5, "x", "x", false, 7, 3});
  TokenSpans spans;
  spans.setTokens(s, "ab");
  EXPECT_TRUE(spans.in(0, 10).empty());
}

TEST(TokenSpans, SurviveBrokenUtf8) {
  Snapshot s = tokenised({"a\xE2\x82", "\xFF\xF0", "b"});
  TokenSpans spans;
  spans.setTokens(s, QString::fromUtf8(s.prompt.c_str()));
  EXPECT_EQ(spans.positionOf(1), 0);
  for (const auto& span : spans.in(0, 100)) EXPECT_LE(span.begin.at, span.end.at);
}

TEST(TokenSpans, NameOnlyPlacesThatStillHoldTheSameText) {
  std::mt19937 random(5);
  const QStringList letters = {"a", "b", "é", "😀", "日", "\n", " "};
  const auto word = [&](int n) {
    QString w;
    for (int i = 0; i < n; ++i) w += letters[static_cast<int>(random() % 7)];
    return w;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> pieces;
    QStringList texts;
    for (int i = 0; i < 12; ++i) {
      texts << word(1 + static_cast<int>(random() % 3));
      pieces.push_back(texts.back().toStdString());
    }
    const QString before = texts.join("");
    TokenSpans spans;
    spans.setTokens(tokenised(pieces), before);
    QString after = before;
    const int at = static_cast<int>(random() % static_cast<unsigned>(after.size() + 1));
    after.remove(at, static_cast<int>(random() % 4));
    after.insert(std::min<qsizetype>(at, after.size()), word(static_cast<int>(random() % 4)));
    spans.setText(after);
    for (const auto& span : spans.in(0, static_cast<int>(after.size()) + 1)) {
      ASSERT_EQ(after.mid(span.begin.at, span.end.at - span.begin.at), texts[span.token - 1]) << round;
    }
  }
}

}  // namespace
}  // namespace kvscope
