// SPDX-License-Identifier: Apache-2.0
// Stands before the C library (glibc): in a test program that links it, fail_call() says what fails; loaded by LD_PRELOAD into any program,
// KVSCOPE_FAULT=KIND:NTH:ERRNO does, over all threads, and with a '+' at the end every call after it too, as on a full disk. Nothing here
// may allocate.
#include "reliability/faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

using kvscope::testing::Fault;

std::atomic<int> kind{-1};  // -1: nothing fails
std::atomic<long> left{0};
std::atomic<int> number{0};
std::atomic<bool> of_all_threads{false}, for_good{false}, failed{false};
std::atomic<long long> allocated{0};
__attribute__((tls_model("initial-exec"))) thread_local bool chosen = false;

/// True: this call is to fail, and errno says why.
bool fails(Fault what) {
  if (kind.load(std::memory_order_relaxed) != static_cast<int>(what) || !(chosen || of_all_threads)) return false;
  const long now = left.fetch_sub(1);
  if (now > 1 || (now < 1 && !for_good)) return false;
  failed = true;
  errno = number;
  return true;
}

void* counted(void* p) {
  if (p) allocated += static_cast<long long>(::malloc_usable_size(p));
  return p;
}

template <class Call>
Call* next(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

/// Asked for before any memory can be short.
const auto real_write = next<ssize_t(int, const void*, std::size_t)>("write");
const auto real_fsync = next<int(int)>("fsync");
const auto real_rename = next<int(const char*, const char*)>("rename");
const auto real_open = next<int(const char*, int, ...)>("open");

/// KVSCOPE_FAULT, before main().
const bool taken = [] {
  const char* text = std::getenv("KVSCOPE_FAULT");
  if (!text) return false;
  char name[16] = "";
  long nth = 0;
  int error = 0;
  char more = 0;
  if (std::sscanf(text, "%15[a-z]:%ld:%d%c", name, &nth, &error, &more) < 3) std::abort();
  const char* const names[] = {"allocation", "write", "sync", "rename", "open"};
  for (int i = 0; i < 5; ++i)
    if (std::strcmp(names[i], name) == 0) kind = i;
  if (kind < 0) std::abort();
  left = nth, number = error, for_good = more == '+', of_all_threads = true;
  return true;
}();

}  // namespace

namespace kvscope::testing {

void fail_call(Fault what, long nth, int error) {
  left = nth, number = error, failed = false, for_good = false;
  chosen = true;
  kind = static_cast<int>(what);
}

bool stop_failing() {
  kind = -1;
  chosen = false;
  return failed;
}

long long allocated_bytes() { return allocated; }

}  // namespace kvscope::testing

extern "C" {

void* malloc(std::size_t n) { return fails(Fault::allocation) ? nullptr : counted(__libc_malloc(n)); }

void* calloc(std::size_t n, std::size_t size) { return fails(Fault::allocation) ? nullptr : counted(__libc_calloc(n, size)); }

void* realloc(void* p, std::size_t n) {
  if (n > 0 && fails(Fault::allocation)) return nullptr;
  const long long before = p ? static_cast<long long>(::malloc_usable_size(p)) : 0;
  void* const out = __libc_realloc(p, n);
  if (out || n == 0) allocated -= before;
  return counted(out);
}

void* memalign(std::size_t align, std::size_t n) { return fails(Fault::allocation) ? nullptr : counted(__libc_memalign(align, n)); }

void* aligned_alloc(std::size_t align, std::size_t n) { return memalign(align, n); }

int posix_memalign(void** out, std::size_t align, std::size_t n) {
  void* const p = memalign(align, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}

void free(void* p) {
  if (p) allocated -= static_cast<long long>(::malloc_usable_size(p));
  __libc_free(p);
}

ssize_t write(int file, const void* bytes, std::size_t n) { return file > 2 && fails(Fault::write) ? -1 : real_write(file, bytes, n); }

/// A test that lets a thousand calls fail does not wait for a disk.
int fsync(int file) { return fails(Fault::sync) ? -1 : chosen ? 0 : real_fsync(file); }

int rename(const char* from, const char* to) noexcept { return fails(Fault::rename) ? -1 : real_rename(from, to); }

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return fails(Fault::open) ? -1 : real_open(path, flags, mode);
}

}  // extern "C"
