// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kvscope::viz {
namespace {

TokenInfo word(std::string bytes) { return {5, std::move(bytes), "", false, -1, -1}; }

TEST(Format, CountsHaveThinSpaceThousandsAndATrueMinus) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(4056), "4\u2009056");
  EXPECT_EQ(format_count(33554432), "33\u2009554\u2009432");
  EXPECT_EQ(format_count(-1500), "\u22121\u2009500");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "\u22129\u2009223\u2009372\u2009036\u2009854\u2009775\u2009808");
}

TEST(Format, NumbersHaveThreeSignificantDigits) {
  EXPECT_EQ(format_number(729.4), "729");
  EXPECT_EQ(format_number(24), "24.0");
  EXPECT_EQ(format_number(3.367), "3.37");
  EXPECT_EQ(format_number(0.0518), "0.0518");
  EXPECT_EQ(format_number(0.00144), "0.00144");
  EXPECT_EQ(format_number(9.996), "10.0");
  EXPECT_EQ(format_number(99.96), "100");
  EXPECT_EQ(format_number(12345.6), "12\u2009346");
  EXPECT_EQ(format_number(-0.523), "\u22120.523");
  EXPECT_EQ(format_number(1e-7), "1.00e\u22127");
  EXPECT_EQ(format_number(3.43e-15), "<1e\u22129") << "noise of rounding";
  EXPECT_EQ(format_number(-1.26e-15), ">\u22121e\u22129");
  EXPECT_EQ(format_number(3.367, 4), "3.367");
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(std::nan("")), "n/a");
  EXPECT_EQ(format_number(-INFINITY), "\u2212∞");
}

TEST(Format, PercentHasOneDecimalAndHonestEnds) {
  EXPECT_EQ(format_percent(0.2514), "25.1 %");
  EXPECT_EQ(format_percent(1.135), "113.5 %");
  EXPECT_EQ(format_percent(0), "0 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_percent(0.0003), "<0.1 %");
  EXPECT_EQ(format_percent(0.001), "0.1 %");
  EXPECT_EQ(format_percent(0.9996), ">99.9 %");
  EXPECT_EQ(format_percent(0.999), "99.9 %");
  EXPECT_EQ(format_percent(std::nan("")), "n/a");
}

TEST(Format, OneTokensAttentionHasDigitsWhereAShareOfAllHasNone) {
  EXPECT_EQ(format_attention(0.974), format_percent(0.974)) << "one number has one value";
  EXPECT_EQ(format_attention(0.0123), "1.2 %");
  EXPECT_EQ(format_attention(0.00974), "0.974 %");
  EXPECT_EQ(format_attention(0.000123), "0.0123 %");
  EXPECT_EQ(format_attention(2e-8), "<0.0001 %");
  EXPECT_EQ(format_attention(0), "0 %");
  EXPECT_EQ(format_attention(1), "100 %");
  EXPECT_EQ(format_attention(kNotAvailable), "n/a");
}

TEST(Format, ProbabilitiesNeverRoundToCertainty) {
  EXPECT_EQ(format_probability(0.0336), "0.034");
  EXPECT_EQ(format_probability(0.00004), "<.001");
  EXPECT_EQ(format_probability(0.99996), ">.999");
  EXPECT_EQ(format_probability(1), "1");
  EXPECT_EQ(format_probability(std::nan("")), "n/a");
  EXPECT_EQ(format_probability_short(0.94), ".94");
  EXPECT_EQ(format_probability_short(0.0301), ".03");
  EXPECT_EQ(format_probability_short(0.0001), "<.01") << "little is not nothing";
  EXPECT_EQ(format_probability_short(0), "0");
  EXPECT_EQ(format_probability_short(0.996), ">.99") << "almost all is not all";
  EXPECT_EQ(format_probability_short(1), "1");
}

TEST(Format, DifferencesCarryTheirSign) {
  EXPECT_EQ(format_delta(0.6222), "+0.622");
  EXPECT_EQ(format_delta(-0.9654), "\u22120.965");
  EXPECT_EQ(format_delta(-0.00004), "\u22124e\u22125") << "little is not nothing";
  EXPECT_EQ(format_delta(0), "0");
  EXPECT_EQ(format_change(-0.0000114), "\u22121.14e\u22125");
  EXPECT_EQ(format_change(0.000457), "+0.000457");
  EXPECT_EQ(format_change(0), "0");
  EXPECT_EQ(format_delta(std::nan("")), "n/a");
}

TEST(Format, BytesAndTimesHaveBinaryAndMetricUnits) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(258048), "252.0 KiB");
  EXPECT_EQ(format_bytes(1024.0 * 1008), "1008 KiB") << "no wider than the others";
  EXPECT_EQ(format_bytes(1024.0 * 1024 * 24), "24.0 MiB");
  EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_ms(0.85), "850 µs");
  EXPECT_EQ(format_ms(12.34), "12.3 ms");
  EXPECT_EQ(format_ms(999.7), "1.00 s");
  EXPECT_EQ(format_ms(1790), "1.79 s");
}

