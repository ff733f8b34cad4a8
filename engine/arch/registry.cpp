// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "arch/family.h"
#include "arch/refused.h"
#include "core/error.h"

// A family is a file that defines NAME_family, and its line here.
#define KVSCOPE_FAMILIES(X) \
  X(llama)                  \
  X(mistral)                \
  X(ministral)              \
  X(qwen2)                  \
  X(qwen3)                  \
  X(granite)                \
  X(phi3)                   \
  X(gemma)                  \
  X(gemma2)                 \
  X(gemma3_text)            \
  X(smollm3)                \
  X(olmo2)

namespace kvscope {

#define KVSCOPE_DECLARE(name) extern const Family name##_family;
KVSCOPE_FAMILIES(KVSCOPE_DECLARE)
#undef KVSCOPE_DECLARE

namespace {

#define KVSCOPE_ADDRESS(name) &name##_family,
constexpr std::array kFamilies = {KVSCOPE_FAMILIES(KVSCOPE_ADDRESS)};
#undef KVSCOPE_ADDRESS

}  // namespace

bool is_known(std::string_view model_type) {
  for (const Family* family : kFamilies)
    if (family->model_type == model_type) return true;
  return false;
}

const Family& find_family(std::string_view model_type, const std::string& path) {
  for (const Family* family : kFamilies)
    if (family->model_type == model_type) return *family;
  throw Error(fmt::format("{}: model_type: {}", path, refusal_of("family", model_type, known_architectures())));
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const Family* family : kFamilies) names.emplace_back(family->model_type);
  return names;
}

}  // namespace kvscope
