// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point over TensorFile::parse. Whatever the bytes are, parse gives views inside them or throws kvscope::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
