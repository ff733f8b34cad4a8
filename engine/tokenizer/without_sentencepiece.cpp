// SPDX-License-Identifier: Apache-2.0
#if !defined(KVSCOPE_SENTENCEPIECE)
#include <fmt/format.h>

#include "core/error.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path, const std::vector<AddedToken>&) {
  throw Error(
      fmt::format("{}: this build reads no sentencepiece models (KVSCOPE_SENTENCEPIECE=OFF); build it with the library, or take a model "
                  "without this file and give token ids",
                  path));
}

}  // namespace kvscope
#endif
