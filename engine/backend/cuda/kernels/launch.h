// SPDX-License-Identifier: Apache-2.0
#pragma once

// How kernels are started. Nothing here is CUDA's own syntax, so that a plain C++ compiler can build the kernels against an emulation of
// the toolkit's headers (tests/gpu/emulator) and run them thread by thread.

#include <cuda_runtime.h>

#include <type_traits>

#include "backend/cuda/kernels/lanes.h"
#include "backend/cuda/work.h"
#include "core/dtype.h"
#include "core/error.h"

namespace kvscope::cuda {

/// kernel(args...) over a grid, gathered with other work. what: for the message when it cannot be started.
template <class... P>
void launch(const char* what, void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, Work& work,
            std::type_identity_t<P>... args) {
  // launches are compared by the bytes of their arguments: there must be none that mean nothing
  static_assert(((std::has_unique_object_representations_v<P> || std::is_floating_point_v<P>)&&...));
  static_assert(((alignof(P) <= 16) && ...));
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
#if !defined(__CUDACC__)
  emulator::know(kernel);
#endif
  const Launches::Argument arguments[] = {{&args, sizeof(P)}...};
  work.launch(what, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, arguments);
}

/// body(T{}) with the type that numbers of this dtype have in kernels.
template <class Body>
void with_type(DType type, const Body& body) {
  switch (type) {
    case DType::f32:
      return body(float{});
    case DType::f16:
      return body(Half{});
    case DType::bf16:
      return body(Bfloat{});
    default:
      break;
  }
  KVSCOPE_ASSERT(!"a dtype that no kernel has");
}

inline unsigned blocks_for(long n, int per_block) { return static_cast<unsigned>((n + per_block - 1) / per_block); }

}  // namespace kvscope::cuda

/// Shared memory whose size is given at the launch.
#if defined(__CUDACC__)
#define KVSCOPE_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#else
#define KVSCOPE_DYNAMIC_SHARED(name) unsigned char* const name = emulator::dynamic_shared()
#endif
