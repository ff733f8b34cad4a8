// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/head_view.h"
#include "slots/slot_state.h"

namespace kvscope {

/// Slots whose keys and whose values leave full precision now, ascending.
struct ToStore {
  std::vector<int> keys, values;
};

/// Of a head: slots, stored keys and values, and blocks that keys share.
struct StoredCounts {
  int n = 0, keys = 0, values = 0, blocks = 0;
  bool operator==(const StoredCounts&) const = default;
};

/// Whose rows are stored.
struct StoreSite {
  int head_dim = 0, group = 1;             // width of a row, query heads of the KV head
  const PromptQueries* queries = nullptr;  // right after the prompt, where the storage needs them
};

/// The part that says in which form keys and values stand in the cache (POLICIES.md section 4.6). It is a simulation: a stored row is
/// replaced by what would be read back, and bytes are counted as if it were stored.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Adds the statistics it reads.
  virtual void require(StatNeeds& needs) const { needs.stored = true; }
  /// True: works only where the whole prompt is seen at once (prefill).
  virtual bool needs_prompt() const { return false; }
  /// What a step has left to store, after its compression.
  virtual ToStore due(const SlotState& slots, bool after_prompt) const = 0;
  /// Keys of one block, of those that are stored together; 0: all of them.
  virtual int block() const = 0;
  /// Rows [n, head_dim] of the slots that are due, in place: what is read from now on.
  virtual void round_keys(const StoreSite& site, std::span<double> rows) const = 0;
  virtual void round_values(const StoreSite& site, std::span<double> rows) const = 0;
  /// What there is of a prompt of n tokens once it is stored.
  virtual StoredCounts of_prompt(int n) const = 0;
  /// What a stored number becomes, for people: one line, with the numbers of this storage.
  virtual std::string equation() const = 0;
  /// Of the keys and values of a head, with all that they are stored with. full: bytes of a number in full precision.
  virtual double bytes(const StoredCounts& of, int head_dim, double full) const = 0;
  /// Of its key that says how much is stored: the value with which a prompt of n tokens takes at most `room` bytes in a head, and as little
  /// as possible is lost. nullopt: with none it takes so few.
  virtual std::optional<double> fitting(double room, int n, int head_dim, double full) const = 0;
  /// The fewest bytes that a prompt of n tokens can take in a head.
  virtual double least_bytes(int n, int head_dim, double full) const = 0;
};

/// Notes that these were stored.
void mark_stored(SlotState& slots, const ToStore& due, int block);

StoredCounts count_stored(const SlotState& slots);

/// Slots whose key (or value) stands in full precision and is not among the newest `residual` slots.
std::vector<int> older_than(const SlotState& slots, int residual, bool keys);

}  // namespace kvscope
