// SPDX-License-Identifier: Apache-2.0
// A cache whose slots come, go and merge, beside the plain list of its rows: nobody may be able to tell where a backend keeps them.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/reference.h"
#include "core/slot_runs.h"

namespace kvscope::test {
namespace {

constexpr int kGroup = 2;

/// The cache and, in `keys` and `values`, what must be in it.
class Cache {
 public:
  Cache(Backend& backend, const ModelConfig& config)
      : b_(backend), d_(config.head_dim), frequencies_(cpu::rope_frequencies(config)), kv_(backend.make_kv(0)) {}

  int size() const { return static_cast<int>(keys_.size()); }

  void append(int n, unsigned seed) {
    const Numbers k = random_numbers(count(n), 2 * seed), v = random_numbers(count(n), 2 * seed + 1);
    const Device on_k(b_, k), on_v(b_, v);
    b_.append_kv(kv_, on_k.data(), on_v.data(), n);
    for (int i = 0; i < n; ++i) {
      keys_.push_back(row(k, i));
      values_.push_back(row(v, i));
    }
  }

  void remove(const std::vector<int>& gone) {
    const std::vector<int> keep = slots_without(gone, size());
    b_.remove_slots(kv_, gone);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      keys_[i] = keys_[static_cast<std::size_t>(keep[i])];
      values_[i] = values_[static_cast<std::size_t>(keep[i])];
    }
    keys_.resize(keep.size());
    values_.resize(keep.size());
  }

  void combine(int target, const std::vector<int>& members) {
    const Numbers key_weights(members.size(), 0.5), value_weights(members.size(), 0.25);
    const CombineJob job{&kv_, target, members, key_weights, 1.5, value_weights};
    b_.combine({&job, 1});
    Numbers key(static_cast<std::size_t>(d_)), value(key.size());
    for (const int m : members) {
      for (std::size_t c = 0; c < key.size(); ++c) {
        key[c] += 1.5 * 0.5 * keys_[static_cast<std::size_t>(m)][c];
        value[c] += 0.25 * values_[static_cast<std::size_t>(m)][c];
      }
    }
    keys_[static_cast<std::size_t>(target)] = key;
    values_[static_cast<std::size_t>(target)] = value;
  }

  void clone() { kv_ = b_.clone_kv(kv_); }
  void make_room(int more) {
    kv_ = b_.copy_kv(kv_, size() + more);
    EXPECT_EQ(kv_.capacity, std::max(size() + more, 1));
  }
  void put_in_order() {
    b_.in_order(kv_);
    Numbers v(count(size()));
    b_.to_double(v, kv_.v.data());
    expect_near(v, joined(values_), "values that are read as rows");
  }

  void check_keys(const std::vector<int>& some) const {
    ASSERT_EQ(kv_.n_slots, size());
    Numbers all(count(size())), rows(count(static_cast<int>(some.size()))), expected;
    b_.keys(kv_, all);
    expect_near(all, joined(keys_), "keys");
    const KeyRowsJob job{&kv_, some, rows};
    b_.key_rows({&job, 1});
    for (const int i : some)
      expected.insert(expected.end(), keys_[static_cast<std::size_t>(i)].begin(), keys_[static_cast<std::size_t>(i)].end());
    expect_near(rows, expected, "some keys");
  }

