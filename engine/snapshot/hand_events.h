// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "snapshot/step_record.h"

namespace kvscope {

/// What was done by hand to one head in one step. Events do not say which edit made them, but stand in the order of the edits, and a
/// token's slot is there or not whatever came of other tokens: an edit that did nothing finds an event of another kind, or none, of its
/// token next. So who asks for the step's edits of the head one by one, in their order, gives each event to the edit that made it.
class HandEvents {
 public:
  /// events: the head's, of the step.
  explicit HandEvents(std::span<const Event> events) : events_(events) {}
  /// The next event is this one, which then is past. into: of a merge; else -1.
  bool take(Event::Kind kind, int pos, int into) {
    while (next_ < events_.size() && !events_[next_].by_hand) ++next_;
    if (next_ == events_.size()) return false;
    const Event& next = events_[next_];
    const bool is_it = next.kind == kind && next.pos == pos && next.into == into;
    next_ += is_it ? 1 : 0;
    return is_it;
  }

 private:
  std::span<const Event> events_;
  std::size_t next_ = 0;
};

}  // namespace kvscope
