// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_context.h"

#include <utility>

namespace kvscope {

LaneContext::LaneContext(Backend& b, const Model& m, const LaneSetup& s, std::unique_ptr<Policy> p)
    : backend(b), model(m), config(m.config()), setup(s), policy(std::move(p)), edits(s.spec.edits), ms(n_works()) {}

bool LaneContext::bounds_loss() const {
  return setup.record.measures.local && setup.record.measures.theta && policy->evict_only() && !edits.merges() &&
         policy->positions() == Positions::original;
}

}  // namespace kvscope
