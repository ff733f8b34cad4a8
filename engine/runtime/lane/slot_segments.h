// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "backend/backend.h"
#include "cache/head_cache.h"
#include "core/config.h"

namespace kvscope {

// How queries meet a cache: which keys under which rotation.

/// Slots of one cache: sinks that are seen nearer than they are, where there are such, and the others.
struct SlotSegments {
  KvSegment parts[2];
  std::size_t n = 0;
  operator std::span<const KvSegment>() const { return {parts, n}; }
};

/// positions=ceiling: slots with pos < n are never seen from farther away than this (in tokens); nullopt: as they are.
struct SinkView {
  std::optional<int> ceiling;
  int n = 0;
};

/// The slots of a head as attention sees them. Sinks that are farther away than the ceiling are seen at that distance; a
/// key rotated to (position - ceiling) gives the same logits as the unrotated key against the query rotated to the ceiling, because only
/// the distance counts.
/// buffer: for those.
SlotSegments segments_of(Backend& backend, const ModelConfig& config, const HeadCache& head, const SinkView& sinks, Buffer& buffer);

/// The queries of a head's group, [group, head_dim] at `position`, as this cache needs them: with unrotated keys, rotated to the index of
/// their own slot instead of their position.
const void* query_for(Backend& backend, const ModelConfig& config, const HeadCache& head, const void* q, int position, Buffer& buffer);
/// Of all heads of a layer.
const void* queries_for(Backend& backend, const ModelConfig& config, std::span<const HeadCache> heads, const void* q, int position,
                        Buffer& buffer);

/// Room for so many numbers of the backend's type, in memory that is used again.
void* reserve(Backend& backend, Buffer& buffer, std::size_t elements);

}  // namespace kvscope
