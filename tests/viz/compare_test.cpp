// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "viz/format.h"
#include "viz/headless.h"
#include "viz/lineage_fixture.h"
#include "viz/reduce_compare.h"
#include "viz/synthetic.h"
#include "viz/synthetic_huge.h"
#include "viz/views.h"
#include "viz/views/compare_metrics.h"
#include "viz/views/compare_strips.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using synthetic::LaneKind;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A lane of prompt 3 (prefill) and three decode steps with KL 0 (step 0), 0.5, 1.5 and 4.
LaneSnapshot lane_of_four() {
  LaneSnapshot lane;
  const double kl[] = {9, 0.5, 1.5, 4};
  for (int s = 0; s < 4; ++s) {
    auto r = std::make_shared<StepRecord>();
    r->step = s;
    r->position = 2 + s;
    r->kl = kl[s];
    r->top1 = 10 + s;
    r->top1_reference = s == 1 ? 99 : 10 + s;
    r->top1_same = s != 1;
    r->nll = s == 3 ? kNotAvailable : 0.25;
    r->next_token = s == 3 ? -1 : 40 + s;
    for (int h = 0; h < 2; ++h) {
      HeadRecord head;
      head.pos.assign(static_cast<std::size_t>(3 + h), 0);
      head.attention_loss = h == 0 ? 0.4 : kNotAvailable;
      r->heads.push_back(head);
    }
    lane.steps.push_back(r);
  }
  lane.bytes = 2048;
  return lane;
}

TEST(LaneMetrics, MeanKlLeavesOutThePromptsStep) {
  const LaneMetrics m = lane_metrics(lane_of_four(), -1, 3, 3);
  EXPECT_EQ(m.step, 3);
  EXPECT_EQ(m.decode_steps, 3);
  EXPECT_EQ(m.first_decode, 1);
  EXPECT_DOUBLE_EQ(m.mean_kl, 2);  // (0.5 + 1.5 + 4) / 3
  EXPECT_DOUBLE_EQ(m.kl, 4);
  EXPECT_EQ(m.top1_same, 2);
}

TEST(LaneMetrics, TheAnswerStartsAtTheLastPromptTokenAndMarksWhatDiffers) {
  const LaneMetrics m = lane_metrics(lane_of_four(), 0, 3, 3);
  ASSERT_EQ(m.answer.size(), 3u);
  EXPECT_EQ(m.answer[0].id, 10);
  EXPECT_TRUE(m.answer[0].same);
  EXPECT_EQ(m.answer[1].id, 11);
  EXPECT_FALSE(m.answer[1].same);
  EXPECT_TRUE(m.answer[2].same);
}

TEST(LaneMetrics, MeansAreOverWhatWasMeasured) {
  const LaneMetrics m = lane_metrics(lane_of_four(), 3, 3, 3);
  EXPECT_DOUBLE_EQ(m.attention_loss, 0.4);
  EXPECT_DOUBLE_EQ(m.slots, 3.5);
  EXPECT_TRUE(std::isnan(m.nll));
  EXPECT_DOUBLE_EQ(m.bytes, 2048);
}

TEST(LaneMetrics, ALaneWithoutStepsHasNoNumbers) {
  const LaneMetrics m = lane_metrics(LaneSnapshot{}, -1, 3, 3);
  EXPECT_EQ(m.step, -1);
  EXPECT_TRUE(std::isnan(m.kl) && std::isnan(m.mean_kl) && std::isnan(m.slots) && std::isnan(m.bytes));
  EXPECT_EQ(metric_text(Snapshot{}, m, MetricColumn::Kind::kl), "–");
}

TEST(MetricText, PrintsNatsAndGapsNeverAZeroForWhatIsMissing) {
  LaneMetrics m;
  m.step = 1;
  m.kl = 2.8284;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "2.828");
  m.kl = 0.0001;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "<.001");
  m.kl = 0;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "0");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::nll), "n/a");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::mean_kl), "n/a");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::top1), "n/a");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::attention), "n/a");
  m.attention_loss = 0.362;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::attention), "36.2 %");
}

TEST(MetricColumns, GiveWayInOrderAndKeepTheDivergence) {
  const Snapshot snapshot = synthetic::make_snapshot();
  const std::vector<LaneMetrics> lanes = {lane_metrics(snapshot.lanes[0], -1, 167, 3)};
  EXPECT_EQ(metric_columns(snapshot, lanes, 2000, 1).size(), 8u);
  const auto few = metric_columns(snapshot, lanes, 260, 1);
  EXPECT_LE(total_width(few, 1), 260);
  const auto one = metric_columns(snapshot, lanes, 10, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].kind, MetricColumn::Kind::kl);
}

