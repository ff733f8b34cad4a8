// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dtype.h"

namespace kvscope {

/// Numbers of a row that a CUDA device has the blocks of in one piece.
inline constexpr int kBlockChunk = 256;

/// Whether a CUDA device (compute capability 8.0 or newer) keeps a matrix [out, in] as its blocks; all else that is quantised is decoded
/// when it is loaded, into the type that the device computes in.
constexpr bool stays_in_blocks(DType type, int out, int in) {
  return (type == DType::q4_k || type == DType::q6_k || type == DType::q8_0) && out > 1 && in % kBlockChunk == 0;
}

}  // namespace kvscope
