// SPDX-License-Identifier: Apache-2.0
#include "io/confined.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/machine_memory.h"
#include "io/files.h"
#include "io/pipe.h"

namespace kvscope {
namespace {

constexpr int kNoMemory = 3;  // status of a copy that was refused memory
// The processor's time is what is limited; this is for a copy that waits for a lock which another thread held when it was made.
constexpr std::chrono::seconds kPatience{30};

/// What comes through the pipe before the text.
struct Heading {
  char made = 0;  // 0: the text is the message of an exception
  std::uint64_t bytes = 0;
};

void limit(__rlimit_resource what, rlim_t most) {
  rlimit allowed{};
  ::getrlimit(what, &allowed);
  most = std::min(allowed.rlim_max, most);
  allowed = {most, most};
  ::setrlimit(what, &allowed);
}

/// Never returns: neither what is written at the end of the process nor what a crash report would say is this copy's to write.
[[noreturn]] void work_there(const std::function<std::string()>& work, const Confinement& limits, const FileHandle& out) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGPIPE}) ::signal(signal, SIG_DFL);
  std::set_new_handler([] { ::_exit(kNoMemory); });
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.processor_s));
  limit(RLIMIT_AS, static_cast<rlim_t>(process_memory().addresses) + (limits.memory_mib << 20));
  Heading heading;
  std::string text;
  try {
    text = work();
    heading.made = 1;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
    text = "an unknown error";
  }
  heading.bytes = text.size();
  try {
    write_all(out, {reinterpret_cast<const char*>(&heading), sizeof heading}, "the pipe");
    write_all(out, text, "the pipe");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

/// Reads n bytes; false: they did not come, or not in time.
bool read_all(int from, void* bytes, std::size_t n, std::chrono::steady_clock::time_point until) {
  for (char* at = static_cast<char*>(bytes); n > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd ready{from, POLLIN, 0};
    const int n_ready = left > 0 ? ::poll(&ready, 1, static_cast<int>(left)) : 0;
    if (n_ready < 0 && errno == EINTR) continue;
    if (n_ready <= 0) return false;
    const ssize_t got = ::read(from, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string why(int status, const Confinement& limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory) return fmt::format("it needs more than {} MiB of memory", limits.memory_mib);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGXCPU || signal == SIGKILL) return fmt::format("it needs more than {} s of processor time", limits.processor_s);
  return fmt::format("it brings its reader down ({})", signal != 0 ? ::strsignal(signal) : fmt::format("status {}", WEXITSTATUS(status)));
}

}  // namespace

std::string confined(const std::function<std::string()>& work, const Confinement& limits) {
  Pipe pipe;
  const pid_t copy = ::fork();
  if (copy < 0) throw Error(fmt::format("a process could not be started: {}; close other programs", std::strerror(errno)));
  if (copy == 0) work_there(work, limits, pipe.write);
  pipe.write.close();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  Heading heading;
  std::string text;
  bool whole = read_all(pipe.read.get(), &heading, sizeof heading, until);
  const bool fits = whole && heading.bytes <= limits.text_bytes;
  if (fits) {
    text.resize(heading.bytes);
    whole = read_all(pipe.read.get(), text.data(), text.size(), until);
  }
  if (!whole || !fits) ::kill(copy, SIGKILL);  // does nothing to one that has ended: how it ended stays
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) continue;
  if (whole && !fits) throw Confined(fmt::format("its text has {} bytes; expected at most {}", heading.bytes, limits.text_bytes));
  if (!whole) throw Confined(why(status, limits));
  if (heading.made == 0) throw Error(text);
  return text;
}

}  // namespace kvscope
