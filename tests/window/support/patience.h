// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTest>

namespace kvscope {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KVSCOPE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KVSCOPE_SANITIZED 1
#endif
#endif

/// A wait ends when its condition holds: how long it may take at most is no claim about speed, and instrumented code takes longer.
#ifdef KVSCOPE_SANITIZED
inline constexpr int kPatience = 10;
#else
inline constexpr int kPatience = 1;
#endif

/// Runs the event loop until `holds()` does; false: it does not, after `ms` milliseconds times kPatience.
template <class Holds>
bool waitFor(const Holds& holds, int ms = 5000) {
  return QTest::qWaitFor(holds, ms * kPatience);
}

}  // namespace kvscope
