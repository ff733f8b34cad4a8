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
  static const Kernels<float> kTable = [] {
    Kernels<float> out = float_kernels();
    out.isa = Isa::avx512_vnni;
    out.name = "AVX-512 VNNI";
    out.is_whole = is_whole;
    out.whole_bytes = whole_bytes;
    out.whole_scratch = whole_scratch;
    out.whole_row = whole_row;
    out.whole_dots = whole_dots;
    return out;
  }();
  return kTable;
}

}  // namespace kvscope::cpu::avx512
#endif
