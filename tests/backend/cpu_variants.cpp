// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"
#include "backend/reference.h"

namespace kvscope::test {

std::vector<Variant> variants() {
  std::vector<Variant> out;
  for (const cpu::Isa isa : cpu::usable_isas()) {
    std::string name = cpu::kernels<float>(isa).name;
    for (char& c : name) c = c == ' ' || c == '-' ? '_' : c;
    for (const DType dtype : {DType::f32, DType::f64}) {
      out.push_back({(dtype == DType::f32 ? "float_" : "double_") + name, dtype, [dtype, isa](const ModelConfig& config, int n_threads) {
                       return cpu::make_cpu_backend_for(dtype, config, {n_threads}, isa);
                     }});
      out.back().whole_numbers = dtype == DType::f32 && cpu::kernels<float>(isa).is_whole(DType::q8_0);
    }
  }
  return out;
}

std::vector<Variant> narrow_variants() { return {}; }

}  // namespace kvscope::test
