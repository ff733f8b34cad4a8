// SPDX-License-Identifier: Apache-2.0
// Removing a slot moves no row of keys or values, and no bit of attention depends on where rows are.
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>

#include "backend/reference.h"
#include "core/slot_runs.h"

namespace kvscope::test {
namespace {

class RowsStay : public OfVariant {
 protected:
  /// A cache that a slot has left and another has come to, so many times.
  static HeadKv used(Backend& b, int d, int n, int steps) {
    HeadKv kv = b.make_kv(n + 1);
    const Numbers k = random_numbers(size(n + steps, d), 1), v = random_numbers(size(n + steps, d), 2);
    Device on_k(b, k), on_v(b, v);
    b.append_kv(kv, on_k.data(), on_v.data(), n);
    std::mt19937 random(3);
    for (int step = 0; step < steps; ++step) {
      b.append_kv(kv, on_k.at(size(n + step, d)), on_v.at(size(n + step, d)), 1);
      b.remove_slots(kv, std::vector{static_cast<int>(random() % size(n + 1))});
    }
    return kv;
  }
};

TEST_P(RowsStay, InAStepOnlyTheRowOfTheSlotThatWentIsWritten) {
  const int d = 8, n = 20;
  const auto b = make(config_of(1, 1, d));
  const std::size_t row = size(d) * size_of(b->dtype());
  HeadKv kv = used(*b, d, n, 0);
  const Device fresh(*b, random_numbers(size(d), 7));
  std::vector<std::byte> expected_row(row);
  b->download(expected_row.data(), fresh.data(), row);
  const auto bytes_of = [&](const Buffer& rows) {
    std::vector<std::byte> out(rows.bytes());
    b->download(out.data(), rows.data(), out.size());
    return out;
  };
  b->append_kv(kv, fresh.data(), fresh.data(), 1);
  const void *const k_at = kv.k.data(), *const v_at = kv.v.data();
  std::mt19937 random(5);
  for (int step = 0; step < 40; ++step) {
    std::vector<std::byte> k = bytes_of(kv.k), v = bytes_of(kv.v);
    const int slot = static_cast<int>(random() % size(n + 1)), freed = kv.row(slot);
    b->remove_slots(kv, std::vector{slot});
    ASSERT_EQ(bytes_of(kv.k), k) << step;
    ASSERT_EQ(bytes_of(kv.v), v) << step;
    b->append_kv(kv, fresh.data(), fresh.data(), 1);
    for (std::vector<std::byte>* rows : {&k, &v}) std::ranges::copy(expected_row, rows->begin() + static_cast<long>(row * size(freed)));
    ASSERT_EQ(bytes_of(kv.k), k) << step;
    ASSERT_EQ(bytes_of(kv.v), v) << step;
    ASSERT_EQ(kv.row(n), freed) << step;
  }
  EXPECT_EQ(kv.k.data(), k_at) << "no memory for another cache was taken";
  EXPECT_EQ(kv.v.data(), v_at);
  EXPECT_EQ(kv.capacity, n + 1);
}

TEST_P(RowsStay, TheOrderOfTheHostIsThatOfTheDevice) {
  const auto b = make(config_of(1, 1, 8));
  HeadKv kv = used(*b, 8, 30, 50);
  for (const std::vector<int>& gone : {std::vector<int>{0}, {28}, {0, 1, 2, 5, 9, 25}, {3, 4}, {}}) {
    b->remove_slots(kv, gone);
    const Device no_row(*b, 1);  // whatever waits to be done is done
    no_row.values();
    std::vector<int> order(kv.order.size());
    b->download(order.data(), kv.order_in_backend.data(), order.size() * sizeof(int));
    EXPECT_EQ(order, kv.order);
    std::vector<int> every(size(kv.capacity));
    std::iota(every.begin(), every.end(), 0);
    std::ranges::sort(order);
    EXPECT_EQ(order, every) << "every row is somebody's or free";
  }
}

TEST_P(RowsStay, ACacheThatLosesMostOfItsSlotsIsInOrderAgain) {
  const auto b = make(config_of(1, 1, 8));
  for (const int steps : {0, 25}) {
    HeadKv kv = used(*b, 8, 20, steps);
    EXPECT_EQ(kv.order.empty(), steps == 0);
    const HeadKv before = b->clone_kv(kv);
    Numbers all(size(20, 8)), few(size(3, 8));
    b->to_double(all, before.v.data());
    b->remove_slots(kv, slots_without(std::vector<int>{2, 3, 19}, kv.n_slots));
    EXPECT_TRUE(kv.order.empty());
    EXPECT_FALSE(kv.order_in_backend);
    b->to_double(few, kv.v.data());
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(std::equal(few.begin() + 8 * i, few.begin() + 8 * (i + 1), all.begin() + 8 * std::array{2, 3, 19}[size(i)])) << i;
  }
}

TEST_P(RowsStay, AttentionIsThatOfRowsInOrderBitByBit) {
  struct Shape {
    int group, d, n;
  };
  for (const auto& [group, d, n] : {Shape{1, 16, 140}, Shape{2, 80, 300}, Shape{8, 32, 70}, Shape{3, 6, 129}}) {
    const auto b = make(config_of(group, 1, d));
    const HeadKv kv = used(*b, d, n, n), ordered = b->clone_kv(kv);
    ASSERT_FALSE(kv.order.empty());
    ASSERT_FALSE(std::ranges::is_sorted(kv.order));
    const Device q(*b, random_numbers(size(group, d), 4));
    const Numbers bias = random_numbers(size(n), 5);
    const auto results = [&](const KvSegment& slots, bool rotate) {
      Device out(*b, size(group, d)), p(*b, size(group, n)), z(*b, size(group, n));
      const AttentionJob job{{&slots, 1}, q.data(), bias.data(), out.data(), p.data(), z.data(), rotate};
      b->attend({&job, 1});
      Numbers of_all = out.values();
      for (const Numbers& x : {p.values(), z.values()}) of_all.insert(of_all.end(), x.begin(), x.end());
      const std::vector<std::vector<KvSegment>> of_head = {{slots}};
      b->attend_prompt({.slots = of_head, .first = n - 1, .rows = 1, .q = q.data(), .out = out.data()});
      const Numbers of_prompt = out.values();
      of_all.insert(of_all.end(), of_prompt.begin(), of_prompt.end());
      return of_all;
    };
    for (const bool rotate : {false, true}) EXPECT_EQ(results(slots_of(kv), rotate), results(slots_of(ordered), rotate)) << group << rotate;
  }
}

INSTANTIATE_TEST_SUITE_P(On, RowsStay, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });
INSTANTIATE_TEST_SUITE_P(Narrow, RowsStay, testing::ValuesIn(narrow_variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
