// SPDX-License-Identifier: Apache-2.0
#include "fuzz/trace_target.h"

#include <string_view>

#include "core/error.h"
#include "trace/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvscope;
  try {
    const Trace trace = read_trace(std::string_view(reinterpret_cast<const char*>(data), size), "input");
    const Snapshot& s = trace.snapshot;
    const std::size_t n_heads = static_cast<std::size_t>(s.model.n_layers) * static_cast<std::size_t>(s.model.n_kv_heads);
    for (const LaneSnapshot& lane : s.lanes) {
      for (const StepPtr& step : lane.steps) {
        KVSCOPE_ASSERT(step->position >= 0 && static_cast<std::size_t>(step->position) < s.tokens.size());
        KVSCOPE_ASSERT(step->heads.empty() || step->heads.size() == n_heads);
        for (const HeadRecord& head : step->heads) {
          KVSCOPE_ASSERT(head.votes.size() == head.pos.size() && head.score.size() == head.pos.size());
          for (const int pos : head.pos) KVSCOPE_ASSERT(pos >= 0 && pos <= step->position);
          if (head.pos.empty() || !trace.warnings.empty()) continue;  // only figures, or events that are not known
          const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(head.layer * s.model.n_kv_heads + head.kv_head)];
          int n = 0;
          for (int t = 0; t <= step->position; ++t) n += fate_at(fates, t, step->step).left > step->step ? 1 : 0;
          KVSCOPE_ASSERT(n == head.n_slots);  // what the events leave
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
