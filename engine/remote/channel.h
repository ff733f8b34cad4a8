// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope::remote {

/// What is said over the line: a length of four bytes (of what follows), a byte that says what it is, its bytes.
enum class Kind : std::uint8_t { hello, load, run, stop, snapshot, step, outlines, numbers, complete };
inline constexpr int kKinds = 9;
inline constexpr std::size_t kMostBytes = std::size_t(256) << 20;  // of one message

struct Message {
  Kind kind = Kind::hello;
  std::string bytes;
};

/// Writes one message, however long that takes; on a descriptor that does not wait itself until `give_up` says so. Throws Error: the other
/// side has gone, or it was given up.
void write_message(int fd, Kind kind, std::string_view bytes, const std::function<bool()>& give_up = {});

/// The messages that come from a descriptor. Bytes are taken as they arrive: a length alone makes no room.
class MessageReader {
 public:
  /// wake: a descriptor that becomes readable when nobody waits any longer; -1: none.
  explicit MessageReader(int fd, int wake = -1) : fd_(fd), wake_(wake) {}

  /// The next one; nullopt: the other side has ended between two messages, or `wake` is readable. Throws Error: it ended within one, sent
  /// something else, or nothing within `patience` (0: for ever).
  std::optional<Message> next(std::chrono::milliseconds patience = {});
  std::uint64_t n_bytes() const { return n_bytes_; }

 private:
  enum class Got { all, end, woken };
  Got fill(std::string& bytes, std::size_t n, std::chrono::steady_clock::time_point until);

  int fd_, wake_;
  std::string strange_;  // what came instead of a message, as far as it can be shown; empty: nothing
  std::uint64_t n_bytes_ = 0;
};

/// The first message both ways.
struct Hello {
  int protocol = 0;
  std::string version;
};
inline constexpr int kProtocol = 4;
std::string hello_bytes(const std::string& version);
/// Throws Error: this is no hello.
Hello read_hello(const Message& message);
/// Throws Error with both versions where they differ.
void check_versions(const std::string& ours, const Hello& theirs);

}  // namespace kvscope::remote
