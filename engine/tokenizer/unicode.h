// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/mapped_text.h"

namespace kvscope {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// The text in a normal form of Unicode.
MappedText normalized(MappedText text, NormalForm form);

bool is_number(char32_t c);       // general category N
bool is_punctuation(char32_t c);  // general category P, and ASCII's signs
bool is_white_space(char32_t c);  // the property White_Space
bool is_word(char32_t c);         // \w
char32_t upper_case(char32_t c);  // of characters that have one
char32_t lower_case(char32_t c);

/// Byte-level vocabularies write each byte as a visible letter. Letter of a byte, as UTF-8.
std::string_view letter_of_byte(unsigned char byte);
/// Byte of a letter; -1: it stands for no byte.
int byte_of_letter(char32_t letter);

}  // namespace kvscope
