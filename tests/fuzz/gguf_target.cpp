// SPDX-License-Identifier: Apache-2.0
#include "fuzz/gguf_target.h"

#include "core/error.h"
#include "io/gguf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvscope;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  try {
    const GgufFile file = GgufFile::parse(bytes, "input");
    std::size_t total = 0;
    for (const auto& [name, tensor] : file.tensors().tensors()) {
      std::size_t numbers = 1;
      for (const std::int64_t n : tensor.shape) numbers *= static_cast<std::size_t>(n);
      KVSCOPE_ASSERT(tensor.bytes.size() == bytes_of(tensor.dtype, numbers));
      KVSCOPE_ASSERT(static_cast<std::size_t>(tensor.shape.back()) % block_of(tensor.dtype).numbers == 0);
      KVSCOPE_ASSERT(tensor.bytes.data() >= bytes.data() && &tensor.bytes.back() <= &bytes.back());
      total += tensor.bytes.size();
    }
    KVSCOPE_ASSERT(total <= size);  // no byte belongs to two tensors
    for (const char* key : {"a", "b", "c", "list", "words"}) {
      const GgufValue* value = file.find(key);
      for (std::size_t i = 0; value && i < value->size(); ++i) {
        if (value->is_text()) {
          KVSCOPE_ASSERT(value->text(i).size() <= size);
        } else if (value->is_flag()) {
          value->flag(i);
        } else {
          value->real(i);
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