  void check_cosines(const std::vector<int>& from, const std::vector<int>& to) const {
    Numbers got(from.size() * to.size()), expected, best(from.size());
    b_.cosines(kv_, from, to, got);
    for (const int i : from)
      for (const int j : to) expected.push_back(cosine(i, j));
    expect_near(got, expected, "cosines");
    std::vector<int> places(from.size(), -1);
    const NearestJob job{.kv = &kv_, .from = from, .to = to, .places = places, .cosines = best};
    b_.nearest({&job, 1});
    if (from.size() < static_cast<std::size_t>(size())) {  // among all others without a list of them
      const std::vector<int> others = slots_without(from, size());
      std::vector<int> others_places(from.size()), slots(from.size());
      Numbers others_best(from.size()), slots_best(from.size());
      const NearestJob listed{.kv = &kv_, .from = from, .to = others, .places = others_places, .cosines = others_best};
      const NearestJob unlisted{.kv = &kv_, .from = from, .to = {}, .places = slots, .cosines = slots_best};
      b_.nearest({&listed, 1});
      b_.nearest({&unlisted, 1});
      EXPECT_EQ(slots_best, others_best);
      for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(slots[i], others[static_cast<std::size_t>(others_places[i])]);
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto begin = expected.begin() + static_cast<long>(i * to.size());
      EXPECT_NEAR(best[i], *std::max_element(begin, begin + static_cast<long>(to.size())), 1e-5);
      EXPECT_NEAR(begin[places[i]], best[i], 1e-5);
    }
  }

  void check_attention(unsigned seed, bool rotate_by_index) const {
    const Numbers q = random_numbers(count(kGroup), seed);
    const Device on_q(b_, q);
    Device out(b_, count(kGroup)), p(b_, static_cast<std::size_t>(kGroup * size()));
    const KvSegment slots = slots_of(kv_);
    const AttentionJob job{
        .slots = {&slots, 1}, .q = on_q.data(), .out = out.data(), .probabilities = p.data(), .rotate_by_index = rotate_by_index};
    b_.attend({&job, 1});
    Numbers keys, expected_out, expected_p;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const Numbers key = rotate_by_index ? rope_reference(keys_[i], static_cast<double>(i), frequencies_) : keys_[i];
      keys.insert(keys.end(), key.begin(), key.end());
    }
    for (int g = 0; g < kGroup; ++g) {
      const AttentionResult of_head = attention_reference(row(q, g), keys, joined(values_), d_);
      expected_out.insert(expected_out.end(), of_head.out.begin(), of_head.out.end());
      expected_p.insert(expected_p.end(), of_head.probabilities.begin(), of_head.probabilities.end());
    }
    expect_near(out.values(), expected_out, "outputs");
    expect_near(p.values(), expected_p, "probabilities");
  }

  void check_prompt(unsigned seed) const {
    const int rows = std::min(3, size());
    const Numbers q = random_numbers(count(rows * kGroup), seed);
    const Device on_q(b_, q);
    Device out(b_, q.size());
    const std::vector<std::vector<KvSegment>> slots = {{slots_of(kv_)}};
    b_.attend_prompt({.slots = slots, .first = size() - rows, .rows = rows, .q = on_q.data(), .out = out.data()});
    const Numbers keys = joined(keys_), values = joined(values_);
    Numbers expected;
    for (int i = 0; i < rows * kGroup; ++i) {
      const std::size_t seen = count(size() - rows + i / kGroup + 1);
      const Numbers of_row = attention_reference(row(q, i), std::span(keys).first(seen), std::span(values).first(seen), d_).out;
      expected.insert(expected.end(), of_row.begin(), of_row.end());
    }
    expect_near(out.values(), expected, "rows of a prompt");
  }

 private:
  std::size_t count(int rows) const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(d_); }
  Numbers row(const Numbers& x, int i) const {
    return {x.begin() + static_cast<long>(count(i)), x.begin() + static_cast<long>(count(i + 1))};
  }
  static Numbers joined(const std::vector<Numbers>& rows) {
    Numbers out;
    for (const Numbers& r : rows) out.insert(out.end(), r.begin(), r.end());
    return out;
  }
  double cosine(int i, int j) const {
    const Numbers &a = keys_[static_cast<std::size_t>(i)], &c = keys_[static_cast<std::size_t>(j)];
    double dot = 0, of_a = 0, of_c = 0;
    for (std::size_t x = 0; x < a.size(); ++x) {
      dot += a[x] * c[x];
      of_a += a[x] * a[x];
      of_c += c[x] * c[x];
    }
    return dot / std::sqrt(of_a * of_c);
  }
  static void expect_near(const Numbers& got, const Numbers& expected, const char* what) {
    EXPECT_LT(distance(got, expected), 1e-5) << what;
  }

  Backend& b_;
  int d_;
  std::vector<double> frequencies_;
  HeadKv kv_;
  std::vector<Numbers> keys_, values_;
};

