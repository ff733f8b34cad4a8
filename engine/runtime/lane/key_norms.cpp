// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/key_norms.h"

namespace kvscope {

void key_norms(Backend& backend, const void* k, int head_dim, std::span<double> out) {
  Buffer norms = backend.allocate(out.size_bytes());
  backend.row_norms(k, static_cast<int>(out.size()), head_dim, norms.as<double>(), /*reads_out=*/false);
  backend.download(out.data(), norms.data(), out.size_bytes());
}

}  // namespace kvscope
