// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tokenizer_target.h"

#include "core/error.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvscope;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = parse_tokenizer_json(input, "input");
    for (const std::string_view text : {std::string_view("The  house\n<|end|> 123 e\xcc\x81\xff"), input.substr(0, 200)}) {
      std::size_t at = 0;
      for (const TextToken& token : tokenizer->tokens_of(text, SpecialNames::tokens)) {
        KVSCOPE_ASSERT(token.id >= 0 && token.id < tokenizer->vocab_size());
        KVSCOPE_ASSERT(token.begin >= at && token.end >= token.begin && token.end <= text.size());
        at = token.end;
        tokenizer->bytes_of(token.id);
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
