// SPDX-License-Identifier: Apache-2.0
// Values of one head alone.
#include <gmock/gmock.h>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QToolButton>

#include "app/window/panels/effect/head_effect.h"
#include "app/window/panels/policy/head_keys_form.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/policy/policy_panel_facts.h"
#include "window/panels/panel_fixture.h"

namespace kvscope {
namespace {

class HeadKeysFormTest : public PanelTest {
 protected:
  HeadKeysFormTest() : form(workspace, controller) {
    publish(synthetic::make_snapshot());
    show(form, 300, 200);
  }
  std::string lane(int i) const { return controller.request().lanes[static_cast<std::size_t>(i)].text; }
  HeadKeysForm form;
};

TEST_F(HeadKeysFormTest, AValueGoesToTheSelectedHeadAndBack) {
  ASSERT_TRUE(form.offers());
  ParamEditor* field = form.field("threshold");
  ASSERT_NE(field, nullptr);
  EXPECT_FALSE(field->widget()->isEnabled()) << "no head is selected";
  const std::string before = lane(3);
  selectHead(2, 1);
  ASSERT_TRUE(field->widget()->isEnabled());
  auto* box = qobject_cast<QDoubleSpinBox*>(field->widget());
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->value(), 0.8) << "the run's";
  box->setFocus();
  box->selectAll();
  QTest::keyClicks(box, "0.6");
  EXPECT_EQ(lane(3), before + ",threshold[L2H1]=0.6");
  EXPECT_EQ(form.overriddenWords(), "L2 · H1: threshold 0.6");
  selectHead(2, 2);
  EXPECT_EQ(box->value(), 0.8) << "another head is as the run";
  selectHead(2, 1);
  EXPECT_EQ(box->value(), 0.6);
  QTest::mouseClick(field->resetButton(), Qt::LeftButton);
  EXPECT_EQ(lane(3), before);
  EXPECT_EQ(form.overriddenWords(), "");
}

TEST_F(HeadKeysFormTest, AnAnswerDoesNotTakeTheFieldFromWhoIsTyping) {
  selectHead(2, 1);
  auto* box = qobject_cast<QDoubleSpinBox*>(form.field("threshold")->widget());
  box->setFocus();
  box->selectAll();
  const auto answer = [&] {  // the run of what was typed so far is there
    Snapshot run = workspace.snapshot();
    ++run.sequence;
    workspace.setSnapshot(std::make_shared<const Snapshot>(std::move(run)));
    QApplication::processEvents();
  };
  for (const char key : std::string("0.55")) {
    const std::string before = lane(3);
    QTest::keyClick(box, key);
    const std::string typed = lane(3);
    controller.setLaneSpec(3, QString::fromStdString(before));  // what holds is a key behind
    answer();
    controller.setLaneSpec(3, QString::fromStdString(typed));
    answer();
  }
  QTest::keyClick(box, Qt::Key_Return);
  EXPECT_TRUE(lane(3).ends_with(",threshold[L2H1]=0.55")) << lane(3);
  EXPECT_EQ(box->value(), 0.55);
  controller.setLaneSpec(3, "keepkv:slots=42,threshold[L2H1]=0.3");
  EXPECT_EQ(box->value(), 0.3) << "after Enter it shows what holds again";
}

TEST_F(HeadKeysFormTest, AllHeadsGoBackToTheRun) {
  const std::string before = lane(3);
  controller.setLaneSpec(3, QString::fromStdString(before + ",threshold[L1]=0.5,threshold[L2H1]=0.6"));
  selectHead(1, 3);
  EXPECT_EQ(qobject_cast<QDoubleSpinBox*>(form.field("threshold")->widget())->value(), 0.5) << "by its layer";
  form.set("threshold", "");  // in a layer with its own value the run's is written
  EXPECT_EQ(lane(3), before + ",threshold[L1]=0.5,threshold[L2H1]=0.6,threshold[L1H3]=0.8");
  QTest::mouseClick(&form.resetButton(), Qt::LeftButton);
  EXPECT_EQ(lane(3), before);
}

TEST_F(HeadKeysFormTest, PoliciesWithoutSuchKeysOfferNothing) {
  viz::Selection selection = workspace.selection();
  for (const int other : {0, 1, 2}) {
    selection.lane = other;
    workspace.setSelection(selection);
    EXPECT_FALSE(form.offers()) << lane(other);
    EXPECT_FALSE(form.isVisible());
  }
}

TEST_F(HeadKeysFormTest, TheCardSaysTheValueOfTheSelectedHead) {
  const auto merge = [this] {
    for (const CardFact& f : cardFacts(workspace))
      if (f.name == "merge") return f.value.toStdString();
    return std::string();
  };
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].spec += ",threshold[L2H1]=0.6";
  publish(std::move(s));
  EXPECT_THAT(merge(), ::testing::HasSubstr("≥ 0.8 (some heads their own)"));
  selectHead(2, 1);
  EXPECT_THAT(merge(), ::testing::HasSubstr("≥ 0.6:"));
  selectHead(2, 0);
  EXPECT_THAT(merge(), ::testing::HasSubstr("≥ 0.8:"));
}

