// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

namespace kvscope {

/// An index that cannot be mistaken for an index of another kind. Zero-based.
template <class Tag>
struct Index {
  int value = 0;

  constexpr Index() = default;
  constexpr explicit Index(int v) : value(v) {}
  constexpr auto operator<=>(const Index&) const = default;
};

using LayerIdx = Index<struct LayerTag>;
using KvHeadIdx = Index<struct KvHeadTag>;
using QHeadIdx = Index<struct QHeadTag>;
using SlotIdx = Index<struct SlotTag>;    // place in the cache of one (layer, KV head), in order of pos
using TokenPos = Index<struct TokenTag>;  // original position of a token in the text

}  // namespace kvscope
