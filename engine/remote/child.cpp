// SPDX-License-Identifier: Apache-2.0
#include "remote/child.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include "core/error.h"
#include "io/quote_name.h"

extern char** environ;

namespace kvscope::remote {

namespace {
constexpr int kGraceMs = 1000;            // for a program whose input has ended
constexpr std::size_t kWords = 16 << 10;  // bytes of its error stream that are kept
}  // namespace

Child::Child(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in_.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_.write.get(), STDERR_FILENO);
  sigset_t none, pipe;
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawnp(&id_, command.front().c_str(), &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw Error(fmt::format("{} could not be started: {}", quote_name(command.front()), std::strerror(failed)));
  in_.read.close();
  out_.write.close();
  errors_.write.close();
  ::fcntl(errors_.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(in_.write.get(), F_SETFL, O_NONBLOCK);
}

Child::~Child() {
  end_input();
  out_.read.close();  // a program that writes learns that nobody reads
  if (wait_for_end(kGraceMs)) return;
  ::kill(id_, SIGKILL);
  while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) continue;
}

bool Child::wait_for_end(int ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (!ended_) {
    const pid_t got = ::waitpid(id_, &status_, WNOHANG);
    ended_ = got == id_ || (got < 0 && errno == ECHILD);
    if (!ended_ && std::chrono::steady_clock::now() > until) return false;
    if (!ended_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void Child::listen() {
  std::array<char, 4096> buffer{};
  for (ssize_t n; (n = ::read(errors_.read.get(), buffer.data(), buffer.size())) > 0;) {
    words_.append(buffer.data(), static_cast<std::size_t>(n));
    if (words_.size() > kWords) words_.erase(0, words_.size() - kWords);
  }
}

std::string Child::last_words() {
  listen();
  std::string line = words_;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) line.pop_back();
  line = line.substr(line.rfind('\n') + 1);
  if (!line.empty()) return line;
  if (!wait_for_end(200)) return {};
  if (WIFSIGNALED(status_)) return fmt::format("it was ended by signal {}", WTERMSIG(status_));
  if (WIFEXITED(status_)) return fmt::format("it ended with status {}", WEXITSTATUS(status_));
  return {};
}

}  // namespace kvscope::remote
