// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/why/why_stored.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

std::string off_by(const char* what, double error) {
  return std::isnan(error) ? fmt::format("{} in full precision", what) : fmt::format("{} off by {}", what, format_percent(error));
}

/// Slots that were stored with this one, as positions.
std::string block_text(const HeadRecord& head, int block) {
  int n = 0, first = -1, last = -1;
  for (std::size_t i = 0; i < head.stored_block.size() && i < head.pos.size(); ++i)
    if (head.stored_block[i] == block) {
      if (n++ == 0) first = head.pos[i];
      last = head.pos[i];
    }
  return n == 1 ? std::string("its key was stored by itself") : fmt::format("{} keys of {} to {} were stored together", n, first, last);
}

WhyStep form_step(const HeadPick& pick, std::size_t slot) {
  const HeadRecord& head = *pick.values;
  WhyStep step;
  step.title = fmt::format("Computed as if stored: {}, {}", off_by("key", head.key_error[slot]), off_by("value", head.value_error[slot]));
  if (!pick.run->stored_as.empty()) step.lines.push_back(pick.run->stored_as);
  if (head.stored_block[slot] >= 0) step.lines.push_back(block_text(head, head.stored_block[slot]));
  return step;
}

WhyStep page_step(const HeadPick& pick, std::size_t slot) {
  const HeadRecord& head = *pick.values;
  const std::size_t page = slot / static_cast<std::size_t>(head.page);
  WhyStep step;
  if (page >= head.page_scores.size()) {
    step.title = "Read: the query stands in its page";
    return step;
  }
  const bool unread = std::ranges::binary_search(head.unread, head.pos[slot]);
  double limit = kNotAvailable;  // of the pages that were read the lowest; of those that were not the highest
  for (std::size_t p = 0; p < head.page_scores.size(); ++p) {
    const std::size_t first = p * static_cast<std::size_t>(head.page);
    if (first >= head.pos.size() || std::ranges::binary_search(head.unread, head.pos[first]) == unread) continue;
    const double score = head.page_scores[p];
    if (std::isnan(limit) || (unread ? score < limit : score > limit)) limit = score;
  }
  step.title =
      fmt::format("{}: its page may give the query at most {}", unread ? "Kept, not read" : "Read", format_number(head.page_scores[page]));
  if (!std::isnan(limit))
    step.lines.push_back(fmt::format("{}: {}", unread ? "lowest page that was read" : "highest page that was not", format_number(limit)));
  step.lines.push_back("Σ over channels of max(q · least, q · most) of the page's keys; of the group's query heads the largest");
  return step;
}

}  // namespace

std::vector<WhyStep> why_stored_steps(const HeadPick& pick, int pos) {
  std::vector<WhyStep> out;
  if (pick.values == nullptr) return out;
  const HeadRecord& head = *pick.values;
  const auto place = std::ranges::lower_bound(head.pos, pos);
  if (place == head.pos.end() || *place != pos) return out;
  const auto slot = static_cast<std::size_t>(place - head.pos.begin());
  const bool stored = slot < head.stored_block.size() && slot < head.key_error.size() && slot < head.value_error.size();
  if (stored && (head.stored_block[slot] >= 0 || !std::isnan(head.value_error[slot]))) out.push_back(form_step(pick, slot));
  if (head.page > 0 && !head.page_scores.empty()) out.push_back(page_step(pick, slot));
  return out;
}

}  // namespace kvscope::viz
