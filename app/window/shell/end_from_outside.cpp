// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/end_from_outside.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>

#include <atomic>

#include <QSocketNotifier>

namespace kvscope {

namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP};
std::atomic<int> write_end = -1;  // a signal handler has no argument to carry it in
static_assert(std::atomic<int>::is_always_lock_free);

void tell(int signal) {
  const int before = errno;
  const auto word = static_cast<char>(signal);
  [[maybe_unused]] const auto n = ::write(write_end.load(), &word, 1);
  errno = before;
}

}  // namespace

EndFromOutside::EndFromOutside(QObject* parent) : QObject(parent) {
  if (::pipe2(m_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;  // then signals end the program as ever
  m_told = new QSocketNotifier(m_ends[0], QSocketNotifier::Read, this);
  connect(m_told, &QSocketNotifier::activated, this, [this] {
    char signal = 0;
    if (::read(m_ends[0], &signal, 1) == 1) Q_EMIT asked(signal);
  });
  write_end.store(m_ends[1]);
  for (const int signal : kSignals) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = tell;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

EndFromOutside::~EndFromOutside() {
  if (!m_told) return;
  for (const int signal : kSignals) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == tell) std::signal(signal, SIG_DFL);
  }
  delete m_told;
  for (const int end : m_ends) ::close(end);
}

}  // namespace kvscope
