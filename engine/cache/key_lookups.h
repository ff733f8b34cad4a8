// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "cache/head_cache.h"
#include "policy/head_view.h"

namespace kvscope {

/// What a NearestJob answered, in slots.
std::vector<Nearest> nearest(std::span<const int> to, std::span<const int> places, std::span<const double> cosines);

/// Questions about the keys of several heads, answered together: all that were announced when the first of them is asked. Keys must not
/// change before the last one is. Every function may be called from several threads at the same time.
class KeyLookups {
 public:
  explicit KeyLookups(Backend& backend, int head_dim) : backend_(backend), head_dim_(head_dim) {}

  enum class By { cosine, product };
  /// to: empty: all slots that are not in `from`.
  void expect_nearest(const HeadCache& head, std::span<const int> from, std::span<const int> to, By by = By::cosine);
  void expect_keys(const HeadCache& head, std::span<const int> slots);
  /// Something was announced about one of them.
  bool expects(std::span<const HeadCache> heads);
  std::vector<Nearest> nearest(const HeadCache& head, std::span<const int> from, std::span<const int> to, By by = By::cosine);
  void keys(const HeadCache& head, std::span<const int> slots, std::vector<double>& rows);

 private:
  struct NearestOf {
    const HeadCache* head = nullptr;
    By by = By::cosine;
    std::vector<int> from, to, places;  // of a NearestJob; places: empty until there is an answer
    std::vector<double> cosines;
  };
  struct KeysOf {
    const HeadCache* head = nullptr;
    std::vector<int> slots;
    std::vector<double> rows;  // empty until there is an answer
  };
  template <class Question>
  struct Questions {
    std::deque<Question> all;  // in the order in which they were announced
    std::unordered_map<const HeadCache*, std::vector<Question*>> of_head;
    Question& add(Question question);
    /// nullptr: nobody announced one that `is` this.
    template <class Is>
    Question* find(const HeadCache& head, const Is& is) const;
  };

  NearestOf& add_nearest(const HeadCache& head, std::span<const int> from, std::span<const int> to, By by);
  KeysOf& add_keys(const HeadCache& head, std::span<const int> slots);

  Backend& backend_;
  int head_dim_;
  std::shared_mutex mutex_;  // answers are read by many at once
  Questions<NearestOf> nearest_;
  Questions<KeysOf> keys_;
};

}  // namespace kvscope
