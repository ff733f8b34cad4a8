// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvscope {

enum class DType : std::uint8_t { f32, f64, f16, bf16 };

constexpr std::size_t size_of(DType t) { return t == DType::f64 ? 8 : t == DType::f32 ? 4 : 2; }

constexpr std::string_view name_of(DType t) { return t == DType::f64 ? "f64" : t == DType::f32 ? "f32" : t == DType::f16 ? "f16" : "bf16"; }

}  // namespace kvscope
