// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

namespace kvscope {
namespace {

/// True where a normal form never joins the character with what stands before it and leaves it as it is when alone.
bool starts_afresh(char32_t c, NormalForm form) {
  if (c < 0x80) return true;
  if (form != NormalForm::nfc) return false;
  return c < 0x300 || (c >= 0x400 && c <= 0x482) || (c >= 0x3041 && c <= 0x3096) || (c >= 0x30a1 && c <= 0x30fa) ||
         (c >= 0x3400 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7a3);
}

std::string normal_form(std::string_view text, NormalForm form) {
  const bool composed = form == NormalForm::nfc || form == NormalForm::nfkc, compat = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compat ? UTF8PROC_COMPAT : 0);
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &out, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

struct Letters {
  std::array<std::string, 256> of_byte;
  std::array<int, 0x180> byte;

  Letters() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool visible = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      const char32_t letter = visible ? static_cast<char32_t>(b) : next++;
      append_character(of_byte[static_cast<std::size_t>(b)], letter);
      byte[letter] = b;
    }
  }
};

const Letters& letters() {
  static const Letters table;
  return table;
}

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

}  // namespace

MappedText normalized(MappedText source, NormalForm form) {
  const std::string_view text = source.text;
  std::unique_ptr<Rewriter> out;  // made when something changes
  std::size_t kept = 0, chunk = 0;
  const auto close = [&](std::size_t end) {  // text[chunk, end): one character that starts afresh and those that may join it
    const std::string_view old = text.substr(chunk, end - chunk);
    if (old.size() > 1) {
      const std::string changed = normal_form(old, form);
      if (changed != old) {
        if (!out) out = std::make_unique<Rewriter>(source);
        out->keep({kept, chunk});
        out->put(changed, {chunk, end});
        kept = end;
      }
    }
    chunk = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    if (begin > chunk && starts_afresh(c, form)) close(begin);
  }
  close(text.size());
  if (!out) return source;
  out->keep({kept, text.size()});
  return out->finish();
}

bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7f);
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_word(char32_t c) {
  const utf8proc_category_t k = category(c);
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC || c == 0x200c || c == 0x200d;
}

char32_t upper_case(char32_t c) { return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))); }

char32_t lower_case(char32_t c) { return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); }

std::string_view letter_of_byte(unsigned char byte) { return letters().of_byte[byte]; }

int byte_of_letter(char32_t letter) { return letter < letters().byte.size() ? letters().byte[letter] : -1; }

}  // namespace kvscope
