// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/hindsight_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "policy/near.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::at;
using test::RowHindsight;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Logits, outputs and values without meaning. mask: some queries do not see the last slots.
Hindsight::View random_view(int n_queries, int group, int n, int dim, unsigned seed, bool mask) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Hindsight::View view{.n_queries = n_queries, .group = group, .dim = dim, .logits = {}, .outputs = {}, .values = {}};
  for (int i = 0; i < n_queries * group * n; ++i) {
    const int query = i / n / group, slot = i % n;
    view.logits.push_back(mask && slot >= n - query ? -kInfinity : 3 * normal(random));
  }
  for (int i = 0; i < n_queries * group * dim; ++i) view.outputs.push_back(0.3 * normal(random));
  for (int i = 0; i < group * n * dim; ++i) view.values.push_back(normal(random));
  return view;
}

/// Sum of ||o - o_full||_1 over the pairs, o by a softmax over the slots that are left.
double distance(const Hindsight::View& view, int n, const std::vector<int>& left) {
  double sum = 0;
  for (int x = 0; x < view.n_queries * view.group; ++x) {
    const double* z = view.logits.data() + x * n;
    if (*std::max_element(z, z + n) == -kInfinity) continue;
    double top = -kInfinity, mass = 0;
    for (const int i : left) top = std::max(top, z[i]);
    std::vector<double> o(at(view.dim), 0.0);
    for (const int i : left)
      if (z[i] > -kInfinity) mass += std::exp(z[i] - top);
    for (const int i : left)
      for (int d = 0; d < view.dim && z[i] > -kInfinity; ++d)
        o[at(d)] += std::exp(z[i] - top) / mass * view.values[at((x % view.group * n + i) * view.dim + d)];
    for (int d = 0; d < view.dim; ++d) sum += std::abs(o[at(d)] - view.outputs[at(x * view.dim + d)]);
  }
  return sum;
}

struct Removed {
  std::vector<int> slots;
  std::vector<double> sums;
};

/// One removal after the other, each tried out.
Removed naive(const Hindsight::View& view, int n, int budget, const std::vector<char>& is_protected) {
  Removed out;
  std::vector<int> left(at(n));
  std::iota(left.begin(), left.end(), 0);
  while (static_cast<int>(left.size()) > budget) {
    int worst = -1;
    double best = kInfinity;
    for (const int e : left) {
      if (is_protected[at(e)]) continue;
      std::vector<int> rest = left;
      std::erase(rest, e);
      const double sum = distance(view, n, rest);
      if (sum <= best * (1 + 1e-12)) {  // of equal ones the higher pos goes
        best = sum;
        worst = e;
      }
    }
    if (worst < 0) break;
    std::erase(left, worst);
    out.slots.push_back(worst);
    out.sums.push_back(best);
  }
  return out;
}

HeadDecision decision(const SlotState& slots, const Hindsight& hindsight, int budget, int sinks, int recent) {
  HeadDecision d;
  d.view = {.slots = &slots, .hindsight = &hindsight};
  d.budget = budget;
  d.due = true;
  d.is_protected = protected_mask(slots, {sinks, recent});
  return d;
}

TEST(HindsightSelection, RemovesWhatTryingEverythingOutRemoves) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const int n = 5 + static_cast<int>(seed) % 20, group = 1 + static_cast<int>(seed) % 3, budget = 2 + static_cast<int>(seed) % 3;
    const Hindsight::View view = random_view(1 + static_cast<int>(seed) % 6, group, n, 7, seed, seed % 2 == 0);
    const SlotState slots = test::slots_of(n);
    const RowHindsight hindsight(view);
    HeadDecision d = decision(slots, hindsight, budget, 1, seed % 4 == 0);
    HindsightSelection(16).select(d, 0);
    const Removed expected = naive(view, n, budget, d.is_protected);
    EXPECT_EQ(d.gone, expected.slots);
    ASSERT_EQ(d.gone.size(), expected.sums.size());
    for (std::size_t e = 0; e < d.gone.size(); ++e) EXPECT_NEAR(-d.score[at(d.gone[e])], expected.sums[e], 1e-10 * (1 + expected.sums[e]));
    EXPECT_EQ(static_cast<int>(d.keep.size()), budget);
    for (int i = 0; i < n; ++i) {
      if (d.is_protected[at(i)]) {
        EXPECT_TRUE(std::isnan(d.plan.score[at(i)]));
        continue;
      }
      std::vector<int> rest(at(n));
      std::iota(rest.begin(), rest.end(), 0);
      std::erase(rest, i);
      const double alone = distance(view, n, rest);
      EXPECT_NEAR(-d.plan.score[at(i)], alone, 1e-10 * (1 + alone)) << "the score shown is the sum if the slot alone went";
    }
  }
}

