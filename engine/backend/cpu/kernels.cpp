// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include "backend/cpu/kernel_tables.h"
#include "core/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kvscope::cpu {

#if defined(__x86_64__)
namespace {

/// clang 14 does not know "f16c" in __builtin_cpu_supports.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/// Nor "avxvnni".
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 4) != 0;
}

}  // namespace
#endif

std::vector<Isa> usable_isas() {
  std::vector<Isa> out = {Isa::portable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) {
    out.push_back(Isa::avx2);
    if (has_avx_vnni()) out.push_back(Isa::avx2_vnni);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
      out.push_back(Isa::avx512);
      if (__builtin_cpu_supports("avx512vnni")) out.push_back(Isa::avx512_vnni);
    }
  }
#endif
  return out;
}

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512_vnni:
      return avx512::float_kernels_vnni();
    case Isa::avx512:
      return avx512::float_kernels();
    case Isa::avx2_vnni:
      return avx2::float_kernels_vnni();
    case Isa::avx2:
      return avx2::float_kernels();
#endif
    default:
      KVSCOPE_ASSERT(isa == Isa::portable);
      return portable::float_kernels();
  }
}

template <>
const Kernels<double>& kernels<double>(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512_vnni:
    case Isa::avx512:
      return avx512::double_kernels();
    case Isa::avx2_vnni:
    case Isa::avx2:
      return avx2::double_kernels();
#endif
    default:
      KVSCOPE_ASSERT(isa == Isa::portable);
      return portable::double_kernels();
  }
}

}  // namespace kvscope::cpu
