// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point over Expression. Whatever the bytes are, they are an expression that can be evaluated, or refused by UsageError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
