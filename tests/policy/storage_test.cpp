// SPDX-License-Identifier: Apache-2.0
// POLICIES.md section 4.6: what a stored row becomes, when it is stored, how many bytes it takes, and which pages are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "core/error.h"
#include "policy/policy.h"
#include "policy/reading/page_reading.h"
#include "policy/refusal.h"
#include "policy/storage/grouped_storage.h"
#include "policy/storage/pruned_storage.h"
#include "policy/storage/rotated_storage.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SlotState slots_of(int n) {
  SlotState out;
  out.pos.resize(static_cast<std::size_t>(n));
  std::iota(out.pos.begin(), out.pos.end(), 0);
  out.stored.resize(out.pos.size());
  return out;
}

std::vector<double> normal_rows(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw;
  std::vector<double> out(n);
  for (double& x : out) x = draw(random);
  return out;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

TEST(RoundGroup, TakesTheNearestOfEquallySpacedNumbersFromTheLowestToTheHighest) {
  std::vector<double> x = {-1, 0.4, 0.6, 2};  // two bits: -1, 0, 1, 2
  round_group(x.data(), x.size(), 1, 2);
  EXPECT_THAT(x, ElementsAre(-1, 0, 1, 2));
  std::vector<double> half = {0, 0.5, 3};
  round_group(half.data(), half.size(), 1, 2);
  EXPECT_THAT(half, ElementsAre(0, 1, 3)) << "halves up";
  std::vector<double> every_other = {0, 7, 3, 7, 1.2, 7};
  round_group(every_other.data(), 3, 2, 2);
  EXPECT_THAT(every_other, ElementsAre(0, 7, 3, 7, 1, 7)) << "and leaves the numbers between alone";
}

TEST(RoundGroup, LeavesWhatItCannotScale) {
  std::vector<double> alike = {0.3, 0.3, 0.3}, infinite = {1, std::numeric_limits<double>::infinity(), 2};
  round_group(alike.data(), 3, 1, 2);
  round_group(infinite.data(), 3, 1, 2);
  EXPECT_THAT(alike, ElementsAre(0.3, 0.3, 0.3));
  EXPECT_EQ(infinite[0], 1);
  EXPECT_TRUE(std::isinf(infinite[1]));
}

TEST(GroupedStorage, ErrorsAreAtMostHalfAStepOfTheirOwnGroup) {
  const GroupedStorage storage(4, 2, 2);
  const std::vector<double> full = normal_rows(4 * 3, 1);  // 4 tokens of 3 channels
  std::vector<double> keys = full, values = full;
  storage.round_keys({.head_dim = 3}, keys);
  storage.round_values({.head_dim = 3}, values);
  for (std::size_t t = 0; t < 4; ++t)
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t i = t * 3 + c, other_token = (t ^ 1) * 3 + c, other_channel = t * 3 + (c ^ 1);
      EXPECT_LE(std::abs(keys[i] - full[i]), std::abs(full[i] - full[other_token]) / 15 / 2 + 1e-12);
      if (c < 2) {
        EXPECT_LE(std::abs(values[i] - full[i]), std::abs(full[i] - full[other_channel]) / 15 / 2 + 1e-12);
      } else {
        EXPECT_EQ(values[i], full[i]) << "a group of its own";
      }
    }
}

/// KIVI, Algorithm 1, with R = 4 and G = 2: keys leave R at a time, values one by one.
TEST(GroupedStorage, StoresWhenThePaperDoes) {
  const GroupedStorage storage(2, 2, 4);
  SlotState slots = slots_of(10);
  ToStore due = storage.due(slots, true);
  EXPECT_THAT(due.keys, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)) << "10 - 10 mod 4";
  EXPECT_THAT(due.values, ElementsAre(0, 1, 2, 3, 4, 5)) << "all but the newest 4";
  mark_stored(slots, due, storage.block());
  std::vector<int> blocks;
  for (const auto& cell : slots.stored) blocks.push_back(cell.block);
  EXPECT_THAT(blocks, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, -1, -1));
  for (int n = 11; n <= 12; ++n) {
    slots.pos.push_back(n - 1);
    slots.stored.emplace_back();
    due = storage.due(slots, false);
    EXPECT_THAT(due.values, ElementsAre(n - 5));
    if (n == 11) {
      EXPECT_THAT(due.keys, IsEmpty()) << "three are in full";
    } else {
      EXPECT_THAT(due.keys, ElementsAre(8, 9, 10, 11));
    }
    mark_stored(slots, due, storage.block());
  }
  EXPECT_EQ(slots.stored.back().block, 5) << "blocks go on from those there are";
}

