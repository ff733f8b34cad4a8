// SPDX-License-Identifier: Apache-2.0
// What reads the rows of a whole cache by itself finds those of a cache that slots have left.
#include <gtest/gtest.h>

#include "backend/reference.h"
#include "cache/head_cache.h"
#include "cache/value_norms.h"
#include "core/not_available.h"
#include "policy/apply_plan.h"

namespace kvscope::test {
namespace {

constexpr int kHeadWidth = 8, kSlots = 12;

class CachesOnDevices : public OfVariant {
 protected:
  void SetUp() override {
    OfVariant::SetUp();
    if (!b) return;
    const std::size_t size = kHeadWidth * 30;
    const Device k(*b, random_numbers(size, 1)), v(*b, random_numbers(size, 2));
    HeadCache cache{.kv = b->make_kv(kSlots + 1), .slots = {}};
    for (int pos = 0; pos < 30; ++pos) {
      const std::size_t at = static_cast<std::size_t>(pos) * kHeadWidth * size_of(b->dtype());
      b->append_kv(cache.kv, static_cast<const std::byte*>(k.data()) + at, static_cast<const std::byte*>(v.data()) + at, 1);
      append_slot(cache.slots, needs, /*group=*/1, pos, kNotAvailable);
      if (pos < kSlots) continue;
      Plan plan;
      plan.removals.push_back({.slot = pos % 5 + 1});
      apply(*b, cache, needs, plan);
    }
    ASSERT_FALSE(cache.kv.order.empty());
    heads.push_back(clone(*b, cache));  // rows in order
    heads.push_back(std::move(cache));
  }
  Numbers rows(const HeadCache& cache) {
    const HeadKv kv = b->clone_kv(cache.kv);
    Numbers k(static_cast<std::size_t>(kv.n_slots) * kHeadWidth), v(k.size());
    b->to_double(k, kv.k.data());
    b->to_double(v, kv.v.data());
    k.insert(k.end(), v.begin(), v.end());
    return k;
  }

  const StatNeeds needs = {};
  std::unique_ptr<Backend> b = make(config_of(2, 2, kHeadWidth));
  std::vector<HeadCache> heads;
};

TEST_P(CachesOnDevices, LengthsAndNormsOfValuesAreThoseOfTheirSlots) {
  const RandomWeight w = random_weight(DType::f32, 2 * kHeadWidth * 2 * kHeadWidth, 3);
  const Weight wo = b->weight(DType::f32, 2 * kHeadWidth, 2 * kHeadWidth, w.bytes.data());
  const CacheGeometry in_order(*b, heads, 0, wo, kHeadWidth), used(*b, heads, 1, wo, kHeadWidth);
  EXPECT_EQ(used.value_l2(), in_order.value_l2());
  std::vector<HeadCache> ordered;  // both heads, because norms depend on a head's part of W_O
  for (const HeadCache& head : heads) ordered.push_back(clone(*b, head));
  complete_value_norms(*b, wo, kHeadWidth, ordered);
  complete_value_norms(*b, wo, kHeadWidth, heads);
  EXPECT_EQ(heads[1].value_norm, ordered[1].value_norm);
}

TEST_P(CachesOnDevices, KeysAreTurnedBackEachByItsOwnPosition) {
  for (HeadCache& head : heads) unrotate_keys(*b, head);
  EXPECT_EQ(rows(heads[1]), rows(heads[0]));
}

TEST_P(CachesOnDevices, ATokenComesBackBetweenItsNeighbours) {
  const Device row(*b, random_numbers(kHeadWidth, 5));
  int lost = 0;  // the first position that has no slot
  while (heads[0].slots.pos[static_cast<std::size_t>(lost)] == lost) ++lost;
  for (HeadCache& head : heads) EXPECT_EQ(restore(*b, head, needs, /*group=*/1, kHeadWidth, lost, row.data(), row.data()), lost);
  EXPECT_EQ(rows(heads[1]), rows(heads[0]));
}

INSTANTIATE_TEST_SUITE_P(On, CachesOnDevices, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
