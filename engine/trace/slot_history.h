// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace kvscope {

/// Which tokens have a slot in one head while a trace is read, by its events alone: what its other numbers are compared with.
class SlotHistory {
 public:
  /// A step has read the text up to this position.
  void read_to(int position) {
    for (; static_cast<int>(has_.size()) <= position; ++n_) has_.push_back(true);
  }
  bool has(int pos) const { return pos >= 0 && static_cast<std::size_t>(pos) < has_.size() && has_[static_cast<std::size_t>(pos)]; }
  /// True as well where track was lost.
  bool may_have(int pos) const { return !known_ || has(pos); }
  int size() const { return n_; }
  /// Tokens that were read so far.
  int n_tokens() const { return static_cast<int>(has_.size()); }
  void leave(int pos) { set(pos, false); }
  void come_back(int pos) { set(pos, true); }
  /// An event of a kind that is not known may have done anything from here on.
  void lose_track() { known_ = false; }
  bool known() const { return known_; }

 private:
  void set(int pos, bool to) {
    n_ += (to ? 1 : 0) - (has(pos) ? 1 : 0);
    has_[static_cast<std::size_t>(pos)] = to;
  }

  std::vector<bool> has_;
  int n_ = 0;
  bool known_ = true;
};

}  // namespace kvscope
