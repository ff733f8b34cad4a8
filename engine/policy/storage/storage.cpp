// SPDX-License-Identifier: Apache-2.0
#include "policy/storage/storage.h"

#include <algorithm>

namespace kvscope {

void mark_stored(SlotState& slots, const ToStore& due, int block) {
  int next = 0;
  for (const auto& cell : slots.stored) next = std::max(next, cell.block + 1);
  for (std::size_t i = 0; i < due.keys.size(); ++i)
    slots.stored[static_cast<std::size_t>(due.keys[i])].block = next + (block > 0 ? static_cast<int>(i) / block : 0);
  for (const int slot : due.values) slots.stored[static_cast<std::size_t>(slot)].value = true;
}

StoredCounts count_stored(const SlotState& slots) {
  StoredCounts out{.n = slots.size()};
  std::vector<char> seen(slots.stored.size(), 0);  // by block: mostly as many as slots at most
  for (const auto& cell : slots.stored) {
    out.values += cell.value;
    if (cell.block < 0) continue;
    ++out.keys;
    const auto block = static_cast<std::size_t>(cell.block);
    if (block >= seen.size()) seen.resize(2 * block, 0);
    out.blocks += seen[block] == 0;
    seen[block] = 1;
  }
  return out;
}

std::vector<int> older_than(const SlotState& slots, int residual, bool keys) {
  std::vector<int> out;
  for (int i = 0; i < slots.size() - residual; ++i) {
    const auto& cell = slots.stored[static_cast<std::size_t>(i)];
    if (keys ? cell.block < 0 : !cell.value) out.push_back(i);
  }
  return out;
}

}  // namespace kvscope