TEST(GroupedStorage, CountsBitsScalesAndWhatStandsInFull) {
  const GroupedStorage storage(2, 2, 4);
  // 10 slots of 3 channels: 8 keys in 4 blocks, 6 values of 2 groups each
  const double numbers = 8.0 * 3 * (2 * 10 - 8 - 6), bits = 14 * 3 * 2 / 8.0, scales = 4 * (4 * 3 + 6 * 2);
  EXPECT_EQ(storage.bytes(storage.of_prompt(10), 3, 8), numbers + bits + scales);
}

TEST(Storage, SaysOfAPromptWhatStoringItLeaves) {
  const GroupedStorage grouped(4, 3, 6), at_once(4, 3, 0);
  const RotatedStorage rotated(3, 5, 4, 0);
  const PrunedStorage pruned(0.5, 2);
  for (const Storage* storage : {static_cast<const Storage*>(&grouped), static_cast<const Storage*>(&at_once),
                                 static_cast<const Storage*>(&rotated), static_cast<const Storage*>(&pruned)})
    for (int n = 0; n < 20; ++n) {
      SlotState slots = slots_of(n);
      mark_stored(slots, storage->due(slots, true), storage->block());
      EXPECT_EQ(count_stored(slots), storage->of_prompt(n)) << storage->equation() << " " << n;
    }
}

TEST(GroupedStorage, RefusesATailThatIsNoWholeNumberOfGroups) {
  try {
    GroupedStorage(4, 32, 100);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("multiple"), HasSubstr("32"), HasSubstr("got 100")));
  }
}

/// As published by Lloyd and Max, and in TurboQuant (arXiv 2504.19874) for one and two bits.
TEST(RotatedStorage, HasTheLevelsOfANormalNumber) {
  const auto near = [](double x) { return DoubleNear(x, 5e-4); };
  EXPECT_THAT(normal_levels(1), ElementsAre(near(-0.7979), near(0.7979)));
  EXPECT_THAT(normal_levels(2), ElementsAre(near(-1.5104), near(-0.4528), near(0.4528), near(1.5104)));
  const std::vector<double> eight = normal_levels(3), sixteen = normal_levels(4);
  EXPECT_NEAR(eight[4], 0.2451, 5e-4);
  EXPECT_NEAR(eight[7], 2.1520, 5e-4);
  EXPECT_NEAR(sixteen[8], 0.1284, 5e-4);
  EXPECT_NEAR(sixteen[15], 2.7326, 5e-4);
}

TEST(RotatedStorage, TurnsWithoutStretching) {
  const std::vector<double> turn = random_rotation(7, 3);
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 7; ++j) {
      double product = 0;
      for (std::size_t c = 0; c < 7; ++c) product += turn[i * 7 + c] * turn[j * 7 + c];
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-14);
    }
  EXPECT_NE(random_rotation(7, 4), turn);
}

