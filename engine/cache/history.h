// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"

namespace kvscope {

/// The uncompressed keys (rotated) and values of one layer: what a lane would hold without a policy. Pages of kPage tokens; a copy shares
/// them and writes to its own (copy-on-write), so lanes that saw the same prompt hold it once.
class History {
 public:
  static constexpr int kPage = 64;

  History(Backend& backend, int n_kv_heads) : backend_(&backend), n_kv_heads_(n_kv_heads) {}

  int size() const { return n_; }
  /// n tokens: k, v [n, n_kv_heads, head_dim] in backend memory.
  void append(const void* k, const void* v, std::size_t head_bytes, int n = 1);
  /// Forgets every token from position n on.
  void truncate(int n);
  /// Tokens [first, n) of one KV head (n < 0: all), in order.
  std::vector<KvSegment> segments(int kv_head, int n = -1, int first = 0) const;
  /// Key (rotated) and value of one token in one KV head: a segment of one slot.
  KvSegment token(int kv_head, int pos) const;
  /// Bytes of pages that nobody else holds, and of all pages.
  std::size_t own_bytes() const;
  std::size_t bytes() const;

 private:
  struct Page {
    Buffer rows;  // [n_kv_heads][keys, values][kPage, head_dim]
  };
  /// The last page, with room and nobody else's.
  Page& page_to_write();
  std::byte* row_of(const Page& page, int kv_head, bool is_value, int row) const;

  Backend* backend_;
  int n_kv_heads_;
  int n_ = 0;
  std::size_t head_bytes_ = 0;
  std::vector<std::shared_ptr<Page>> pages_;
};

}  // namespace kvscope
