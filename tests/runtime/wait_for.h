// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "snapshot/snapshot.h"

namespace kvscope::testing {

/// Waits until the mailbox holds a snapshot that `done` accepts; fails after 20 s.
template <class Done>
SnapshotPtr wait_for(const Mailbox& mailbox, Done done) {
  for (int i = 0; i < 4000; ++i) {
    SnapshotPtr s = mailbox.latest();
    if (s && done(*s)) return s;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << "no such snapshot in 20 s";
  return mailbox.latest();
}

}  // namespace kvscope::testing