/// The mean square error of Lloyd's and Max's levels for a normal number; TurboQuant has them rounded: 0.36, 0.117, 0.03, 0.009.
TEST(RotatedStorage, LosesAsMuchOfAnyRowAsThePaperSays) {
  constexpr std::size_t kWidth = 64, kRows = 40;
  std::vector<double> spiky(kWidth * kRows, 0.0), full = normal_rows(kWidth * kRows, 2);
  for (std::size_t r = 0; r < kRows; ++r) spiky[r * kWidth + r] = 5;  // all of it in one channel
  const double published[] = {0.3634, 0.1175, 0.03454, 0.009497};
  for (int bits = 1; bits <= 4; ++bits)
    for (const std::vector<double>* rows : {&full, &spiky}) {
      std::vector<double> stored = *rows;
      RotatedStorage(bits, 0, kWidth, 1).round_keys({.head_dim = kWidth}, stored);
      const std::vector<double> zero(rows->size(), 0.0);
      const double share = std::pow(distance(stored, *rows) / distance(*rows, zero), 2);
      EXPECT_NEAR(share, published[bits - 1], 0.2 * published[bits - 1]) << bits << " bits";
    }
}

TEST(RotatedStorage, ARowOfNothingStaysOne) {
  std::vector<double> row(4, 0.0);
  RotatedStorage(2, 0, 4, 0).round_values({.head_dim = 4}, row);
  EXPECT_THAT(row, ElementsAre(0, 0, 0, 0));
}

