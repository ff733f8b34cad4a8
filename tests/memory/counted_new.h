// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces the global operator new of a program: counts the bytes that live. Include it in one source only.

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace kvscope::testing {

inline std::atomic<long long> live_bytes{0};

inline void* counted_or_null(void* p) noexcept {
  if (p != nullptr) live_bytes += static_cast<long long>(malloc_usable_size(p));
  return p;
}
inline void* counted(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return counted_or_null(p);
}
inline void uncounted(void* p) {
  if (p != nullptr) live_bytes -= static_cast<long long>(malloc_usable_size(p));
  std::free(p);
}
inline void* aligned(std::size_t n, std::align_val_t a) {
  const auto align = static_cast<std::size_t>(a);
  return counted(std::aligned_alloc(align, (n + align - 1) / align * align));
}

}  // namespace kvscope::testing

void* operator new(std::size_t n) { return kvscope::testing::counted(std::malloc(n > 0 ? n : 1)); }
void* operator new[](std::size_t n) { return kvscope::testing::counted(std::malloc(n > 0 ? n : 1)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return kvscope::testing::counted_or_null(std::malloc(n > 0 ? n : 1)); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return kvscope::testing::counted_or_null(std::malloc(n > 0 ? n : 1));
}
void* operator new(std::size_t n, std::align_val_t a) { return kvscope::testing::aligned(n, a); }
void* operator new[](std::size_t n, std::align_val_t a) { return kvscope::testing::aligned(n, a); }
void operator delete(void* p) noexcept { kvscope::testing::uncounted(p); }
void operator delete[](void* p) noexcept { kvscope::testing::uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { kvscope::testing::uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { kvscope::testing::uncounted(p); }
void operator delete(void* p, std::align_val_t) noexcept { kvscope::testing::uncounted(p); }
void operator delete[](void* p, std::align_val_t) noexcept { kvscope::testing::uncounted(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { kvscope::testing::uncounted(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { kvscope::testing::uncounted(p); }
