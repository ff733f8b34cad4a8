// SPDX-License-Identifier: Apache-2.0
#include "remote/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <unistd.h>

#include <fmt/core.h>

#include "core/error.h"
#include "io/quote_name.h"
#include "remote/bytes.h"

namespace kvscope::remote {

namespace {

constexpr std::size_t kHead = 5;                       // bytes before those of a message
constexpr std::size_t kAtOnce = std::size_t(1) << 20;  // room is made as bytes come
constexpr int kLookMs = 50;                            // between looks whether a line was given up
constexpr std::size_t kShown = 80;                     // bytes of something else
const std::string kMagic = "kvscope engine";

void write_all(int fd, const char* data, std::size_t n, const std::function<bool()>& give_up) {
  while (n > 0) {
    const ssize_t written = ::write(fd, data, n);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      if (give_up && give_up()) throw Error("the line to the other side was given up");
      pollfd waiting{fd, POLLOUT, 0};
      ::poll(&waiting, 1, kLookMs);
      continue;
    }
    if (written < 0) throw Error(fmt::format("the line to the other side is broken: {}", std::strerror(errno)));
    data += written;
    n -= static_cast<std::size_t>(written);
  }
}

}  // namespace

void write_message(int fd, Kind kind, std::string_view bytes, const std::function<bool()>& give_up) {
  if (bytes.size() > kMostBytes)
    throw Error(fmt::format("a message of {} bytes is too long: expected at most {}; use fewer runs or a shorter prompt", bytes.size(),
                            kMostBytes));
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::array<char, kHead> head{};
  std::memcpy(head.data(), &length, sizeof length);
  head[4] = static_cast<char>(kind);
  write_all(fd, head.data(), head.size(), give_up);
  write_all(fd, bytes.data(), bytes.size(), give_up);
}

MessageReader::Got MessageReader::fill(std::string& bytes, std::size_t n, std::chrono::steady_clock::time_point until) {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  const bool for_ever = until == steady_clock::time_point::max();
  for (std::size_t have = 0; have < n;) {
    std::array<pollfd, 2> waiting{pollfd{fd_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    const auto left = for_ever ? milliseconds(-1) : std::max(milliseconds(0), duration_cast<milliseconds>(until - steady_clock::now()));
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw Error(fmt::format("the line to the other side cannot be read: {}", std::strerror(errno)));
    if (ready == 0) throw Error("the other side did not answer");
    if (waiting[1].revents != 0) return Got::woken;
    bytes.resize(have + std::min(n - have, kAtOnce));
    const ssize_t got = ::read(fd_, bytes.data() + have, bytes.size() - have);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      bytes.resize(have);
      return Got::end;
    }
    have += static_cast<std::size_t>(got);
    n_bytes_ += static_cast<std::uint64_t>(got);
    bytes.resize(have);
  }
  return Got::all;
}

std::optional<Message> MessageReader::next(std::chrono::milliseconds patience) {
  const auto until = patience.count() > 0 ? std::chrono::steady_clock::now() + patience : std::chrono::steady_clock::time_point::max();
  std::string head;
  const Got got = fill(head, kHead, until);
  if (got == Got::woken || (got == Got::end && head.empty())) return std::nullopt;
  std::uint32_t length = 0;
  if (head.size() == kHead) std::memcpy(&length, head.data(), sizeof length);
  if (got == Got::end || length > kMostBytes || static_cast<unsigned char>(head[4]) >= kKinds) {
    strange_ = head;
    std::string more;  // of a greeting, as far as it is there
    try {
      if (got == Got::all) fill(more, kShown, std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
    } catch (const Error&) {
      more.shrink_to_fit();  // what came is enough
    }
    strange_ += more;
    throw Error(fmt::format("expected messages of kvscope-cli serve, got {}", quote_name(strange_)));
  }
  Message message{static_cast<Kind>(head[4]), {}};
  const Got rest = fill(message.bytes, length, until);
  if (rest == Got::woken) return std::nullopt;
  if (rest == Got::end)
    throw Error(fmt::format("the line ended within a message: expected {} bytes of it, got {}", length, message.bytes.size()));
  return message;
}

std::string hello_bytes(const std::string& version) {
  Writer out;
  out(kMagic, kProtocol, version);
  return out.take();
}

Hello read_hello(const Message& message) {
  std::string magic;
  Hello hello;
  Reader in(message.bytes, 1 << 16);
  if (message.kind == Kind::hello && !message.bytes.empty()) in(magic);
  if (magic != kMagic) throw Error("expected the greeting of kvscope-cli serve, got another message");
  in(hello.protocol, hello.version);
  return hello;
}

void check_versions(const std::string& ours, const Hello& theirs) {
  if (theirs.protocol == kProtocol && theirs.version == ours) return;
  throw Error(fmt::format("here is kvscope {} (protocol {}), there is kvscope {} (protocol {}); install the same version on both machines",
                          ours, kProtocol, quote_name(theirs.version), theirs.protocol));
}

}  // namespace kvscope::remote
