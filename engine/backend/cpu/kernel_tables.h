// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"

namespace kvscope::cpu {

namespace portable {
const Kernels<float>& float_kernels();
const Kernels<double>& double_kernels();
}  // namespace portable
namespace avx2 {
const Kernels<float>& float_kernels();
const Kernels<float>& float_kernels_vnni();
const Kernels<double>& double_kernels();
}  // namespace avx2
namespace avx512 {
const Kernels<float>& float_kernels();
const Kernels<float>& float_kernels_vnni();
const Kernels<double>& double_kernels();
}  // namespace avx512

}  // namespace kvscope::cpu
