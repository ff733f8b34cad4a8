// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#define KVSCOPE_ISA avx2
#include "backend/cpu/simd_avx2.h"
// the loops need the instruction set above
#include "backend/cpu/blocks_body.h"
#include "backend/cpu/dots_body.h"
#include "backend/cpu/whole.h"
#include "backend/cpu/whole_avx2.h"
// and the codes
#include "backend/cpu/whole_body.h"

#include "backend/cpu/kernel_tables.h"

namespace kvscope::cpu::avx2 {

const Kernels<float>& float_kernels_vnni() {
  static const Kernels<float> kTable = with_whole_dots(float_kernels(), Isa::avx2_vnni, "AVX2 VNNI");
  return kTable;
}

}  // namespace kvscope::cpu::avx2
#endif
