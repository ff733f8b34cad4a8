// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope::testing {

/// What the system may refuse. A program that links faults.cpp asks here instead of the C library.
enum class Fault { allocation, write, sync, rename, open };

/// The nth call of this kind by this thread fails from now on (1: the next one), and none after it: with `error` as errno, or without
/// memory.
void fail_call(Fault what, long nth, int error);
/// Ends that. True: the call came and failed.
bool stop_failing();

/// Bytes that the program has allocated and not given back.
long long allocated_bytes();

}  // namespace kvscope::testing