TEST(LaneDifference, CountsWhatASlotRepresents) {
  const Snapshot s = small_snapshot();  // lane 0 keeps all 8; lane 1 has lost token 0 only, the merged ones live on
  const LaneDifference d = lane_difference(s.lanes[0], 7, s.lanes[1], 7);
  EXPECT_EQ(d.total(), 8);
  EXPECT_EQ(d.at(0, 0), Difference::only_a);
  EXPECT_EQ(d.at(0, 1), Difference::both);
  EXPECT_THAT(d.counts, ElementsAre(0, 1, 0, 7));  // neither, only a, only b, both
  const LaneDifference back = lane_difference(s.lanes[1], 7, s.lanes[0], 7);
  EXPECT_THAT(back.counts, ElementsAre(0, 0, 1, 7));
  EXPECT_EQ(lane_difference(s.lanes[1], 5, s.lanes[0], 7).total(), 6);  // tokens that both have seen
  EXPECT_EQ(lane_difference(s.lanes[1], -1, s.lanes[0], 7).total(), 0);
}

TEST(LaneDifference, CountsAddUpToAllTokenHeads) {
  const Snapshot s = synthetic::make_snapshot();
  const LaneDifference d = lane_difference(s.lanes[1], 12, s.lanes[3], 12);
  EXPECT_EQ(d.total(), 24 * 179);
  EXPECT_EQ(std::accumulate(d.counts.begin(), d.counts.end(), std::int64_t{0}), d.total());
}

TEST(TokenCount, SeparatesKeptFromMerged) {
  const Snapshot s = small_snapshot();
  EXPECT_EQ(token_count(s.lanes[1], 7, 3).kept, 1);
  EXPECT_EQ(token_count(s.lanes[1], 7, 1).merged, 1);
  EXPECT_EQ(token_count(s.lanes[1], 7, 0).kept + token_count(s.lanes[1], 7, 0).merged, 0);
  EXPECT_EQ(token_count(s.lanes[1], 3, 1).kept, 1);
  EXPECT_EQ(token_count(s.lanes[1], 7, 99).heads, 0);
}

TEST(KeptByLayer, IsTheShareOfRepresentedTokensPerBin) {
  const Snapshot s = small_snapshot();
  const std::vector<float> bins = kept_by_layer(s.lanes[1], 7, 1, 8, 4);
  EXPECT_THAT(bins, ElementsAre(0.5f, 1.0f, 1.0f, 1.0f));  // token 0 of the first two is lost
  const std::vector<float> early = kept_by_layer(s.lanes[1], 3, 1, 8, 4);
  EXPECT_FLOAT_EQ(early[1], 1);
  EXPECT_TRUE(std::isnan(early[2]));  // not seen yet: no share, not zero
}

TEST(TextOfId, LooksInTheTextThenInTheVocabulary) {
  Snapshot s = small_snapshot();
  EXPECT_EQ(text_of_id(s, 103), "t3");
  EXPECT_EQ(text_of_id(s, 1), "#1");
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>(2);
  (*vocabulary)[1].bytes = " Lisbon";
  s.vocabulary = vocabulary;
  EXPECT_EQ(text_of_id(s, 1), "·Lisbon");
  EXPECT_EQ(text_of_id(s, -5), "#-5");
}

TEST(LaneParams, NameWhatThePolicyTakesButNotTheBudget) {
  LaneSnapshot lane;
  lane.params = {{"slots", "42"}, {"sinks", "4"}, {"recent", "8"}, {"form", "bias"}};
  EXPECT_THAT(lane_params(lane), ElementsAre("sinks 4", "recent 8", "form bias"));
  EXPECT_TRUE(lane_params(LaneSnapshot{}).empty());
  EXPECT_EQ(lane_letter(4), "E");
  EXPECT_EQ(lane_letter(26), "27");
}

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() {
    canvas.frame.selection.lane = 3;
    canvas.frame.selection.step = 2;
  }
  const Mark& mark(std::string_view kind, std::string_view label) {
    const Mark* found = find_mark(*view, kind, label);
    EXPECT_NE(found, nullptr) << kind << " " << label;
    static const Mark none{};
    return found == nullptr ? none : *found;
  }

  Snapshot snapshot = synthetic::make_snapshot();
  std::unique_ptr<View> view = make_compare();
  Headless canvas{snapshot, {1550, 870}};
};

