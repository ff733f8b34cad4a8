// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/chunk_selection.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace kvscope {
namespace {

struct Chunk {
  std::vector<int> free;  // slots that may go
  int n = 0;              // all its slots
  double score = 0;       // mean over those that may go
  bool holds_protected() const { return static_cast<int>(free.size()) < n; }
};

std::vector<Chunk> chunks_of(const HeadDecision& head, int size) {
  std::vector<Chunk> chunks;
  int stretch = -1;
  for (int i = 0; i < head.slots().size(); ++i) {
    const auto slot = static_cast<std::size_t>(i);
    if (head.slots().pos[slot] / size != stretch) chunks.emplace_back();
    stretch = head.slots().pos[slot] / size;
    ++chunks.back().n;
    if (!head.is_protected[slot]) chunks.back().free.push_back(i);
  }
  for (Chunk& c : chunks) {
    for (const int i : c.free) c.score += head.score[static_cast<std::size_t>(i)] / static_cast<double>(c.free.size());
    if (std::isnan(c.score)) c.score = -std::numeric_limits<double>::infinity();
  }
  return chunks;
}

}  // namespace

std::string ChunkSelection::equation() const { return fmt::format("mean of each stretch of {} tokens", size_); }

void ChunkSelection::select(HeadDecision& head, int) const {
  std::vector<Chunk> chunks = chunks_of(head, size_);
  for (const Chunk& c : chunks)
    for (const int i : c.free) head.plan.score[static_cast<std::size_t>(i)] = head.score[static_cast<std::size_t>(i)] = c.score;
  std::ranges::stable_sort(chunks, [](const Chunk& a, const Chunk& b) {
    return a.holds_protected() != b.holds_protected() ? a.holds_protected() : a.score > b.score;
  });
  const int n = head.slots().size(), budget = head.budget.value_or(n);
  const double off = std::abs(ratio_ * n - budget);  // after the prompt it was rounded; later the budget's share of what there is
  const bool as_given = as_removed_ ? off < 1 : off <= 0.5 + 1e-9;
  const double share = as_given ? ratio_ : static_cast<double>(budget) / n, slack = as_given && as_removed_ ? 0 : 1e-9;
  const auto wanted = static_cast<std::size_t>(std::max(1.0, std::floor(share * static_cast<double>(chunks.size()) + slack)));
  head.gone.clear();
  for (std::size_t left = chunks.size(); left > 0; --left) {
    const bool enough = keeps_ == Keeps::share ? left <= wanted : n - static_cast<int>(head.gone.size()) <= budget;
    if (enough) break;
    head.gone.insert(head.gone.end(), chunks[left - 1].free.begin(), chunks[left - 1].free.end());
  }
  std::ranges::sort(head.gone);
  keep_the_rest(head);
}

}  // namespace kvscope
