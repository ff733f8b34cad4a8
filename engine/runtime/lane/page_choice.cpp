// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/page_choice.h"

#include <utility>

#include "cache/page_bounds.h"

namespace kvscope {

namespace {
/// Added to the logit of a slot that is not read: its probability is 0 beside any logit, and yet it is a finite number of every type.
constexpr double kNotRead = -1e30;
}  // namespace

std::vector<int> choose_pages(Backend& backend, const ModelConfig& config, const Policy& policy, int layer, HeadCache& head, const void* q,
                              bool captures, std::vector<double>& bias, HeadRecord& record) {
  const PageReading* const reading = policy.reading();
  std::vector<int> unread;
  if (!reading || reading->reads_all(layer) || config.window(layer) > 0) return unread;
  complete_page_bounds(backend, head, reading->page(), config.head_dim);
  std::vector<double> query(static_cast<std::size_t>(config.group()) * config.head_dim);
  backend.to_double(query, q);
  const int n = head.slots.size(), page = reading->page();
  std::vector<double> scores = reading->scores(query, head.pages, n, config.head_dim);
  for (const int p : reading->unread_pages(scores))
    for (int i = p * page; i < (p + 1) * page; ++i) unread.push_back(i);
  record.page = page;
  const auto rows = static_cast<double>(n - std::ssize(unread) + std::ssize(scores));  // bounds: two rows of a page
  record.read_bytes = rows * static_cast<double>(2 * size_of(backend.dtype())) * config.head_dim;
  if (captures) record.page_scores = std::move(scores);
  if (unread.empty()) return unread;
  bias.resize(static_cast<std::size_t>(n), 0.0);
  for (const int i : unread) {
    bias[static_cast<std::size_t>(i)] = kNotRead;
    record.unread.push_back(head.slots.pos[static_cast<std::size_t>(i)]);
  }
  return unread;
}

void set_unread(std::span<double> p, int group, std::span<const int> unread) {
  const std::size_t n = p.size() / static_cast<std::size_t>(group);
  for (std::size_t first = 0; first < p.size(); first += n)
    for (const int i : unread) p[first + static_cast<std::size_t>(i)] = 0;
}

}  // namespace kvscope
