// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "snapshot/step_record.h"

namespace kvscope {

/// Slots of a head that edits[which] changed, and no edit before it in the same step. events: the head's, of the step. Edit: the policies'
/// WhatIf, in the order in which they are done; those that are off may be among them.
/// Events do not say which edit made them, but stand in the order of the edits, and a token's slot is there or not whatever came of other
/// tokens: an edit that did nothing finds an event of another kind, or none, of its token next.
template <class Edit>
int slots_changed(std::span<const Event> events, int layer, int kv_head, std::span<const Edit> edits, std::size_t which) {
  constexpr Event::Kind kKinds[] = {Event::Kind::evict, Event::Kind::evict, Event::Kind::merge, Event::Kind::restore};
  std::size_t next = 0;
  const auto take = [&](const Edit& edit, int pos) {
    while (next < events.size() && !events[next].by_hand) ++next;
    const bool is_it = next < events.size() && events[next].kind == kKinds[static_cast<int>(edit.kind)] && events[next].pos == pos &&
                       events[next].into == edit.into;
    next += is_it ? 1 : 0;
    return is_it;
  };
  int n = 0;
  for (const Edit& edit : edits.first(which + 1))
    if (edit.on && edit.kind != Edit::Kind::pin && edit.step == edits[which].step && edit.heads.has(layer, kv_head))
      n = static_cast<int>(std::ranges::count_if(edit.positions, [&](int pos) { return take(edit, pos); }));
  return n;
}

}  // namespace kvscope