TEST(HindsightSelection, OfSlotsThatMakeNoDifferenceTheYoungestGo) {
  const int n = 8;
  Hindsight::View view{.n_queries = 1, .group = 1, .dim = 2, .logits = std::vector<double>(at(n), 0.0), .outputs = {1, -1}, .values = {}};
  for (int i = 0; i < n; ++i) view.values.insert(view.values.end(), {1.0, -1.0});
  const SlotState slots = test::slots_of(n);
  const RowHindsight hindsight(view);
  HeadDecision d = decision(slots, hindsight, 5, 0, 0);
  HindsightSelection(16).select(d, 0);
  EXPECT_EQ(d.gone, (std::vector<int>{7, 6, 5}));
}

TEST(HindsightSelection, ASlotThatAllLookAtStaysThoughItIsOld) {
  const int n = 10;
  Hindsight::View view = random_view(3, 2, n, 4, 5, false);
  for (int x = 0; x < 6; ++x) {
    for (int i = 0; i < n; ++i) view.logits[at(x * n + i)] = i == 2 ? 60 : 0;  // 1 - a_e is below the smallest double step
    for (int d = 0; d < 4; ++d) view.outputs[at(x * 4 + d)] = view.values[at((x % 2 * n + 2) * 4 + d)];
  }
  const SlotState slots = test::slots_of(n);
  const RowHindsight hindsight(view);
  HeadDecision d = decision(slots, hindsight, 1, 0, 0);
  HindsightSelection(16).select(d, 0);
  EXPECT_EQ(d.keep, (std::vector<int>{2}));
  for (const int e : d.gone) EXPECT_LT(-d.score[at(e)], 1e-9) << "nobody looked at it";
  EXPECT_EQ(d.gone, (std::vector<int>{9, 8, 7, 6, 5, 4, 3, 1, 0})) << "what differs by rounding only is equal: the youngest go";
  const double alone = distance(view, n, {0, 1, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_NEAR(-d.plan.score[2], alone, 1e-12 * alone) << "without it the others are looked at, however little that was";
}

TEST(HindsightSelection, GivesUpAtTheNextSlotOnceNobodyWaits) {
  class Impatient final : public Hindsight {
   public:
    explicit Impatient(View view) : view_(std::move(view)) {}
    View look() const override { return view_; }
    void check() const override {
      if (++n_asked == 15) throw Cancelled();
    }
    mutable int n_asked = 0;

   private:
    View view_;
  };
  const int n = 12;
  const SlotState slots = test::slots_of(n);
  const Impatient hindsight(random_view(3, 2, n, 5, 7, false));
  HeadDecision d = decision(slots, hindsight, 4, 0, 0);
  EXPECT_THROW(HindsightSelection(16).select(d, 0), Cancelled);
  EXPECT_EQ(d.gone.size(), 2u) << "12 slots were scored, two went";
}

TEST(HindsightSelection, LooksAtNothingWhileThereIsRoom) {
  class Untouchable final : public Hindsight {
    View look() const override { throw std::logic_error("looked"); }
  };
  const SlotState slots = test::slots_of(6);
  const Untouchable hindsight;
  HeadDecision d = decision(slots, hindsight, 6, 0, 0);
  HindsightSelection(16).select(d, 0);
  EXPECT_TRUE(d.gone.empty());
  EXPECT_EQ(d.keep.size(), 6u);
}

}  // namespace
}  // namespace kvscope
