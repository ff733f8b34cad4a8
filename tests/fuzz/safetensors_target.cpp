// SPDX-License-Identifier: Apache-2.0
#include "fuzz/safetensors_target.h"

#include "core/error.h"
#include "io/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  try {
    const kvscope::TensorFile file = kvscope::TensorFile::parse(bytes, "input");
    std::size_t total = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      std::size_t expected = kvscope::size_of(tensor.dtype);
      for (const std::int64_t n : tensor.shape) expected *= static_cast<std::size_t>(n);
      KVSCOPE_ASSERT(tensor.bytes.size() == expected);
      KVSCOPE_ASSERT(tensor.bytes.empty() || (tensor.bytes.data() >= bytes.data() && &tensor.bytes.back() <= &bytes.back()));
      total += tensor.bytes.size();
    }
    KVSCOPE_ASSERT(total <= size);  // no byte belongs to two tensors
  } catch (const kvscope::Error&) {
  }
  return 0;
}
