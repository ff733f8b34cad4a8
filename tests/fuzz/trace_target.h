// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point over read_trace. Whatever the bytes are, it gives a run whose shapes fit together, or throws kvscope::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
