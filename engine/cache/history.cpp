// SPDX-License-Identifier: Apache-2.0
#include "cache/history.h"

#include <algorithm>

#include "core/error.h"

namespace kvscope {

std::byte* History::row_of(const Page& page, int kv_head, bool is_value, int row) const {
  const int place = (2 * kv_head + (is_value ? 1 : 0)) * kPage + row;
  return const_cast<std::byte*>(page.rows.as<std::byte>()) + head_bytes_ * static_cast<std::size_t>(place);
}

History::Page& History::page_to_write() {
  const bool full = n_ % kPage == 0;
  if (!full && pages_.back().use_count() == 1) return *pages_.back();
  auto page = std::make_shared<Page>();
  page->rows = backend_->allocate(head_bytes_ * static_cast<std::size_t>(2 * kPage * n_kv_heads_));
  if (full) {
    pages_.push_back(std::move(page));
  } else {
    backend_->copy(page->rows.data(), pages_.back()->rows.data(), page->rows.bytes());
    pages_.back() = std::move(page);
  }
  return *pages_.back();
}

void History::append(const void* k, const void* v, std::size_t head_bytes, int n) {
  KVSCOPE_ASSERT(n_ == 0 || head_bytes == head_bytes_);
  head_bytes_ = head_bytes;
  std::vector<RowsJob> jobs;
  for (int done = 0; done < n;) {
    const Page& page = page_to_write();
    const int row = n_ % kPage, here = std::min(kPage - row, n - done);
    for (int h = 0; h < n_kv_heads_; ++h) {
      const std::size_t offset =
          head_bytes * (static_cast<std::size_t>(done) * static_cast<std::size_t>(n_kv_heads_) + static_cast<std::size_t>(h));
      for (const bool is_value : {false, true})
        jobs.push_back({row_of(page, h, is_value, row), static_cast<const std::byte*>(is_value ? v : k) + offset, here});
    }
    done += here;
    n_ += here;
  }
  backend_->copy_rows(jobs, head_bytes, n_kv_heads_);
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
  const Page& page = *pages_[static_cast<std::size_t>(pos / kPage)];
  return {row_of(page, kv_head, false, pos % kPage), row_of(page, kv_head, true, pos % kPage), 1};
}

std::size_t History::own_bytes() const {
  std::size_t total = 0;
  for (const auto& page : pages_)
    if (page.use_count() == 1) total += page->rows.bytes();
  return total;
}

std::size_t History::bytes() const {
  std::size_t total = 0;
  for (const auto& page : pages_) total += page->rows.bytes();
  return total;
}

}  // namespace kvscope