class SlotOrder : public OfVariant {
 protected:
  /// Steps of a cache of about n slots with rows of d numbers.
  void live(int d, int n, int n_steps) {
    const ModelConfig config = config_of(kGroup, 1, d);
    const auto b = make(config);
    Cache cache(*b, config);
    std::mt19937 random(static_cast<unsigned>(d + n));
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const auto some = [&](int one_of) {
      std::vector<int> slots;
      for (int i = 0; i < cache.size(); ++i)
        if (draw(one_of) == 0) slots.push_back(i);
      return slots;
    };
    cache.append(n, 1);
    for (int step = 0; step < n_steps && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      const int what = draw(20), seed = 10 + step;
      if (cache.size() < n / 2 || what == 0) {
        cache.append(1 + draw(n / 2), static_cast<unsigned>(seed));
      } else if (what <= 10) {  // the usual step
        cache.remove({draw(cache.size())});
        if (what > 1) cache.append(1, static_cast<unsigned>(seed));
      } else if (what <= 12) {
        cache.remove(some(10));
      } else if (what == 13) {
        cache.remove(draw(2) == 0 ? some(1) : some(2));
      } else if (what <= 16) {
        cache.combine(draw(cache.size()), {draw(cache.size()), draw(cache.size())});
      } else if (what == 17) {
        cache.clone();
      } else if (what == 18) {
        cache.make_room(draw(5));
      } else {
        cache.put_in_order();
      }
      if (cache.size() == 0) cache.append(2, static_cast<unsigned>(seed));
      const int question = draw(8);
      std::vector<int> from = some(6), to = some(3);
      if (question == 0) cache.check_keys(from);
      from.resize(std::max<std::size_t>(1, from.size()));
      to.resize(std::max<std::size_t>(1, to.size()));
      if (question == 1) cache.check_cosines(from, to);
      if (question == 2) cache.check_cosines({draw(cache.size())}, to);
      if (question == 3 || question == 4) cache.check_attention(static_cast<unsigned>(seed), question == 4);
      if (question == 5) cache.check_prompt(static_cast<unsigned>(seed));
    }
    cache.put_in_order();
  }
};

TEST_P(SlotOrder, OfRowsIsNothingThatAnybodyCanTell) { live(/*d=*/8, /*n=*/24, /*n_steps=*/400); }
TEST_P(SlotOrder, IsAsLittleSeenWithRowsOfAnOddSize) { live(/*d=*/6, /*n=*/12, /*n_steps=*/300); }
TEST_P(SlotOrder, IsAsLittleSeenWhereAttentionHasSeveralChunks) { live(/*d=*/16, /*n=*/290, /*n_steps=*/60); }

TEST_P(SlotOrder, ManyCachesChangeAtOnceAndEachHasItsOwn) {
  const ModelConfig config = config_of(kGroup, 1, 8);
  const auto b = make(config);
  std::vector<Cache> caches;
  for (int i = 0; i < 5; ++i) caches.emplace_back(*b, config);
  std::mt19937 random(3);
  for (Cache& cache : caches) cache.append(9, static_cast<unsigned>(random()));
  for (int step = 0; step < 20; ++step) {
    for (Cache& cache : caches) cache.append(1, static_cast<unsigned>(random()));
    for (Cache& cache : caches) cache.combine(static_cast<int>(random() % 9), {3, static_cast<int>(random() % 9)});
    for (Cache& cache : caches) cache.remove({static_cast<int>(random() % 9)});
    if (step % 4 == 3)
      for (Cache& cache : caches) cache.check_attention(static_cast<unsigned>(step), step % 8 == 3);
  }
  for (Cache& cache : caches) cache.put_in_order();
}

INSTANTIATE_TEST_SUITE_P(On, SlotOrder, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
