// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point over parseSession. Whatever the bytes are, it gives a session that is read back as it was, or throws
/// kvscope::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