TEST(PrunedStorage, DropsTheChannelsThatQueriesAndKeysUseLeast) {
  const std::vector<double> keys = {1, 2, 0.1, 1, 1, 2, 0.1, -1},
                            queries = {1, 0.1, 9, 1};  // mean squares 1, 4, 0.01, 1 times 1, 0.01, 81, 1
  EXPECT_THAT(pruned_channels(keys, queries, 4, 0.5), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(pruned_channels(keys, queries, 4, 0.75), ElementsAre(0, 1, 1, 1)) << "of equal ones the higher goes first";
  EXPECT_THAT(pruned_channels(keys, queries, 4, 0.24), ElementsAre(0, 0, 0, 0)) << "rounded down";
  EXPECT_THAT(pruned_channels(keys, queries, 4, 0.999999), ElementsAre(0, 1, 1, 1)) << "the largest share that is taken leaves one";
}

TEST(PrunedStorage, CountsTheChannelsThatStayAndABitForEach) {
  const PrunedStorage storage(0.5, 32);
  EXPECT_EQ(storage.bytes(storage.of_prompt(10), 12, 2), 2.0 * 10 * (6 + 12) + 2);
}

/// Two pages of two keys: the bound is what no key of the page exceeds.
TEST(PageReading, ReadsTheOwnPageAndThoseThatMayGiveMost) {
  const std::vector<double> q = {1, -1}, least = {0, -2, 1, 0, -1, 3}, most = {1, 1, 2, 5, 0, 4};
  const PageBounds bounds{2, least, most};
  const std::vector<double> scores = PageReading(2, 2, 0).scores(q, bounds, 7, 2);
  EXPECT_THAT(scores, ElementsAre(1 + 2, 2 - 0, 0 - 3));
  EXPECT_THAT(PageReading(2, 2, 0).unread_pages(scores), ElementsAre(1, 2));
  EXPECT_THAT(PageReading(2, 3, 0).unread_pages(scores), ElementsAre(2));
  EXPECT_THAT(PageReading(2, 1, 0).unread_pages(scores), ElementsAre(0, 1, 2)) << "only the own one";
  EXPECT_THAT(PageReading(2, 9, 0).unread_pages(scores), IsEmpty());
  const std::vector<double> two_heads = {1, -1, 0, 1};  // the second: 1, 5, 4
  EXPECT_THAT(PageReading(2, 2, 0).scores(two_heads, bounds, 7, 2), ElementsAre(3, 5, 4)) << "the largest of the group";
  EXPECT_THAT(PageReading(2, 2, 0).unread_pages(std::vector<double>{1, 1, 1}), ElementsAre(1, 2)) << "of equal ones the lower is read";
}

TEST(PageReading, NoKeyExceedsTheBoundOfItsPage) {
  constexpr std::size_t kWidth = 6, kPage = 5;
  const std::vector<double> keys = normal_rows(kWidth * kPage, 3), q = normal_rows(kWidth, 4);
  std::vector<double> least(keys.begin(), keys.begin() + kWidth), most = least;
  double best = -1e9;
  for (std::size_t k = 0; k < kPage; ++k) {
    double product = 0;
    for (std::size_t c = 0; c < kWidth; ++c) {
      least[c] = std::min(least[c], keys[k * kWidth + c]);
      most[c] = std::max(most[c], keys[k * kWidth + c]);
      product += q[c] * keys[k * kWidth + c];
    }
    best = std::max(best, product);
  }
  EXPECT_GE(PageReading::score(q, least, most), best);
}

// ---- as parts of a policy

TEST(StoringPolicies, TakeNoBudgetAndSayHowTheyAreComputed) {
  int n = 0;
  for (const PolicyInfo& info : policies()) {
    if (info.computed.empty() || info.takes_budget) continue;
    ++n;
    EXPECT_EQ(refusal(info.name), "");
    EXPECT_THAT(refusal(info.name + ":slots=4"), HasSubstr(info.takes_bytes ? "expected bytes=r" : "unknown key 'slots'"));
  }
  EXPECT_EQ(n, 4);
}

TEST(StoringPolicies, WhatDoesNotGoTogetherIsRefusedWithTheReason) {
  EXPECT_THAT(refusal("custom:storage=grouped,merge=keepkv,slots=9"), AllOf(HasSubstr("merge=keepkv"), HasSubstr("makes a new row")));
  EXPECT_THAT(refusal("custom:storage=rotated,positions=cache,slots=9"), HasSubstr("rotated anew"));
  EXPECT_THAT(refusal("custom:storage=grouped,bytes=0.2,slots=9"), HasSubstr("got bytes and slots"));
  EXPECT_THAT(refusal("custom:storage=grouped,bytes=0.2,ratio=0.9"), HasSubstr("got bytes and ratio"));
  EXPECT_THAT(refusal("kivi:bytes=0.4,residual=32"), HasSubstr("got bytes and residual, which stands for it"));
  EXPECT_THAT(refusal("kivi:ratio=0.4"), HasSubstr("expected bytes=r, because kivi lets no token go"));
  EXPECT_THAT(refusal("quest:bytes=0.4"), HasSubstr("unknown key"));
  EXPECT_THAT(refusal("snapkv:bytes=1.5"), HasSubstr("bytes"));
  EXPECT_THAT(refusal("custom:storage=grouped,bytes=0.2,stat=knorm,select=threshold"), HasSubstr("outcome"));
  EXPECT_THAT(refusal("custom:storage=grouped"), HasSubstr("exactly one of slots=N, ratio=r and bytes=r, got none"));
  EXPECT_EQ(refusal("custom:bytes=0.5"), "");
  EXPECT_THAT(refusal("custom:storage=rotated,bits=8,slots=9"), HasSubstr("bits"));
  EXPECT_THAT(refusal("kivi:bits=3"), HasSubstr("bits"));
  EXPECT_EQ(refusal("custom:stat=pooled,storage=grouped,ratio=0.5"), "");
}

TEST(StoringPolicies, PrunedChannelsNeedTheWholePrompt) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 8};
  for (const char* spec : {"think", "custom:storage=pruned,slots=9"})
    EXPECT_THROW(Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 24, .mode = PromptMode::stream}), UsageError);
}

TEST(StoringPolicies, AShareOfBytesIsTheMostSlotsThatTakeNoMore) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 8};
  const auto slots = [&](const std::string& spec, double number_bytes) {
    return *Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 100, .number_bytes = number_bytes})->budget(0, 0);
  };
  const std::string spec = "custom:storage=grouped,bits=4,group_size=4,full_tokens=4,sinks=0,recent=0,bytes=";
  const GroupedStorage storage(4, 4, 4);
  for (const double share : {0.2, 0.5})
    for (const double number_bytes : {2.0, 4.0}) {
      const int c = slots(spec + std::to_string(share), number_bytes);
      const auto bytes = [&](int n) { return storage.bytes(storage.of_prompt(n), 8, number_bytes); };
      const double room = share * 100 * 16 * number_bytes;
      EXPECT_LE(bytes(c), room);
      EXPECT_TRUE(c == 100 || bytes(c + 1) > room) << c;
    }
  EXPECT_EQ(slots(spec + "0.7", 4), 100) << "all of them fit";
  EXPECT_EQ(with_param(spec + "0.5", "ratio", "0.3"),
            "custom:storage=grouped,bits=4,group_size=4,full_tokens=4,sinks=0,recent=0,ratio=0.3");
}

