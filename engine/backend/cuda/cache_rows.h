// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/backend.h"
#include "backend/cuda/device.h"
#include "core/thread_pool.h"

namespace kvscope::cuda {

// Keys and values of caches in a device's memory, as backend.h wants them kept and changed.

HeadKv make_kv(Device& device, int capacity);
HeadKv copy_kv(Device& device, const HeadKv& kv, int capacity);
/// Caches that have no order of their rows yet begin one.
void give_order(Device& device, std::span<HeadKv* const> caches);
void append_kv(Device& device, HeadKv& kv, const void* k, const void* v, int n);
void append_rows(Device& device, std::span<HeadKv* const> heads, const void* k, const void* v);
void remove_slots(Device& device, ThreadPool& pool, std::span<const RemovalJob> jobs);
void combine(Device& device, std::span<const CombineJob> jobs);

}  // namespace kvscope::cuda