TEST_F(CompareTest, EveryRunHasAStripWhoseTexelsAreItsCategories) {
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 4);
  for (int lane = 1; lane < 4; ++lane) {
    const auto* image = canvas.textures.find("compare." + std::to_string(lane));
    ASSERT_NE(image, nullptr);
    ASSERT_EQ(image->width, 169);
    ASSERT_EQ(image->height, 24);
    for (int head = 0; head < 24; ++head) {
      const auto expected = categories_of(snapshot, snapshot.lanes[static_cast<std::size_t>(lane)], 2, head);
      for (int t = 0; t < 169; ++t) {
        ASSERT_EQ(image->rgba[static_cast<std::size_t>(head * 169 + t)],
                  colour(cell_fill(dark_theme(), expected[static_cast<std::size_t>(t)])))
            << "lane " << lane << " head " << head << " token " << t;
      }
    }
  }
  EXPECT_EQ(mark("strip", "lane 0").value, "169 of 169 tokens kept in all 24 heads");
}

TEST_F(CompareTest, AllStripsShareOneAxis) {
  canvas.draw(*view);
  for (int lane = 1; lane < 4; ++lane) EXPECT_FLOAT_EQ(mark("strip", "lane " + std::to_string(lane)).min.x, mark("strip", "lane 0").min.x);
  EXPECT_FLOAT_EQ(mark("difference.strip", "C H2O | D KeepKV").min.x, mark("strip", "lane 1").min.x);
}

TEST_F(CompareTest, PrintsTheMetricsOfTheRecords) {
  canvas.draw(*view);
  for (int lane = 0; lane < 4; ++lane) {
    const LaneMetrics m = lane_metrics(snapshot.lanes[static_cast<std::size_t>(lane)], 2, 167, 3);
    const std::string name = "lane " + std::to_string(lane) + " ";
    EXPECT_EQ(mark("metric", name + "KL, nats").value, metric_text(snapshot, m, MetricColumn::Kind::kl));
    EXPECT_EQ(mark("metric", name + "mean KL").value, metric_text(snapshot, m, MetricColumn::Kind::mean_kl));
    EXPECT_EQ(mark("metric", name + "top-1 same").value, std::to_string(m.top1_same));
    EXPECT_EQ(mark("metric", name + "attention lost").value, format_percent(m.attention_loss));
    EXPECT_EQ(mark("metric", name + "KV bytes").value, format_bytes(snapshot.lanes[static_cast<std::size_t>(lane)].bytes));
  }
  EXPECT_EQ(mark("metric", "lane 1 slots").value, "42");
  EXPECT_EQ(mark("column", "mean KL").value, "steps 1–12");
}

TEST_F(CompareTest, AnAnswerThatDiffersIsMarked) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[0]);
  step->top1 = step->top1_reference + 1;
  step->top1_same = false;
  snapshot.lanes[1].steps[0] = step;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "answer.changed", "lane 1 step 0"), nullptr);
  EXPECT_EQ(find_mark(*view, "answer", "lane 1 step 0"), nullptr);
  EXPECT_NE(find_mark(*view, "answer", "lane 0 step 0"), nullptr);
}

TEST_F(CompareTest, ClickingAStripSelectsLaneHeadAndToken) {
  canvas.draw(*view);
  const Mark strip = mark("strip", "lane 2");
  const float px = (mark("strip", "lane 0").max.x - strip.min.x) / 169;
  ASSERT_FLOAT_EQ(strip.max.y - strip.min.y, 140);                            // 24 rows of 5 px, 4 px between 6 layers
  canvas.click(*view, {strip.min.x + 87.5f * px, strip.min.y + 2 * 24 + 1});  // first row of layer 2
  const Select* select = canvas.last<Select>();
  ASSERT_NE(select, nullptr);
  EXPECT_EQ(select->selection.lane, 2);
  EXPECT_EQ(select->selection.layer, 2);
  EXPECT_EQ(select->selection.kv_head, 0);
  EXPECT_EQ(select->selection.tokens, (TokenRange{87, 87}));
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  const TokenCount count = token_count(snapshot.lanes[2], 2, 87);
  EXPECT_THAT(hover->tooltip[1], HasSubstr("kept in " + std::to_string(count.kept) + " of 24 heads, merged in 0"));
  EXPECT_THAT(hover->tooltip[2], HasSubstr("L2 · H0: "));
}