TEST(Format, WhatWasWrittenForPeopleIsReadByPrograms) {
  for (const double v : {-4.95e-5, 12345.6, -0.965, 1e-7, 0.0, -1e12}) {
    const std::string plain = plain_number(format_number(v, 6));
    std::size_t read = 0;
    EXPECT_NEAR(std::stod(plain, &read), v, 1e-5 * std::abs(v)) << plain;
    EXPECT_EQ(read, plain.size()) << plain;
  }
  EXPECT_EQ(plain_number(format_delta(-0.00004)), "-4e-5");
  EXPECT_EQ(plain_number(format_delta(0.622)), "+0.622");
  EXPECT_EQ(plain_number(format_count(-33554432)), "-33554432");
  EXPECT_EQ(plain_number(format_number(-1e-12)), ">-1e-9");
  EXPECT_EQ(plain_number(format_precise(-4e-13)), "-4.00000e-13") << "of a table";
  EXPECT_EQ(plain_number(format_number(-INFINITY)), "-inf");
  EXPECT_EQ(plain_number(format_percent(-0.251)), "-25.1 %");
  EXPECT_EQ(plain_number("−ln p"), "−ln p") << "words";
  EXPECT_EQ(plain_number("−"), "−");
  EXPECT_EQ(plain_number("3−9 of 12"), "3−9 of 12");
  EXPECT_EQ(plain_number(format_number(NAN)), "n/a");
}

TEST(Format, WhatWasWrittenForPeopleIsANumber) {
  EXPECT_EQ(number_of(format_count(4056)), 4056);
  EXPECT_EQ(number_of(format_number(-0.965)), -0.965);
  EXPECT_EQ(number_of(format_change(0.622)), 0.622);
  EXPECT_EQ(number_of(format_probability(0.9999)), 0.999) << "its limit";
  EXPECT_EQ(number_of(format_number(1e-7)), 1e-7);
  EXPECT_EQ(number_of(format_number(INFINITY)), INFINITY);
  EXPECT_NEAR(*number_of(format_percent(0.251)), 0.251, 1e-12);
  EXPECT_NEAR(*number_of(format_percent(0.0003)), 0.001, 1e-12);
  EXPECT_EQ(number_of(format_bytes(258048)), 258048);
  EXPECT_NEAR(*number_of(format_ms(12.3)), 0.0123, 1e-12);
  EXPECT_NEAR(*number_of(format_ms(0.85)), 850e-6, 1e-12);
  for (const char* words : {"n/a", "nan", "", "sink", "−", "3−9 of 12", "4 of 5", "12 tokens", "5x"})
    EXPECT_FALSE(number_of(words).has_value()) << words;
}

TEST(Format, MeansOfWholeNumbersShowADecimalOnlyWhereTheyNeedIt) {
  EXPECT_EQ(format_mean(42), "42");
  EXPECT_EQ(format_mean(42.3), "42.3");
  EXPECT_EQ(format_mean(42.97), "43");
  EXPECT_EQ(format_mean(std::nan("")), "n/a");
}

TEST(Format, PlacesNameLayerHeadAndToken) {
  EXPECT_EQ(head_name(2, 5), "L2 · H5");
  EXPECT_EQ(place_name(2, 5, 417), "L2 · H5 · token 417");
}

TEST(TokenText, SpacesNewlinesAndTabsAreVisible) {
  EXPECT_EQ(token_text(word(" the")), "·the");
  EXPECT_EQ(token_text(word("   x y")), "···x y");
  EXPECT_EQ(token_text(word("\n")), "↵");
  EXPECT_EQ(token_text(word("a\tb")), "a⇥b");
}

TEST(TokenText, BytesThatAreNoCharacterShowTheirValue) {
  EXPECT_EQ(token_text(word("\xE4")), "⟨E4⟩");
  EXPECT_EQ(token_text(word("\xBD\xA0")), "⟨BD⟩⟨A0⟩");
  EXPECT_EQ(token_text(word("\xC0\x80")), "⟨C0⟩⟨80⟩");          // overlong
  EXPECT_EQ(token_text(word("\xED\xA0\x80")), "⟨ED⟩⟨A0⟩⟨80⟩");  // surrogate
  EXPECT_EQ(token_text(word("日本")), "日本");
  EXPECT_EQ(token_text(word("🙂")), "🙂");
}

TEST(TokenText, NothingInATokenCanTurnOrHideItsNeighbours) {
  EXPECT_EQ(token_text(word("a\u202Eb")), "a⟨U+202E⟩b");
  EXPECT_EQ(token_text(word("\u200B")), "⟨U+200B⟩");
  EXPECT_EQ(token_text(word("\x1B[2J")), "⟨U+001B⟩[2J");
  EXPECT_EQ(token_text(word(std::string("\0", 1))), "⟨U+0000⟩");
}

TEST(TokenText, SpecialTokensShowTheirPiece) {
  EXPECT_EQ(token_text(TokenInfo{1, "", "<s>", true, -1, -1}), "⟨s⟩");
  EXPECT_EQ(token_text(TokenInfo{7, "", "", true, -1, -1}), "⟨7⟩");
}

TEST(TokenText, PiecesOfOneCharacterAreJoinedInARange) {
  const std::vector<TokenInfo> tokens = {word(" a"), word("\xE4"), word("\xBD"), word("\xA0"), word("b")};
  EXPECT_EQ(token_range_text(tokens, 0, 4), "·a你b");
  EXPECT_EQ(token_range_text(tokens, 1, 2), "⟨E4⟩⟨BD⟩");
  EXPECT_EQ(token_range_text(tokens, -5, 99), "·a你b");
  EXPECT_EQ(token_range_text(tokens, 3, 1), "");
}

TEST(TokenText, LongRangesAreCutAtWholeCharacters) {
  const std::vector<TokenInfo> tokens(50, word("日本"));
  EXPECT_EQ(token_range_text(tokens, 0, 49, 5), "日本日本日…");
}

TEST(Utf8, BrokenBytesCountOneEach) {
  EXPECT_EQ(utf8_length("a日\xFF\xE4"), 4u);
  std::string out;
  for (char32_t c : {U'a', U'é', U'日', U'🙂'}) utf8_append(out, c);
  EXPECT_EQ(out, "aé日🙂");
}

}  // namespace
}  // namespace kvscope::viz
