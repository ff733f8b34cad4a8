// SPDX-License-Identifier: Apache-2.0
// The CUDA backend twice: its sources compiled for the host and run thread by thread, and the module on a device where there is one.
#include "backend/reference.h"

#include "backend/cuda/factory.h"
#include "emulator.h"

namespace kvscope::test {

namespace {

Variant on_host(DType dtype) {
  return {.name = "host_" + std::string(name_of(dtype)),
          .dtype = dtype,
          .make = [dtype](const ModelConfig& config, int n_threads) { return cuda::make(dtype, config, {.n_threads = n_threads}); },
          .rows_alike = 32,
          .steps_like_prompts = false,
          .whole_numbers = true,
          .why_not = emulator::kRuns ? "" : "kernels are not run on the host under ThreadSanitizer"};
}

Variant on_device(DType dtype) {
  static const CudaStatus status = cuda_status();
  return {.name = "device_" + std::string(name_of(dtype)),
          .dtype = dtype,
          .make = [dtype](const ModelConfig& config, int n_threads) { return make_cuda_backend(dtype, config, {.n_threads = n_threads}); },
          .rows_alike = 32,
          .steps_like_prompts = false,
          .whole_numbers = true,
          .why_not = status.usable ? "" : "no device: " + status.why_not};
}

/// What devices run that have no tensor cores for these numbers.
Variant on_old_host(DType dtype) {
  Variant out = on_host(dtype);
  out.name = "host_old_" + std::string(name_of(dtype));
  out.make = [make = out.make](const ModelConfig& config, int n_threads) {
    emulator::set_capability(75);
    auto backend = make(config, n_threads);
    emulator::set_capability(90);
    return backend;
  };
  return out;
}

}  // namespace

std::vector<Variant> variants() { return {on_host(DType::f32), on_device(DType::f32)}; }

std::vector<Variant> narrow_variants() {
  return {on_host(DType::bf16), on_host(DType::f16), on_old_host(DType::bf16), on_device(DType::bf16), on_device(DType::f16)};
}

}  // namespace kvscope::test