TEST_F(CompareTest, ClickingBesideTheStripSelectsTheLaneOnly) {
  canvas.frame.selection.tokens = TokenRange{5, 9};
  canvas.draw(*view);
  const Mark lane = mark("lane", "lane 1");
  canvas.click(*view, {lane.min.x + 40, (lane.min.y + lane.max.y) / 2});
  EXPECT_EQ(canvas.last<Select>()->selection.lane, 1);
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{5, 9}));
}

TEST_F(CompareTest, TheCrossRemovesARunButNeverTheReference) {
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "button", "remove lane 0"), nullptr);
  canvas.click(*view, centre(mark("button", "remove lane 2")));
  const RemoveLane* remove = canvas.last<RemoveLane>();
  ASSERT_NE(remove, nullptr);
  EXPECT_EQ(remove->lane, 2);
  EXPECT_EQ(canvas.last<Select>(), nullptr);
  canvas.intents.clear();
  canvas.frame.selection.lane = 0;
  EXPECT_FALSE(view->key(canvas.frame, "Delete", canvas.intents));
  EXPECT_EQ(canvas.last<RemoveLane>(), nullptr);
}

TEST_F(CompareTest, DifferencePrintsTheFourCounts) {
  canvas.frame.selection.tokens = TokenRange{87, 87};
  canvas.draw(*view);
  const LaneDifference d = lane_difference(snapshot.lanes[2], 2, snapshot.lanes[3], 2);
  EXPECT_EQ(mark("difference", "only in C H2O").value, format_count(d.counts[1]));
  EXPECT_EQ(mark("difference", "only in D KeepKV").value, format_count(d.counts[2]));
  EXPECT_EQ(mark("difference", "in both").value, format_count(d.counts[3]));
  EXPECT_EQ(mark("difference", "in neither").value, format_count(d.counts[0]));
  const TokenCount count = token_count(snapshot.lanes[3], 2, 87);
  EXPECT_EQ(mark("token.count", "lane 3").value,
            count.merged > 0 ? std::to_string(count.kept) + " + " + std::to_string(count.merged) : std::to_string(count.kept));
  EXPECT_EQ(mark("token.count", "lane 0").value, "24");
}

TEST_F(CompareTest, SwapAndShiftClickChooseWhatIsCompared) {
  canvas.draw(*view);
  canvas.click(*view, centre(mark("button", "swap")));
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "D KeepKV | C H2O"), nullptr);
  const Mark lane = mark("lane", "lane 1");
  canvas.io().KeyShift = true;
  canvas.click(*view, {lane.min.x + 40, (lane.min.y + lane.max.y) / 2});
  canvas.io().KeyShift = false;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "D KeepKV | B Streaming"), nullptr);
  EXPECT_EQ(canvas.last<Select>(), nullptr);
}

TEST_F(CompareTest, ComparesWithTheRunThatWasLookedAtBefore) {
  canvas.draw(*view);  // lane 3
  canvas.frame.selection.lane = 1;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "D KeepKV | B Streaming"), nullptr);
  canvas.frame.selection.lane = 2;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "B Streaming | C H2O"), nullptr);
  snapshot.lanes.erase(snapshot.lanes.begin() + 1);  // indices have moved: back to the neighbour
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "B H2O | C KeepKV"), nullptr);
}

TEST_F(CompareTest, TexturesAreMadeAgainOnlyWhenTheRunOrStepChanged) {
  for (int i = 0; i < 5; ++i) canvas.draw(*view);
  EXPECT_EQ(canvas.textures.find("compare.3")->uploads, 1);
  canvas.frame.selection.step = 3;
  canvas.draw(*view);
  canvas.draw(*view);
  EXPECT_EQ(canvas.textures.find("compare.3")->uploads, 2);
  EXPECT_EQ(canvas.textures.find("compare.3")->width, 170);
}

TEST_F(CompareTest, LanesWithoutStepsSaySo) {
  snapshot.lanes[2].steps.clear();
  snapshot.lanes[2].fates = nullptr;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "empty", "lane 2"), nullptr);
  EXPECT_EQ(mark("metric", "lane 2 KL, nats").value, "–");
  canvas.frame.selection.lane = 2;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "empty", "difference"), nullptr);
}

