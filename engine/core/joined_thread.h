// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>
#include <utility>

namespace kvscope {

/// A thread that is waited for when its owner goes: std::jthread, which libc++ does not have, without its request to stop.
class JoinedThread {
 public:
  template <class Body, class... Arguments>
  explicit JoinedThread(Body&& body, Arguments&&... arguments) : thread_(std::forward<Body>(body), std::forward<Arguments>(arguments)...) {}
  JoinedThread(JoinedThread&&) = default;
  JoinedThread& operator=(JoinedThread&&) = delete;
  ~JoinedThread() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace kvscope
