// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/error.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {
namespace {

class IdsOnly : public Tokenizer {
 public:
  explicit IdsOnly(int vocab_size) : vocab_size_(vocab_size) {}

  int vocab_size() const override { return vocab_size_; }
  std::vector<TextToken> tokens_of(std::string_view, SpecialNames, std::span<const TextRange>) const override {
    throw Error(fmt::format("{}, so text cannot be turned into tokens; give token ids instead, or add the tokenizer", kNoTokenizer));
  }
  std::string bytes_of(int id) const override { return piece(id); }
  bool is_special(int) const override { return false; }
  std::string piece(int id) const override { return fmt::format("⟨{}⟩", id); }
  bool adds_leading_space() const override { return false; }

 private:
  int vocab_size_;
};

}  // namespace

std::unique_ptr<Tokenizer> ids_only_tokenizer(int vocab_size) { return std::make_unique<IdsOnly>(vocab_size); }

}  // namespace kvscope
