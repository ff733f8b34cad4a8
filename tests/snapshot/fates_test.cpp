// SPDX-License-Identifier: Apache-2.0
#include "snapshot/fates.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "core/error.h"
#include "snapshot/synthetic.h"
#include "viz/synthetic.h"

namespace kvscope {
namespace {

StepPtr step(int index, int position, std::vector<Event> events, std::vector<int> pos = {}, int recent = 0) {
  auto record = std::make_shared<StepRecord>();
  record->step = index;
  record->position = position;
  HeadRecord head;
  head.events = std::move(events);
  head.pos = std::move(pos);
  head.recent = recent;
  record->heads.push_back(std::move(head));
  return record;
}

Event evict(int pos) { return {Event::Kind::evict, pos}; }
Event merge(int pos, int into) { return {Event::Kind::merge, pos, into}; }

std::vector<int> column(const HeadFates& fates, int (HeadFates::*value)(int) const) {
  std::vector<int> out;
  for (int t = 0; t < fates.n_tokens(); ++t) out.push_back((fates.*value)(t));
  return out;
}

TEST(Fates, AnEvictedTokenLosesItsSlotAndItsRepresentationAtOnce) {
  const LaneFates f = derive_fates({step(0, 2, {evict(1)})}, 1);
  EXPECT_EQ(f.n_tokens, 3);
  EXPECT_EQ(column(f.heads[0], &HeadFates::left), (std::vector<int>{kNever, 0, kNever}));
  EXPECT_EQ(column(f.heads[0], &HeadFates::lost), (std::vector<int>{kNever, 0, kNever}));
  EXPECT_EQ(column(f.heads[0], &HeadFates::into), (std::vector<int>{-1, -1, -1}));
}

TEST(Fates, AMergedTokenIsLostWhenTheSlotThatStandsForItIsEvicted) {
  // 1 joins 2 at step 0, both join 3 at step 1, 3 is evicted at step 3.
  const LaneFates f = derive_fates({step(0, 3, {merge(1, 2)}), step(1, 4, {merge(2, 3)}), step(2, 5, {}), step(3, 6, {evict(3)})}, 1);
  EXPECT_EQ(column(f.heads[0], &HeadFates::left), (std::vector<int>{kNever, 0, 1, 3, kNever, kNever, kNever}));
  EXPECT_EQ(column(f.heads[0], &HeadFates::into), (std::vector<int>{-1, 2, 3, -1, -1, -1, -1}));
  EXPECT_EQ(column(f.heads[0], &HeadFates::lost), (std::vector<int>{kNever, 3, 3, 3, kNever, kNever, kNever}));
}

Event restore(int pos) { return {.kind = Event::Kind::restore, .pos = pos, .by_hand = true}; }

TEST(Fates, ATokenThatCameBackKeepsItsPast) {
  // 1 joins 2, 2 joins 3; 2 comes back and leaves 1 with 3; 3 goes with 1; 3 and 1 come back, 1 goes again.
  const std::vector<StepPtr> steps = {step(0, 4, {merge(1, 2), merge(2, 3)}), step(1, 5, {restore(2)}), step(2, 6, {evict(3)}),
                                      step(3, 7, {restore(3), restore(1)}), step(4, 8, {evict(1)})};
  const LaneFates f = derive_fates(steps, 1);
  std::vector<std::vector<int>> slot;  // by step, of tokens 1, 2, 3
  for (const StepPtr& s : steps) slot.push_back({slot_of(f, *s, 0, 1), slot_of(f, *s, 0, 2), slot_of(f, *s, 0, 3)});
  EXPECT_EQ(slot, (std::vector<std::vector<int>>{{3, 3, 3}, {3, 2, 3}, {-1, 2, -1}, {1, 2, 3}, {-1, 2, 3}}));
  using enum Category;
  EXPECT_EQ(categories(f, *steps[0], 0, 0, true, 1, 3), (std::vector<Category>{merged, merged, kept}));
  EXPECT_EQ(categories(f, *steps[2], 0, 0, true, 1, 3), (std::vector<Category>{evicted, kept, evicted}));
  EXPECT_EQ(categories(f, *steps[4], 0, 0, true, 1, 3), (std::vector<Category>{evicted, kept, kept}));
  EXPECT_FALSE(represented(f.heads[0], 1, 2));
  EXPECT_TRUE(represented(f.heads[0], 1, 3));
  EXPECT_EQ(fate_at(f.heads[0], 1, 1).into, 3) << "it had gone into token 2, which left";

  ASSERT_FALSE(f.heads[0].past.empty());
  for (const EarlierFate& earlier : f.heads[0].past) EXPECT_EQ(earlier.moved, earlier.token == 1 && earlier.until == 1) << earlier.token;

  LaneFates in_parts = derive_fates({steps[0], steps[1]}, 1);
  in_parts = extend_fates(in_parts, 2, steps);
  for (int t = 1; t <= 3; ++t)
    for (int s = 0; s < 5; ++s) EXPECT_EQ(fate_at(in_parts.heads[0], t, s).lost, fate_at(f.heads[0], t, s).lost) << t << " " << s;
  EXPECT_THROW(derive_fates({step(0, 2, {restore(1)})}, 1), Error) << "it has a slot";
}

TEST(Fates, CategoriesFollowThePrecedenceNewSinkRecentKept) {
  const std::vector<StepPtr> steps = {step(0, 6, {evict(3), merge(4, 5)}, {0, 1, 2, 5, 6}, 2)};
  const LaneFates f = derive_fates(steps, 1);
  using enum Category;
  EXPECT_EQ(categories(f, *steps[0], 0, 1, false), (std::vector<Category>{sink, kept, kept, evicted, merged, recent, fresh}));
  EXPECT_EQ(categories(f, *steps[0], 0, 1, true), (std::vector<Category>{sink, kept, kept, evicted, merged, recent, recent}));
  EXPECT_EQ(categories(f, *steps[0], 0, 9, false), (std::vector<Category>{sink, sink, sink, evicted, merged, sink, fresh}));
}

TEST(Fates, CategoriesOfAnyWindowAreThoseOfItsTokens) {  // longer than a chunk
  const Snapshot snapshot = synthetic::make_huge_snapshot(1, 2, 700, 20);
  const LaneSnapshot& lane = snapshot.lanes[1];
  for (const int s : {0, 3, 20}) {
    const StepRecord& record = *lane.steps[static_cast<std::size_t>(s)];
    const HeadRecord& head = record.heads[1];
    const int recent_from = head.pos[head.pos.size() - static_cast<std::size_t>(head.recent)];
    for (const auto& [first, last] : {std::pair{0, 719}, {0, 255}, {255, 256}, {130, 600}, {512, 512}, {690, 719}}) {
      const std::vector<Category> got = categories(*lane.fates, record, 1, lane.sinks, s == 0, first, last);
      ASSERT_EQ(got.size(), static_cast<std::size_t>(last - first + 1));
      for (int t = first; t <= last; ++t) {
        const Fate fate = fate_at(lane.fates->heads[1], t, s);
        const Category expected = t > record.position             ? Category::unseen
                                  : fate.lost <= s                ? Category::evicted
                                  : fate.left <= s                ? Category::merged
                                  : t == record.position && s > 0 ? Category::fresh
                                  : t < lane.sinks                ? Category::sink
                                  : t >= recent_from              ? Category::recent
                                                                  : Category::kept;
        ASSERT_EQ(got[static_cast<std::size_t>(t - first)], expected)
            << "step " << s << " token " << t << " of " << first << " to " << last;
      }
    }
  }
}

TEST(Fates, TokensAfterTheQueryAreUnseen) {
  const std::vector<StepPtr> steps = {step(0, 1, {}, {0, 1}), step(1, 2, {}, {0, 1, 2})};
  const LaneFates f = derive_fates(steps, 1);
  using enum Category;
  EXPECT_EQ(categories(f, *steps[0], 0, 0, true), (std::vector<Category>{kept, kept, unseen}));
  EXPECT_EQ(categories(f, *steps[1], 0, 0, false, 1, 9), (std::vector<Category>{kept, fresh}));
  EXPECT_TRUE(categories(f, *steps[1], 0, 0, false, 2, 1).empty());
}

TEST(Fates, EventsThatCannotBeAreRefused) {
  EXPECT_THROW(derive_fates({step(0, 2, {evict(3)})}, 1), Error);
  EXPECT_THROW(derive_fates({step(0, 2, {evict(-1)})}, 1), Error);
  EXPECT_THROW(derive_fates({step(0, 2, {merge(1, 7)})}, 1), Error);
  EXPECT_THROW(derive_fates({step(0, 2, {evict(1), evict(1)})}, 1), Error);
  EXPECT_THROW(derive_fates({step(0, 2, {merge(1, 1)})}, 1), Error);
  EXPECT_THROW(derive_fates({step(0, 2, {evict(0), merge(1, 0)})}, 1), Error);
}

TEST(Fates, NoStepsAreNoTokens) {
  EXPECT_EQ(derive_fates({}, 3).n_tokens, 0);
  EXPECT_EQ(derive_fates({}, 3).heads.size(), 3u);
}

// The state of a head replayed slot by slot: who stands for whom.
struct Replay {
  std::map<int, std::set<int>> slots;  // pos -> tokens it stands for
  std::map<int, int> gone;             // evicted token -> 1

