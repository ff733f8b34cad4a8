// SPDX-License-Identifier: Apache-2.0
#include "slots/slot_prefetch.h"

#include <span>

namespace kvscope {
namespace {

constexpr std::size_t kLine = 64;  // bytes that come together

// Always inlined: GCC takes a function that does nothing else for one without effect, and drops calls of it.

template <class T>
[[gnu::always_inline]] inline void prefetch(std::span<const T> x) {
  const auto* bytes = reinterpret_cast<const char*>(x.data());
  for (std::size_t i = 0; i < x.size_bytes(); i += kLine) __builtin_prefetch(bytes + i);
}

[[gnu::always_inline]] inline void prefetch(const RowRing& ring) {
  ring.for_memory([](std::span<const double> x) __attribute__((always_inline)) { prefetch(x); });
}

}  // namespace

void prefetch(const SlotState& s) {
  const auto all = [](const auto&... arrays) __attribute__((always_inline)) { (prefetch(std::span(arrays)), ...); };
#define KVSCOPE_ALL(name, Type) all(s.name);
  KVSCOPE_STATISTICS(KVSCOPE_ALL)
#undef KVSCOPE_ALL
  all(s.pos, s.votes, s.extra, s.united, s.times, s.ema, s.ema_n, s.z_now, s.hits.counts());
  prefetch(s.rows);
  __builtin_prefetch(s.evicted.data() + s.evicted.size());  // where the next one is added
}

}  // namespace kvscope
