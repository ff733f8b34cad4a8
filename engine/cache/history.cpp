// SPDX-License-Identifier: Apache-2.0
#include "cache/history.h"

#include <algorithm>

#include "core/error.h"

namespace kvscope {

void History::append(const void* k, const void* v, std::size_t head_bytes) {
  if (n_ % kPage == 0) {
    auto page = std::make_shared<Page>();
    for (int h = 0; h < n_kv_heads_; ++h) page->heads.push_back(backend_->make_kv(kPage));
    pages_.push_back(std::move(page));
  } else if (pages_.back().use_count() > 1) {
    auto own = std::make_shared<Page>();
    for (const HeadKv& head : pages_.back()->heads) own->heads.push_back(backend_->clone_kv(head));
    pages_.back() = std::move(own);
  }
  Page& page = *pages_.back();
  for (int h = 0; h < n_kv_heads_; ++h) {
    HeadKv& kv = page.heads[h];
    kv.n_slots = n_ % kPage;  // a page that a longer history left behind may hold more
    const std::size_t offset = head_bytes * static_cast<std::size_t>(h);
    backend_->append_kv(kv, static_cast<const std::byte*>(k) + offset, static_cast<const std::byte*>(v) + offset, 1);
  }
  ++n_;
}

void History::truncate(int n) {
  KVSCOPE_ASSERT(n >= 0 && n <= n_);
  pages_.resize((n + kPage - 1) / kPage);
  n_ = n;
}

std::vector<KvSegment> History::segments(int kv_head, int n, int first) const {
  if (n < 0) n = n_;
  KVSCOPE_ASSERT(n <= n_);
  std::vector<KvSegment> out;
  out.reserve(pages_.size());
  for (int begin = first; begin < n; begin = (begin / kPage + 1) * kPage) {
    KvSegment segment = token(kv_head, begin);
    segment.n = std::min(kPage - begin % kPage, n - begin);
    out.push_back(segment);
  }
  return out;
}

KvSegment History::token(int kv_head, int pos) const {
  KVSCOPE_ASSERT(pos >= 0 && pos < n_);
  const HeadKv& kv = pages_[static_cast<std::size_t>(pos / kPage)]->heads[static_cast<std::size_t>(kv_head)];
  const std::size_t row = kv.k.bytes() / static_cast<std::size_t>(kv.capacity) * static_cast<std::size_t>(pos % kPage);
  return {static_cast<const std::byte*>(kv.k.data()) + row, static_cast<const std::byte*>(kv.v.data()) + row, 1};
}

std::size_t History::own_bytes() const {
  std::size_t total = 0;
  for (const auto& page : pages_) {
    if (page.use_count() > 1) continue;
    for (const HeadKv& kv : page->heads) total += kv.k.bytes() + kv.v.bytes();
  }
  return total;
}

std::size_t History::bytes() const {
  std::size_t total = 0;
  for (const auto& page : pages_) {
    for (const HeadKv& kv : page->heads) total += kv.k.bytes() + kv.v.bytes();
  }
  return total;
}

}  // namespace kvscope
