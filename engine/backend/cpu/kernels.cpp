// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include "backend/cpu/kernel_tables.h"
#include "core/error.h"

namespace kvscope::cpu {

std::vector<Isa> usable_isas() {
  std::vector<Isa> out = {Isa::portable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    out.push_back(Isa::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
      out.push_back(Isa::avx512);
    }
  }
#endif
  return out;
}

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512: return avx512::float_kernels();
    case Isa::avx2: return avx2::float_kernels();
#endif
    default: KVSCOPE_ASSERT(isa == Isa::portable); return portable::float_kernels();
  }
}

template <>
const Kernels<double>& kernels<double>(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512: return avx512::double_kernels();
    case Isa::avx2: return avx2::double_kernels();
#endif
    default: KVSCOPE_ASSERT(isa == Isa::portable); return portable::double_kernels();
  }
}

}  // namespace kvscope::cpu