  void apply(const Event& e) {
    std::set<int> members = slots.at(e.pos);
    slots.erase(e.pos);
    if (e.kind == Event::Kind::merge) {
      slots.at(e.into).insert(members.begin(), members.end());
    } else {
      for (int t : members) gone[t] = 1;
    }
  }
  int slot_of(int token) const {
    for (const auto& [pos, members] : slots) {
      if (members.count(token) != 0) return pos;
    }
    return -1;
  }
};

void expect_fates_equal_replay(const Snapshot& snapshot) {
  for (const LaneSnapshot& lane : snapshot.lanes) {
    for (int h = 0; h < static_cast<int>(lane.fates->heads.size()); ++h) {
      Replay replay;
      int n = 0;
      for (const StepPtr& s : lane.steps) {
        for (; n <= s->position; ++n) replay.slots[n] = {n};
        const HeadRecord& record = s->heads[static_cast<std::size_t>(h)];
        for (const Event& e : record.events) replay.apply(e);
        const bool prefill = snapshot.prefill_mode && s->step == 0;
        const auto now = categories(*lane.fates, *s, h, lane.sinks, prefill);
        ASSERT_EQ(now.size(), static_cast<std::size_t>(lane.fates->n_tokens));
        for (int t = 0; t < lane.fates->n_tokens; ++t) {
          Category expected = Category::kept;
          const int slot = replay.slot_of(t);
          const bool recent = record.recent > 0 && slot == t && std::distance(replay.slots.find(t), replay.slots.end()) <= record.recent;
          if (t > s->position)
            expected = Category::unseen;
          else if (slot < 0)
            expected = Category::evicted;
          else if (slot != t)
            expected = Category::merged;
          else if (t == s->position && !prefill)
            expected = Category::fresh;
          else if (t < lane.sinks)
            expected = Category::sink;
          else if (recent)
            expected = Category::recent;
          ASSERT_EQ(now[static_cast<std::size_t>(t)], expected) << lane.title << " head " << h << " step " << s->step << " token " << t;
          ASSERT_EQ(slot_of(*lane.fates, *s, h, t), t > s->position ? -1 : slot);
        }
      }
    }
  }
}

TEST(Fates, StateAtEveryStepEqualsReplayOfTheEventsInPrefill) {
  synthetic::Shape shape;
  shape.n_layers = 2;
  shape.n_prompt = 80;
  shape.slots = 24;
  expect_fates_equal_replay(synthetic::make_snapshot(shape));
}

TEST(Fates, StateAtEveryStepEqualsReplayOfTheEventsInAStream) {
  synthetic::Shape shape;
  shape.n_layers = 1;
  shape.n_prompt = 90;
  shape.slots = 17;
  shape.sinks = 2;
  shape.recent = 3;
  shape.prefill = false;
  expect_fates_equal_replay(synthetic::make_snapshot(shape));
}

TEST(Fates, ExtendingStepByStepEqualsDerivingAtOnce) {
  synthetic::Shape shape;
  shape.n_layers = 1;
  shape.n_prompt = 60;
  shape.slots = 14;
  shape.prefill = false;
  const Snapshot snapshot = synthetic::make_snapshot(shape);
  for (const LaneSnapshot& lane : snapshot.lanes) {
    LaneFates grown;
    grown.heads.resize(lane.fates->heads.size());
    std::vector<StepPtr> steps;
    std::mt19937 random(5);
    while (steps.size() < lane.steps.size()) {
      const int before = static_cast<int>(steps.size());
      const std::size_t more = std::min<std::size_t>(1 + random() % 5, lane.steps.size() - steps.size());
      for (std::size_t i = 0; i < more; ++i) steps.push_back(lane.steps[steps.size()]);
      grown = extend_fates(std::move(grown), before, steps);
    }
    ASSERT_EQ(grown.n_tokens, lane.fates->n_tokens);
    for (std::size_t h = 0; h < grown.heads.size(); ++h) {
      EXPECT_EQ(column(grown.heads[h], &HeadFates::left), column(lane.fates->heads[h], &HeadFates::left));
      EXPECT_EQ(column(grown.heads[h], &HeadFates::into), column(lane.fates->heads[h], &HeadFates::into));
      EXPECT_EQ(column(grown.heads[h], &HeadFates::lost), column(lane.fates->heads[h], &HeadFates::lost));
    }
  }
}

TEST(Fates, AStepCopiesOnlyTheChunksItChanges) {
  constexpr int kChunk = HeadFates::kChunkTokens;
  const std::vector<StepPtr> steps = {step(0, 40 * kChunk, {merge(3, 4), evict(9)}), step(1, 40 * kChunk + 1, {evict(5 * kChunk)}),
                                      step(2, 40 * kChunk + 2, {merge(4, 7 * kChunk)}), step(3, 40 * kChunk + 3, {evict(7 * kChunk)})};
  std::vector<LaneFates> after = {derive_fates({steps[0]}, 1)};
  for (std::size_t n = 2; n <= steps.size(); ++n)
    after.push_back(extend_fates(after.back(), static_cast<int>(n) - 1, {steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(n)}));
  const auto changed = [&](std::size_t i) { return after[i].heads[0].n_chunks_apart_from(after[i - 1].heads[0]); };
  EXPECT_EQ(changed(1), 1);
  EXPECT_EQ(changed(2), 2) << "the ring goes through both";
  EXPECT_EQ(changed(3), 2) << "tokens 3 and 4 go with the slot";
  EXPECT_EQ(after[2].heads[0].lost(3), kNever) << "what was published stays as it was";
  EXPECT_EQ(after[3].heads[0].lost(3), 3);
  int touched = 0;
  for (int c = 0; c < after[3].heads[0].n_chunks(); ++c) touched += after[3].heads[0].untouched(c) ? 0 : 1;
  EXPECT_EQ(touched, 3) << "the others are one chunk for all";
}

TEST(Fates, VotesOfSlotsAndVotesLostSumToTheTokensSeen) {  // of the generator: what the canvases are tested with is consistent
  synthetic::Shape shape;
  shape.n_layers = 2;
  for (bool prefill : {true, false}) {
    shape.prefill = prefill;
    for (const LaneSnapshot& lane : synthetic::make_snapshot(shape).lanes) {
      for (const StepPtr& s : lane.steps) {
        for (const HeadRecord& h : s->heads) {
          int votes = h.evicted_votes;
          for (int v : h.votes) votes += v;
          ASSERT_EQ(votes, s->position + 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kvscope