TEST_F(CompareTest, MeasuresThatAreMissingAreNotZero) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[2]);
  step->nll = step->kl = kNotAvailable;
  for (HeadRecord& head : step->heads) head.attention_loss = kNotAvailable;
  snapshot.lanes[1].steps[2] = step;
  canvas.draw(*view);
  EXPECT_EQ(mark("metric", "lane 1 KL, nats").value, "n/a");
  EXPECT_EQ(mark("metric", "lane 1 −ln p").value, "n/a");
  EXPECT_EQ(mark("metric", "lane 1 attention lost").value, "n/a");
}

TEST_F(CompareTest, EmptySnapshotsShowASentence) {
  const Snapshot nothing;
  canvas.frame.snapshot = &nothing;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  EXPECT_EQ(view->facts(canvas.frame), "");
  EXPECT_EQ(view->preferred_height(canvas.frame), 0);
  EXPECT_FALSE(view->key(canvas.frame, "Down", canvas.intents));
  canvas.frame.snapshot = nullptr;
  canvas.draw(*view);
  EXPECT_TRUE(view->table(canvas.frame).rows.empty());
}

TEST_F(CompareTest, TwelveRunsAllFitWithNameAndNumbers) {
  synthetic::Shape shape;
  shape.lanes = {LaneKind::full};
  for (int i = 0; i < 11; ++i) shape.lanes.push_back(i % 2 == 0 ? LaneKind::heavy : LaneKind::merging);
  const Snapshot many = synthetic::make_snapshot(shape);
  canvas.frame.snapshot = &many;
  for (const float height : {870.0f, 600.0f, 420.0f}) {
    canvas.frame.size = {1550, height};
    canvas.draw(*view);
    EXPECT_EQ(count_marks(*view, "lane"), 12) << height;
    EXPECT_EQ(count_marks(*view, "note"), 0) << height;
    EXPECT_LE(view->marks().size(), 5000u);
    float end = 0;
    for (const Mark& m : view->marks()) {
      if (m.kind != "lane") continue;
      EXPECT_GE(m.min.y, end - 0.5f);
      end = m.max.y;
    }
    EXPECT_LE(end, height - 29);
  }
}

TEST_F(CompareTest, ManyHeadsBecomeRowsOfLayersWithTheKeptShare) {
  synthetic::Shape shape;
  shape.n_layers = shape.n_kv_heads = shape.n_heads = 32;
  shape.n_generated = 2;
  const Snapshot large = synthetic::make_snapshot(shape);
  canvas.frame.snapshot = &large;
  canvas.draw(*view);
  EXPECT_EQ(mark("strip", "lane 3").value, "kept fraction");
  const auto* image = canvas.textures.find("compare.3");
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->height, 32);
  EXPECT_EQ(image->rgba[0], colour(dark_theme().sequential.back()));  // a sink: kept in every head
  EXPECT_LE(view->marks().size(), 5000u);
}

TEST_F(CompareTest, HugeTextsStayWithinPixels) {
  const Snapshot huge = synthetic::make_huge_snapshot(4, 4, 32768);
  canvas.frame.snapshot = &huge;
  canvas.frame.selection = Selection{};
  canvas.frame.selection.lane = 1;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("compare.1");
  ASSERT_NE(image, nullptr);
  EXPECT_LE(image->width, 1550);
  EXPECT_LE(canvas.textures.find("compare.difference")->width, 1550);
}

TEST_F(CompareTest, OneRunAloneHasNothingToCompareWith) {
  snapshot.lanes.resize(1);
  canvas.frame.selection.lane = 0;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 1);
  EXPECT_EQ(count_marks(*view, "difference.strip"), 0);
}

TEST_F(CompareTest, TableHasOneRowPerRun) {
  const Table table = view->table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.columns.size(), table.rows[0].size());
  EXPECT_EQ(table.rows[3][0], "D KeepKV");
  EXPECT_EQ(table.rows[3][1], "keepkv:slots=42");
}

TEST_F(CompareTest, KeysMoveThroughRunsAndTokens) {
  ASSERT_TRUE(view->key(canvas.frame, "Up", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.lane, 2);
  canvas.frame.selection.tokens = TokenRange{10, 12};
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{11, 11}));
  ASSERT_TRUE(view->key(canvas.frame, "Delete", canvas.intents));
  EXPECT_EQ(canvas.last<RemoveLane>()->lane, 3);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("run D KeepKV, KL "));
}

TEST_F(CompareTest, PreferredHeightHoldsEveryRunAndTheDifference) {
  canvas.frame.size = {1550, view->preferred_height(canvas.frame)};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 4);
  EXPECT_EQ(count_marks(*view, "difference.strip"), 1);
}

}  // namespace
}  // namespace kvscope::viz
