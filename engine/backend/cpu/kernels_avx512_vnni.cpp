// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#define KVSCOPE_ISA avx512
#include "backend/cpu/simd_avx512.h"
// the loops need the instruction set above
#include "backend/cpu/blocks_body.h"
#include "backend/cpu/dots_body.h"
#include "backend/cpu/whole.h"
#include "backend/cpu/whole_avx512.h"
// and the codes
#include "backend/cpu/whole_body.h"

#include "backend/cpu/kernel_tables.h"

namespace kvscope::cpu::avx512 {

const Kernels<float>& float_kernels_vnni() {
  static const Kernels<float> kTable = with_whole_dots(float_kernels(), Isa::avx512_vnni, "AVX-512 VNNI");
  return kTable;
}

}  // namespace kvscope::cpu::avx512
#endif