TEST(StoringPolicies, AShareOfBytesWithoutEvictionIsAsMuchInFullPrecisionAsFits) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 16};
  const int n = 200;
  for (const auto& [spec, key, step] : {std::tuple("kivi:bits=4,group_size=32", "residual", 32.0), {"turboquant:bits=3", "residual", 1.0}})
    for (const double number_bytes : {2.0, 4.0})
      for (const double share : {0.5, 0.65, 0.9}) {
        const auto made = [&](const std::string& text) {
          return Policy::make({.spec = parse_lane_spec(text), .model = &model, .n_prompt = n, .number_bytes = number_bytes});
        };
        const auto policy = made(with_param(spec, "bytes", std::to_string(share)));
        double value = -1;
        for (const ResolvedParam& param : policy->params())
          if (param.key == key) value = param.number;
        const auto bytes = [&](double of) {
          const auto with = made(with_param(spec, key, std::to_string(static_cast<int>(of))));
          return with->storage()->bytes(with->storage()->of_prompt(n), 16, number_bytes);
        };
        const double room = share * n * 32 * number_bytes;
        ASSERT_GE(value, 0) << spec;
        EXPECT_FALSE(policy->limits()) << "nothing goes";
        EXPECT_LE(bytes(value), room) << spec << ' ' << share;
        for (double more = value + step; more <= n; more += step) EXPECT_GT(bytes(more), room) << spec << ' ' << share << ' ' << more;
      }
  const auto pruned = Policy::make({.spec = parse_lane_spec("think:bytes=0.8"), .model = &model, .n_prompt = n});
  EXPECT_EQ(pruned->storage()->bytes(pruned->storage()->of_prompt(n), 16, 4), n * (16 + 9) * 4.0 + 2) << "9 of 16 channels of the keys";
}

TEST(StoringPolicies, AShareOfBytesThatIsTooSmallIsRefusedWithTheLeast) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 16};
  const auto refused = [&](const char* spec) -> std::string {
    try {
      Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 64});
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(refused("turboquant:bits=4,bytes=0.1"), AllOf(HasSubstr("at least 0.157"), HasSubstr("64 tokens"), HasSubstr("got 0.1")));
  EXPECT_EQ(refused("turboquant:bits=4,bytes=0.157"), "");
  EXPECT_THAT(refused("think:bytes=0.5"), HasSubstr("at least 0.53"));
  EXPECT_THAT(refused("kivi:bytes=0.01"), HasSubstr("at least 0."));
  EXPECT_THAT(refused("kivi:group_size=7"),
              ::testing::StartsWith("run 'kivi:group_size=7': tokens in full precision: expected a multiple"));
  EXPECT_EQ(refused("kivi:group_size=3,bytes=0.9"), "") << "of which the default of residual is no multiple";
}

TEST(StoringPolicies, ForWhatOnlyEvictsAShareOfBytesIsOneOfSlots) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 8};
  for (const PolicyInfo& info : policies()) {
    if (!info.takes_budget || !info.computed.empty()) continue;
    for (const double share : {0.29, 0.3}) {
      const auto slots = [&](const char* key) {
        const LaneSpec spec = parse_lane_spec(info.name + ":" + key + "=" + std::to_string(share));
        for (const ParamInfo& p : info.params)
          if (!p.file_of_model.empty() && p.without_file.empty()) return -1;  // needs a file
        return Policy::make({.spec = spec, .model = &model, .n_prompt = 100})->slots_requested();
      };
      EXPECT_EQ(slots("bytes"), slots("ratio")) << info.name;
    }
  }
}

}  // namespace
}  // namespace kvscope
