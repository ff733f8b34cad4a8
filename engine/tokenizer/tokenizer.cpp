// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

namespace kvscope {

std::string Tokenizer::decode(const std::vector<int>& ids) const {
  std::string text;
  for (const int id : ids) text += bytes_of(id);
  if (adds_leading_space() && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace kvscope