TEST(HeadChange, IsToldFromTheSpecifications) {
  EXPECT_EQ(headChangeWords(parse_lane_spec("keepkv:slots=8"), parse_lane_spec("keepkv:slots=8,threshold[L2H1]=0.6")),
            "threshold 0.6 only in L2 · H1");
  EXPECT_EQ(headChangeWords(parse_lane_spec("keepkv:slots=8,threshold[L2]=0.6"), parse_lane_spec("keepkv:slots=8")),
            "threshold as the run in L2");
  EXPECT_EQ(headChangeWords(parse_lane_spec("h2o:slots=8"), parse_lane_spec("h2o:slots=8@slots=12,layers=1,heads=0")),
            "12 slots only in L1 · H0");
  EXPECT_EQ(headChangeWords(parse_lane_spec("h2o:slots=8@slots=12,layers=1,heads=0"), parse_lane_spec("h2o:slots=8")),
            "budget as allocated in L1 · H0");
  const LaneSpec plain = parse_lane_spec("h2o:slots=8"), head = parse_lane_spec("h2o:slots=8@slots=12,layers=1,heads=0"),
                 layer = parse_lane_spec("h2o:slots=8@slots=10,layers=1"),
                 both = parse_lane_spec("h2o:slots=8@slots=10,layers=1@slots=12,layers=1,heads=0");
  EXPECT_EQ(headChangeWords(head, layer), "10 slots only in L1") << "the head is one of them";
  EXPECT_EQ(headChangeWords(both, layer), "budget as its layer in L1 · H0");
  EXPECT_EQ(headChangeWords(both, head), "budget as allocated in L1") << "a layer is not covered by a head of it";
  EXPECT_EQ(headChangeWords(both, plain), "budget as allocated in L1, budget as allocated in L1 · H0");
  EXPECT_EQ(headChangeWords(parse_lane_spec("h2o:slots=8"), parse_lane_spec("h2o:slots=9")), "") << "all heads";
  EXPECT_EQ(headChangeWords(parse_lane_spec("h2o:slots=8"), parse_lane_spec("h2o:slots=9@slots=12,layers=1,heads=0")), "")
      << "all heads, too";
}

TEST_F(HeadKeysFormTest, ABudgetOfOneHeadIsSaidWithWhatItDidToTheRunAsItWas) {
  HeadEffect effect(workspace, controller);
  selectHead(2, 1);
  EXPECT_EQ(effect.words(), "");
  const std::string wanted = lane(3) + "@slots=12,layers=2,heads=1";
  controller.setLaneSpec(3, QString::fromStdString(wanted));
  EXPECT_EQ(effect.words(), "") << "not run yet";
  const auto answer = [&](const std::string& spec) {
    Snapshot same = workspace.snapshot();
    ++same.sequence;
    same.lanes[3].spec = spec;
    workspace.setSnapshot(std::make_shared<const Snapshot>(std::move(same)));
  };
  answer(wanted);
  EXPECT_THAT(effect.words().toStdString(), ::testing::HasSubstr("(no change)"));
  const std::string more = wanted.substr(0, wanted.find('@')) + "@slots=13,layers=2,heads=1";
  controller.setLaneSpec(3, QString::fromStdString(more));
  Snapshot run = workspace.snapshot();
  ++run.sequence;
  run.lanes[3].spec = more;
  for (StepPtr& step : run.lanes[3].steps) {
    auto next = std::make_shared<StepRecord>(*step);
    next->kl *= 2;
    step = next;
  }
  workspace.setSnapshot(std::make_shared<const Snapshot>(std::move(run)));
  const std::string words = effect.words().toStdString();
  EXPECT_THAT(words, ::testing::StartsWith("13 slots only in L2 · H1: mean KL "));
  EXPECT_THAT(words, ::testing::HasSubstr("(+100"));
  EXPECT_THAT(words, ::testing::HasSubstr("top-1 same "));
  controller.setPrompt("Another text.");
  answer(more);
  EXPECT_EQ(effect.words(), "") << "figures of two texts tell nothing of a head";
}

}  // namespace
}  // namespace kvscope
