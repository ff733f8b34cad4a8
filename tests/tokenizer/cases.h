// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/files.h"
#include "tokenizer/mapped_text.h"
#include "tokenizer/tokenizer.h"

namespace kvscope::test {

/// Every case: ids with special tokens found and as text, the text of the ids, and ranges that follow one another.
inline void expect_cases(const Tokenizer& tokenizer, const std::string& cases_file) {
  const nlohmann::json cases = nlohmann::json::parse(read_text(cases_file));
  ASSERT_GT(cases.size(), 50u);
  for (const nlohmann::json& c : cases) {
    const auto text = c["text"].get<std::string>();
    const auto ids = c["ids"].get<std::vector<int>>();
    EXPECT_EQ(tokenizer.encode(text, SpecialNames::tokens), ids) << text;
    EXPECT_EQ(tokenizer.encode(text), c.value("ids_specials_as_text", ids)) << text;
    EXPECT_EQ(valid_utf8(tokenizer.decode(ids, SpecialNames::tokens)).text, c.value("decoded", text)) << text;
    std::size_t at = 0;
    for (const TextToken& token : tokenizer.tokens_of(text)) {
      ASSERT_GE(token.begin, at) << text;
      ASSERT_GE(token.end, token.begin) << text;
      at = token.end;
    }
    ASSERT_LE(at, text.size());
    if (::testing::Test::HasFailure()) return;  // one is enough to see
  }
}

}  // namespace kvscope::test
