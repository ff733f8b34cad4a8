// SPDX-License-Identifier: Apache-2.0
// What the panels say of a token never contradicts what the cache holds, whatever a hand did to it and in whichever step.
#include <algorithm>

#include "viz/reduce/head.h"
#include "viz/reduce/text.h"
#include "viz/views/atlas/atlas_text.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using FatesTest = WindowTest;

/// What became of a token, read from the events alone.
struct Told {
  int restored = -1, gone = -1;  // last steps
  bool gone_by_hand = false;
};

Told toldOf(const LaneSnapshot& lane, int step, std::size_t head, int token) {
  Told out;
  for (int s = 0; s <= step; ++s)
    for (const Event& e : lane.steps[static_cast<std::size_t>(s)]->heads[head].events) {
      if (e.pos != token) continue;
      if (e.kind == Event::Kind::restore) {
        out.restored = s;
      } else {
        out.gone = s;
        out.gone_by_hand = e.by_hand;
      }
    }
  return out;
}

TEST_F(FatesTest, AllWaysOfSayingAgreeInEveryHeadStepAndEdit) {
  const std::string base = lane(4);
  for (const std::string& policy : {base, lane(2), lane(3)})
    for (const char* edit : {"@evict=3-20,step=1", "@restore=3-30,step=1", "@pin=3-30", "@merge=9,into=0,step=2",
                             "@evict=5-9,step=0@restore=5-9,step=2", "@restore=3-30,step=1@pin=3-30,step=1@evict=3-30,step=3"})
      window->controller().addLane(QString::fromStdString(policy + edit));
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().phase, RunPhase::idle) << snapshot().failure;
  int n_restored = 0, n_by_hand = 0, n_pinned = 0, n_cards = 0;
  for (int l = 1; l < static_cast<int>(snapshot().lanes.size()); ++l) {
    const LaneSnapshot& run = snapshot().lanes[static_cast<std::size_t>(l)];
    for (int s = 0; s < static_cast<int>(run.steps.size()); ++s) {
      const StepRecord& record = *run.steps[static_cast<std::size_t>(s)];
      for (std::size_t h = 0; h < record.heads.size(); ++h) {
        const HeadRecord& values = record.heads[h];
        viz::Selection at;
        at.lane = l, at.step = s, at.layer = values.layer, at.kv_head = values.kv_head;
        const viz::HeadPick pick = viz::pick_head(snapshot(), at);
        const viz::HeadColumns columns = viz::head_columns(snapshot(), pick);
        for (int t = 0; t <= record.position; ++t) {
          const std::string strip = viz::fate_text(columns, t), atlas = viz::fate_text(snapshot(), run, s, static_cast<int>(h), t);
          const std::string where = run.spec + " step " + std::to_string(s) + " L" + std::to_string(values.layer) + " H" +
                                    std::to_string(values.kv_head) + " t" + std::to_string(t) + ": " + strip + " | " + atlas;
          const bool here = std::ranges::binary_search(values.pos, t);
          const Told told = toldOf(run, s, h, t);
          for (const std::string& words : {strip, atlas}) {
            EXPECT_EQ(words.starts_with("evicted") || words.starts_with("merged"), !here) << where;
            const bool back = told.restored >= 0;
            if (!back) {
              EXPECT_EQ(words.find("restored by hand"), std::string::npos) << where;
            }
            EXPECT_EQ(words.find("restored by hand at step " + std::to_string(told.restored)) != std::string::npos,
                      back && words != "new in this step")
                << where;
            const bool by_hand =
                words.starts_with("evicted by hand at step " + std::to_string(told.gone)) || words.starts_with("merged by hand");
            if (!here && told.gone > told.restored) {
              EXPECT_EQ(by_hand && words.find("evicted with it") == std::string::npos,
                        told.gone_by_hand && words.find("evicted with it") == std::string::npos)
                  << where;
            }
            n_restored += back, n_by_hand += by_hand, n_pinned += words.starts_with("pinned");
          }
          // The colour is that of the words.
          EXPECT_EQ(columns.category[static_cast<std::size_t>(t)] == Category::evicted ||
                        columns.category[static_cast<std::size_t>(t)] == Category::merged,
                    !here)
              << where;
          // What the callout hatches was not seen by this step's query.
          if (columns.lost[static_cast<std::size_t>(t)] > 0.01) {
            EXPECT_TRUE(std::ranges::find(values.attended, t) == values.attended.end()) << where;
          }
          // The card: which slot stands for it, and what it says of how it went.
          if (t % 3 == 0) {
            const viz::SlotFacts facts = viz::slot_facts(pick, t, columns.removal);
            EXPECT_EQ(facts.pos == t, here) << where;
            EXPECT_EQ(facts.pos < 0, facts.evicted >= 0) << where;
            const viz::Why why = viz::why_of(pick, t);
            if (!here) {
              EXPECT_EQ(why.step, told.gone) << where;
              const std::string headline = viz::why_headline(snapshot().tokens, why);
              EXPECT_EQ(headline.find("by hand") != std::string::npos, told.gone_by_hand) << where << " | " << headline;
              EXPECT_EQ(headline.find(" merged") != std::string::npos, why.event.kind == Event::Kind::merge) << headline;
            }
            ++n_cards;
          }
          if (HasFailure()) return;  // one is enough to see what is wrong
        }
      }
    }
  }
  EXPECT_GT(n_restored, 0);
  EXPECT_GT(n_by_hand, 0);
  EXPECT_GT(n_pinned, 0);
  EXPECT_GT(n_cards, 0);
}

}  // namespace
}  // namespace kvscope
