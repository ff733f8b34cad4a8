// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"
#include "backend/reference.h"

namespace kvscope::test {

std::vector<Variant> variants() {
  std::vector<Variant> out;
  for (const cpu::Isa isa : cpu::usable_isas()) {
    const std::string name = isa == cpu::Isa::portable ? "portable" : isa == cpu::Isa::avx2 ? "avx2" : "avx512";
    for (const DType dtype : {DType::f32, DType::f64}) {
      out.push_back({(dtype == DType::f32 ? "float_" : "double_") + name, dtype, [dtype, isa](const ModelConfig& config, int n_threads) {
                       return cpu::make_cpu_backend_for(dtype, config, {n_threads}, isa);
                     }});
    }
  }
  return out;
}

}  // namespace kvscope::test
