// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#define KVSCOPE_ISA avx2
#include "backend/cpu/simd_avx2.h"
// the loops need the instruction set above
#include "backend/cpu/blocks_body.h"
#include "backend/cpu/columns_body.h"
#include "backend/cpu/dots_body.h"
#include "backend/cpu/packed_body.h"
#include "backend/cpu/rows_body.h"

#include "backend/cpu/kernel_tables.h"

namespace kvscope::cpu::avx2 {

const Kernels<float>& float_kernels() {
  static constexpr Kernels<float> kTable = table<F, D>(Isa::avx2, "AVX2");
  return kTable;
}

const Kernels<double>& double_kernels() {
  static constexpr Kernels<double> kTable = table<D, D>(Isa::avx2, "AVX2");
  return kTable;
}

}  // namespace kvscope::cpu::avx2
#endif
