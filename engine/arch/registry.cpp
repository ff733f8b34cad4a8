// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "arch/family.h"
#include "arch/llama.h"
#include "core/error.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

constexpr std::array kFamilies = {
    Family{"llama", read_llama_config, bind_llama_tensors},
    Family{"mistral", read_mistral_config, bind_llama_tensors},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family& find_family(std::string_view model_type, const std::string& path) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return family;
  }
  throw Error(fmt::format("{}: model_type: unknown model family {} (known: {})", path, quote_name(model_type),
                          fmt::join(known_architectures(), ", ")));
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.model_type);
  return names;
}

}  // namespace kvscope
