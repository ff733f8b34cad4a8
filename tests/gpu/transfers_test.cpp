// SPDX-License-Identifier: Apache-2.0
// Copies are gathered and done late, downloads after attention come all at once: nobody may be able to tell.
#include <gtest/gtest.h>

#include "backend/cuda/ranges.h"
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

TEST_P(Transfers, SlotsThatComeGoAndMergeInAnyOrderAreAsOnTheCpu) {
  const ModelConfig config = config_of(1, 1, 8);
  const auto b = make(config);
  const auto cpu = make_cpu_backend(DType::f32, config, {.n_threads = 1});
  std::mt19937 random(7);
  const auto draw = [&](std::size_t below) { return random() % below; };
  const Numbers rows = random_numbers(8 * 64, 3);
  Device on_device(*b, rows), on_cpu(*cpu, rows);
  std::vector<HeadKv> caches, expected;
  for (int c = 0; c < 3; ++c) {
    caches.push_back(b->make_kv(0));
    expected.push_back(cpu->make_kv(0));
  }
  const auto same = [&](std::size_t c) {
    const std::size_t n = static_cast<std::size_t>(expected[c].n_slots) * 8;
    Numbers got(n), want(n), got_v(n), want_v(n);
    b->keys(caches[c], got);
    cpu->keys(expected[c], want);
    if (random() % 2 == 0) b->in_order(caches[c]);
    b->to_double(got_v, b->clone_kv(caches[c]).v.data());
    cpu->to_double(want_v, expected[c].v.data());
    return distance(got, want) < 1e-6 && distance(got_v, want_v) < 1e-6;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::size_t c = draw(3), n = static_cast<std::size_t>(expected[c].n_slots), from = 8 * draw(60);
    const std::size_t what = n < 3 ? 0 : draw(10);
    if (what < 5) {
      const int more = 1 + static_cast<int>(draw(3));
      b->append_kv(caches[c], on_device.at(from), on_device.at(from), more);
      cpu->append_kv(expected[c], on_cpu.at(from), on_cpu.at(from), more);
    } else if (what < 7) {
      std::vector<int> gone;
      for (std::size_t s = 0; s < n; ++s)
        if (draw(4) == 0) gone.push_back(static_cast<int>(s));
      b->remove_slots(caches[c], gone);
      cpu->remove_slots(expected[c], gone);
    } else if (what < 9) {
      const std::vector<int> members = {static_cast<int>(draw(n)), static_cast<int>(draw(n))};
      const Numbers weights = {0.25, 0.5};
      CombineJob job{.kv = &caches[c], .target = members[0], .members = members, .key_weights = weights, .value_weights = weights};
      b->combine({&job, 1});
      job.kv = &expected[c];
      cpu->combine({&job, 1});
    } else {
      caches[c] = b->clone_kv(caches[c]);
      expected[c] = cpu->clone_kv(expected[c]);
    }
    if (i % 100 == 99) {
      EXPECT_TRUE(same(c)) << i;
    }
  }
  for (std::size_t c = 0; c < 3; ++c) EXPECT_TRUE(same(c)) << c;
}

TEST_P(Transfers, RemovingNothingChangesNothing) {
  const auto b = make(config_of(1, 1, 8));
  Device k(*b, random_numbers(40, 2)), v(*b, random_numbers(40, 3));
  HeadKv kv = b->make_kv(0);
  b->append_kv(kv, k.data(), v.data(), 5);
  b->remove_slots(kv, {});
  b->combine({});
  Numbers keys(40);
  b->keys(kv, keys);
  EXPECT_EQ(keys, k.values());
  b->remove_slots(kv, std::vector<int>{0, 1, 2, 3, 4});
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
