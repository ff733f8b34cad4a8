// SPDX-License-Identifier: Apache-2.0
// Not kept on a device yet: prefers_numbers() says so.
#include "backend/cuda/cuda_backend.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

[[noreturn]] void refuse() { throw Error("cuda backend: numbers of slots are not kept on the device yet"); }

}  // namespace

SlotNumbers CudaBackend::make_numbers(int, std::span<const double>) { refuse(); }
SlotNumbers CudaBackend::clone_numbers(const SlotNumbers&, int) { refuse(); }
void CudaBackend::observe(std::span<const ObserveJob>) { refuse(); }
void CudaBackend::lowest(std::span<const LowestJob>) { refuse(); }
void CudaBackend::number_rows(int, std::span<const NumberRowsJob>) { refuse(); }
void CudaBackend::set_numbers(int, std::span<const SetNumbersJob>) { refuse(); }
void CudaBackend::remove_numbers(SlotNumbers&, int, std::span<const int>) { refuse(); }

}  // namespace kvscope::cuda
