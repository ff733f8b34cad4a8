// SPDX-License-Identifier: Apache-2.0
// Copies are gathered and done late, downloads after attention come all at once: nobody may be able to tell.
#include <gtest/gtest.h>

#include "backend/cuda/device.h"
#include "backend/reference.h"

namespace kvscope::test {
namespace {

TEST(Ranges, JoinWhatTouchesAndFindWhatOverlaps) {
  const char memory[100] = {};
  cuda::Ranges r;
  r.add(memory + 10, 10);
  r.add(memory + 40, 10);
  EXPECT_TRUE(r.overlaps(memory + 19, 1));
  EXPECT_FALSE(r.overlaps(memory + 20, 20));
  EXPECT_TRUE(r.overlaps(memory, 100));
  EXPECT_FALSE(r.overlaps(memory + 15, 0));
  r.add(memory + 20, 20);
  EXPECT_TRUE(r.overlaps(memory + 30, 1));
  EXPECT_FALSE(r.overlaps(memory, 10));
  EXPECT_FALSE(r.overlaps(memory + 50, 10));
  r.add(memory, 5);
  r.add(memory + 2, 90);
  EXPECT_TRUE(r.overlaps(memory + 91, 1));
  EXPECT_FALSE(r.overlaps(memory + 92, 1));
  r.clear();
  EXPECT_FALSE(r.overlaps(memory, 100));
}

class Transfers : public OfVariant {};

TEST_P(Transfers, CopiesInARowAreAsIfEachWereDoneAtOnce) {
  const auto b = make(config_of(1, 1, 8));
  std::mt19937 random(1);
  const int n = 200;
  Numbers expected = random_numbers(n, 2);
  Device x(*b, expected);
  for (int i = 0; i < 3000; ++i) {
    const auto draw = [&](int below) { return static_cast<std::size_t>(random() % static_cast<unsigned>(below)); };
    const std::size_t length = 1 + draw(9), from = draw(n - 9), to = draw(n - 9);
    if (from < to + length && to < from + length) continue;  // may not overlap
    b->copy(x.at(to), x.at(from), length * size_of(b->dtype()));
    std::copy_n(expected.begin() + static_cast<long>(from), length, expected.begin() + static_cast<long>(to));
    if (i % 500 == 0) {
      EXPECT_EQ(x.values(), expected) << i;
    }
  }
  EXPECT_EQ(x.values(), expected);
}

TEST_P(Transfers, AFreedBufferIsReadByACopyBeforeItIsUsedAgain) {
  const auto b = make(config_of(1, 1, 8));
  Device to(*b, 64, 0.0);
  {
    Device from(*b, Numbers(64, 3.0));
    b->copy(to.data(), from.data(), 64 * size_of(b->dtype()));
  }
  Device other(*b, Numbers(64, 5.0));  // likely at the same place
  EXPECT_EQ(to.values(), Numbers(64, 3.0));
}

TEST_P(Transfers, ResultsOfAttentionThatAreOverwrittenAreReadAnew) {
  const auto b = make(config_of(1, 1, 8));
  Device q(*b, random_numbers(8, 1)), k(*b, random_numbers(40, 2)), v(*b, random_numbers(40, 3)), out(*b, 8), p(*b, 5), z(*b, 5);
  const KvSegment s{k.data(), v.data(), 5};
  const AttentionJob job{{&s, 1}, q.data(), nullptr, out.data(), p.data(), z.data(), false};
  b->attend({&job, 1});
  const Numbers first = out.values(), probabilities = p.values();
  EXPECT_EQ(out.values(), first);
  b->copy(out.data(), v.data(), 8 * size_of(b->dtype()));
  const Numbers copied = v.values();
  EXPECT_EQ(out.values(), Numbers(copied.begin(), copied.begin() + 8));
  b->attend({&job, 1});
  EXPECT_EQ(out.values(), first);
  b->from_double(p.data(), Numbers(5, 0.25));
  EXPECT_EQ(p.values(), Numbers(5, 0.25));
  b->attend({&job, 1});
  EXPECT_EQ(p.values(), probabilities);
  b->silu_mul(q.data(), q.data(), 1, 8, out.data());
  EXPECT_NE(out.values(), first);
  Numbers one(1);
  b->attend({&job, 1});
  b->to_double(one, p.at(3));
  EXPECT_EQ(one[0], probabilities[3]) << "a part of a result";
}

TEST_P(Transfers, RemovingNothingChangesNothing) {
  const auto b = make(config_of(1, 1, 8));
  Device k(*b, random_numbers(40, 2)), v(*b, random_numbers(40, 3));
  HeadKv kv = b->make_kv(0);
  b->append_kv(kv, k.data(), v.data(), 5);
  b->keep_only(kv, std::vector<int>{0, 1, 2, 3, 4});
  b->combine({});
  Numbers keys(40);
  b->keys(kv, keys);
  EXPECT_EQ(keys, k.values());
  b->keep_only(kv, std::vector<int>{});
  EXPECT_EQ(kv.n_slots, 0);
}

TEST_P(Transfers, BackendsLiveSideBySide) {
  const auto a = make(config_of(1, 1, 8)), b = make(config_of(2, 1, 4));
  Device x(*a, Numbers(8, 1.0)), y(*b, Numbers(8, 2.0));
  a->rope(x.data(), 1, 1, std::vector<int>{0});
  b->rope(y.data(), 1, 2, std::vector<int>{0});
  EXPECT_EQ(x.values(), Numbers(8, 1.0));
  EXPECT_EQ(y.values(), Numbers(8, 2.0));
}

INSTANTIATE_TEST_SUITE_P(On, Transfers, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
