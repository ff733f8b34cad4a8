// SPDX-License-Identifier: Apache-2.0
#define KVSCOPE_ISA portable
#include "backend/cpu/simd_portable.h"
// the loops need the instruction set above
#include "backend/cpu/blocks_body.h"
#include "backend/cpu/columns_body.h"
#include "backend/cpu/dots_body.h"
#include "backend/cpu/packed_body.h"
#include "backend/cpu/rows_body.h"

#include "backend/cpu/kernel_tables.h"

namespace kvscope::cpu::portable {

const Kernels<float>& float_kernels() {
  static constexpr Kernels<float> kTable = table<F, D>(Isa::portable, "portable SIMD");
  return kTable;
}

const Kernels<double>& double_kernels() {
  static constexpr Kernels<double> kTable = table<D, D>(Isa::portable, "portable SIMD");
  return kTable;
}

}  // namespace kvscope::cpu::portable
