// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace kvscope {

/// Reading a map of a file that another program cuts short is a signal (SIGBUS) that ends the process. In a map that is watched the page
/// becomes zeros instead. At most kMostWatchedMaps at a time; of more, the signal does what it did. Any thread.
inline constexpr int kMostWatchedMaps = 1024;
void watch_map(const void* data, std::size_t size);
void unwatch_map(const void* data);
/// True if a page of this map was replaced.
bool map_has_faults(const void* data);

}  // namespace kvscope
