// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point over parse_tokenizer_json. Whatever the bytes are, it gives a tokenizer whose tokens lie inside the text, or
/// throws kvscope::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
