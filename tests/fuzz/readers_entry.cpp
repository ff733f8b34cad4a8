// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "fuzz/readers_target.h"

/// libFuzzer's entry point over a list of readers: the first byte of an input chooses one. Whatever the others are, it takes them or throws
/// kvscope::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvscope;
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto& all = testing::readers();
  try {
    all[data[0] % all.size()].read(bytes.substr(1));
  } catch (const Error&) {
  }
  return 0;
}
