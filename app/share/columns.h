// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "app/share/number_table.h"
#include "snapshot/fates.h"
#include "trace/json_text.h"

namespace kvscope::share {

/// What became of a token, in words: "merged into slot 58 at step 0".
struct FateWords {
  Category category = Category::unseen;
  std::string text;
  bool operator<(const FateWords& other) const { return std::tie(category, text) < std::tie(other.category, other.text); }
};

/// Every fate of a page once. Place 0: not seen yet.
class FateTable {
 public:
  FateTable() { place({Category::unseen, "not seen yet"}); }
  std::uint32_t place(const FateWords& words);
  const std::vector<FateWords>& all() const { return all_; }

 private:
  std::map<FateWords, std::uint32_t> places_;
  std::vector<FateWords> all_;
};

/// Whole numbers of a run by (head, step, token), token fastest: the steps of a head, which are much alike, lie near each other.
struct Column {
  explicit Column(std::size_t n) : values(n, 0) {}
  std::vector<std::uint32_t> values;
};

/// What lies behind the header of a page: columns, byte by byte.
class ColumnBytes {
 public:
  /// Into the open object of `json` under `name`: where the column is ("at", "bytes" of a value, "n") or, where all values are one, {"all":
  /// v}. Bytes of equal weight stand together, lowest first, as they are alike.
  void write(JsonText& json, const char* name, const Column& column);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace kvscope::share
