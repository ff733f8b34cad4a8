// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For small functions that kernels call too.
#if defined(__CUDACC__)
#define KVSCOPE_HOST_DEVICE __host__ __device__
#else
#define KVSCOPE_HOST_DEVICE
#endif
