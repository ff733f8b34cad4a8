// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyInfo> unavailable_infos() {
  std::vector<PolicyInfo> infos;
  infos.push_back({.name = "less",
                   .title = "LESS",
                   .paper = "Get More with LESS: Synthesizing Recurrence with KV Cache Compression for Efficient LLM Inference, ICML 2024",
                   .idea = "What is removed from the cache lives on in a small recurrent state, read through learned feature maps.",
                   .unavailable =
                       "its feature maps are trained for one model and one budget, and no such kernels are loaded; without them it "
                       "would be another method under its name"});
  return infos;
}

}  // namespace kvscope
