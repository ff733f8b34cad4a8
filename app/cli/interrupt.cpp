// SPDX-License-Identifier: Apache-2.0
#include "app/cli/interrupt.h"

#include <sys/time.h>
#include <unistd.h>
#include <csignal>

#include <atomic>

namespace kvscope::cli {

namespace {

// A signal handler has no argument to carry state in, so these cannot belong to the object.
std::atomic<CancelToken*> active_token = nullptr;
std::atomic<int> critical_sections = 0, signals = 0;
static_assert(std::atomic<CancelToken*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// setitimer is a plain system call here (Linux), safe inside a handler.
void leave_after(int ms) {
  const itimerval when{{0, 0}, {0, ms * 1000}};
  setitimer(ITIMER_REAL, &when, nullptr);
}

void on_stop(int) {
  if (CancelToken* token = active_token.load()) token->cancel();
  signals.fetch_add(1);
  leave_after(150);
}

void on_timer(int) {
  if (critical_sections.load() > 0 && signals.load() < 2) {
    leave_after(20);
    return;
  }
  constexpr char kWords[] = "kvscope-cli: stopped\n";
  [[maybe_unused]] const auto n = write(STDERR_FILENO, kWords, sizeof kWords - 1);
  _exit(Interrupt::kExitStatus);
}

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction old {};
  if (sigaction(signal_number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;  // started with nohup or in the background
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  active_token.store(&token_);
  handle(SIGALRM, on_timer);
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
}

Interrupt::~Interrupt() {
  for (const int s : {SIGINT, SIGTERM}) std::signal(s, SIG_DFL);
  leave_after(0);  // disarms
  std::signal(SIGALRM, SIG_DFL);
  active_token.store(nullptr);
}

Interrupt::Critical::Critical() { critical_sections.fetch_add(1); }
Interrupt::Critical::~Critical() { critical_sections.fetch_sub(1); }

}  // namespace kvscope::cli
