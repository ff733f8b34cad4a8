// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/mapped_text.h"

namespace kvscope {

/// A regular expression of a tokenizer file: Unicode classes, lookaheads, ^ and $ at every line. Thread-safe.
class Regex {
 public:
  /// Throws Error for what this dialect has not, or means otherwise; `where` is for the message.
  Regex(const std::string& pattern, const std::string& where);
  ~Regex();
  Regex(Regex&& other) noexcept;
  Regex& operator=(Regex&& other) noexcept;

  /// The first match at or behind `from` in valid UTF-8. Throws Error where a text costs too many steps.
  std::optional<Span> find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace kvscope
