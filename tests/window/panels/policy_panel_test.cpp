// SPDX-License-Identifier: Apache-2.0
#include "window/panels/panel_fixture.h"

#include <malloc.h>

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include "app/window/panels/effect/step_votes.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/policy/policy_panel_card.h"
#include "app/window/panels/policy/policy_panel_facts.h"
#include "policy/catalog.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

class PolicyPanelTest : public PanelTest {
 protected:
  PolicyPanelTest() {
    publish(synthetic::make_snapshot());  // lane 3: keepkv:slots=42
    show(panel, 392, 700);
    panel.setParametersShown(true);
  }
  std::string requested(int lane) { return controller.request().lanes[static_cast<std::size_t>(lane)].text; }
  QString fact(const QString& name) {
    for (const CardFact& f : cardFacts(workspace)) {
      if (f.name == name) return f.value;
    }
    return "(none)";
  }

  PolicyPanel panel{workspace, controller};
};

// ---- card

TEST_F(PolicyPanelTest, WhereOnlyFiguresAreKeptSlotsAndVotesAreStillSaid) {
  Snapshot figures = workspace.snapshot();
  for (LaneSnapshot& lane : figures.lanes)
    for (StepPtr& step : lane.steps) step = std::make_shared<const StepRecord>(figures_of(*step));
  for (const bool head : {false, true}) {
    publish(synthetic::make_snapshot());
    if (head) selectHead(2, 1);
    const QString slots = budgetFacts(workspace).words, votes = votesFacts(workspace).words;
    const double in_a_head = allocationColumns(workspace, /*by_layer=*/false).back().slots;
    EXPECT_GT(in_a_head, 0);
    publish(figures);
    if (head) selectHead(2, 1);
    EXPECT_EQ(budgetFacts(workspace).words, slots);
    EXPECT_EQ(votesFacts(workspace).words, votes);
    EXPECT_EQ(allocationColumns(workspace, /*by_layer=*/false).back().slots, in_a_head);
  }
}

TEST_F(PolicyPanelTest, EveryPartOfANarrowBudgetBarHasItsName) {
  const auto* bars = panel.findChild<BudgetBars*>();
  ASSERT_NE(bars, nullptr);
  for (const char* part : {"sinks 4", "heavy ", "recent 8"}) EXPECT_TRUE(bars->toolTip().contains(part)) << bars->toolTip().toStdString();
  const QString votes = bars->helpAt({10, bars->height() - 4});
  EXPECT_TRUE(votes.startsWith("Votes, ") && votes.contains("is lost")) << votes.toStdString();
  EXPECT_EQ(bars->helpAt({10, 4}), bars->toolTip());
}

/// Half of a sentence reads like the whole of it.
TEST_F(PolicyPanelTest, ALowPanelCutsNoWordsOfTheCard) {
  panel.setParametersShown(false);
  auto* scroll = panel.findChild<QScrollArea*>();
  const auto cut = [&] {
    const int end = scroll->viewport()->height();
    for (const QLabel* words : panel.card().findChildren<QLabel*>(Qt::FindDirectChildrenOnly)) {
      const int top = words->mapTo(scroll->widget(), QPoint()).y();
      if (words->isVisible() && top < end && top + words->height() > end) return words->text();
    }
    return QString();
  };
  for (int height = 150; height <= 420; height += 9) {
    panel.resize(300, height);
    QTest::qWait(20);
    EXPECT_TRUE(waitFor([&] { return cut().isEmpty(); }, 2000)) << height << ": " << cut().toStdString();
  }
}

/// Bytes that are held after so many fields have come and gone. All are there at once: each has an address of its own.
std::ptrdiff_t keptByFields(ParamInfo::Kind kind) {
  QWidget form;
  QGridLayout grid(&form);
  const ParamInfo info{.key = "n", .kind = kind, .min = 0, .max = 100, .help = "a number"};
  const std::size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 400; ++i) new ParamEditor(info, &form, grid, ParamEditor::kRows * i);
  for (ParamEditor* field : form.findChildren<ParamEditor*>()) field->takeAway();
  return static_cast<std::ptrdiff_t>(::mallinfo2().uordblks) - static_cast<std::ptrdiff_t>(before);
}

TEST_F(PolicyPanelTest, OfFieldsThatAreGoneTheStyleKeepsNothing) {
  keptByFields(ParamInfo::Kind::text);
  const std::ptrdiff_t of_text = keptByFields(ParamInfo::Kind::text);
  for (const ParamInfo::Kind kind : {ParamInfo::Kind::count, ParamInfo::Kind::number})
    EXPECT_LT(keptByFields(kind), of_text + 100000) << "a quarter of a KiB each";
}

TEST_F(PolicyPanelTest, FieldsThatMayGoBeforeTheyAreSeenAreKnownToTheStyle) {
  panel.hide();
  const auto seen = panel.findChildren<ParamEditor*>();
  viz::Selection selection = workspace.selection();
  selection.lane = 2;
  workspace.setSelection(selection);
  const auto fields = panel.findChildren<ParamEditor*>();
  ASSERT_FALSE(fields.isEmpty() || seen.contains(fields.back())) << "made anew";
  for (const QWidget* part : panel.findChildren<QWidget*>())
    EXPECT_TRUE(part->testAttribute(Qt::WA_WState_Polished)) << part->metaObject()->className();
}

TEST_F(PolicyPanelTest, SplitsTheSlotsOfAHead) {
  selectHead(4, 1);
  selectStep(2);
  EXPECT_EQ(budgetFacts(workspace).words, "4 + 30 + 8 = 42 slots");
  EXPECT_EQ(panel.facts(), "KeepKV");
}

TEST_F(PolicyPanelTest, TheBudgetOfOneHeadIsNotCalledThatOfEveryHead) {
  Snapshot s = synthetic::make_snapshot();
  const auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
  for (HeadRecord& head : step->heads) head.budget = 42, head.n_slots = static_cast<int>(head.pos.size());
  s.lanes[3].steps[2] = step;
  publish(s);
  selectHead(4, 1);
  selectStep(2);
  EXPECT_EQ(budgetFacts(workspace).title, "Budget per head");
  const auto uneven = std::make_shared<StepRecord>(*step);
  uneven->heads[3].budget = 60;
  s.lanes[3].steps[2] = uneven;
  ++s.sequence;
  publish(s);
  selectHead(4, 1);
  selectStep(2);
  EXPECT_EQ(budgetFacts(workspace).title, "Budget of L4 · H1");
  workspace.setSelection([this] {
    viz::Selection all = workspace.selection();
    all.layer.reset();
    all.kv_head.reset();
    return all;
  }());
  EXPECT_EQ(budgetFacts(workspace).title, "Budget per head") << "the mean of all";
}

/// With a budget of 50 and a window of 64 another program keeps the newest 50 tokens, and this one chooses half of them.
TEST_F(PolicyPanelTest, AWindowWiderThanHalfOfTheBudgetIsSaidToBeCut) {
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].policy = "snapkv";
  s.lanes[3].sees_question = true;
  s.lanes[3].slots_asked = 50;
  s.lanes[3].params = {{"window", "64"}};
  publish(s);
  EXPECT_EQ(fact("question"), "seen: the last 25 queries take part, half of the budget, not all 64");
  s.lanes[3].params = {{"window", "25"}};
  publish(std::move(s));
  EXPECT_EQ(fact("question"), "seen: the last queries of the prompt take part");
}

TEST_F(PolicyPanelTest, WarningsAreOneLineWithAllOfThemOnHover) {
  EXPECT_EQ(fact("1 warning"), "(none)");
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].warnings = {{.kind = LaneWarning::Kind::fallback, .count = 7},
                         {.kind = LaneWarning::Kind::budget_missed, .asked = 42, .got = 54}};
  publish(std::move(s));
  EXPECT_EQ(fact("2 warnings"), "7 merges fell back to another form  (+1)");
  for (const CardFact& f : cardFacts(workspace)) {
    EXPECT_EQ(f.alert, f.name == "2 warnings");
    EXPECT_EQ(f.details.isEmpty(), !f.alert);
    if (!f.alert) continue;
    EXPECT_EQ(f.details, "7 merges fell back to another form\n54.0 slots per head on average, for a budget of 42");
  }
}

TEST_F(PolicyPanelTest, SaysSoWhenThereAreMoreOrFewerSlotsThanAsked) {
  Snapshot s = synthetic::make_snapshot();
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
  for (HeadRecord& head : step->heads) head.budget = 40;
  s.lanes[3].steps[2] = step;
  auto later = std::make_shared<StepRecord>(*s.lanes[3].steps[3]);
  for (HeadRecord& head : later->heads) head.budget = 100;
  s.lanes[3].steps[3] = later;
  publish(std::move(s));
  selectStep(2);
  EXPECT_EQ(budgetFacts(workspace).words, "4 + 30 + 8 = 42 slots, budget 40");
  selectStep(3);
  EXPECT_EQ(budgetFacts(workspace).words, "4 + 30 + 8 = 42 of 100 slots");
}

TEST_F(PolicyPanelTest, CountsVotesSoThatSlotsPlusLostAreTheTokensSeen) {
  for (int step = 0; step < 13; ++step) {
    selectStep(step);
    for (int h = 0; h < 24; h += 5) {
      selectHead(h / 4, h % 4);
      const VotesFacts votes = votesFacts(workspace);
      ASSERT_EQ(votes.in_slots + votes.lost, workspace.stepRecord()->position + 1);
    }
  }
  viz::Selection all = workspace.selection();
  all.layer.reset();
  all.kv_head.reset();
  all.step = 2;
  workspace.setSelection(all);
  const VotesFacts votes = votesFacts(workspace);
  EXPECT_EQ(votes.title, "Votes, 24 heads");
  EXPECT_EQ(votes.in_slots + votes.lost, 24 * 169);
  EXPECT_TRUE(votes.words.endsWith(" = 4\u202F056 seen") || votes.words.endsWith(" = 4\u2009056 seen")) << votes.words.toStdString();
  EXPECT_EQ(votes.brief, QString(votes.words).remove(" in slots").remove(" seen")) << "the same numbers in a narrow panel";
}

TEST_F(PolicyPanelTest, VotesOfAllHeadsAreTheSumOfTheirsAndCountedOncePerStep) {
  const auto sum = [](const StepRecord& step) {
    long long in_slots = 0, lost = 0;
    for (const HeadRecord& head : step.heads) {
      for (const int v : head.votes) in_slots += v;
      lost += head.evicted_votes;
    }
    return std::pair(in_slots, lost);
  };
  selectHead(4, 1);
  std::set<std::pair<long long, long long>> different;
  for (int again = 0; again < 2; ++again)
    for (int lane = 0; lane < static_cast<int>(workspace.snapshot().lanes.size()); ++lane) {
      viz::Selection selection = workspace.selection();
      selection.lane = lane;
      workspace.setSelection(selection);
      for (int step = 0; step < 13; ++step) {
        selectStep(step);
        const auto [in_slots, lost] = sum(*workspace.stepRecord());
        EXPECT_EQ(fact("24 heads").toStdString(), viz::format_count(in_slots) + " votes in slots + " + viz::format_count(lost) + " lost");
        different.insert({in_slots, lost});
      }
    }
  EXPECT_GT(different.size(), 13u);

  StepVotesOnce once;
  const Snapshot& s = workspace.snapshot();
  for (int again = 0; again < 3; ++again)
    for (const StepPtr& step : s.lanes[3].steps) {
      EXPECT_EQ(std::pair(once.of(step).in_slots, once.of(step).lost), sum(*step));
    }
  EXPECT_EQ(once.nCounted(), static_cast<int>(s.lanes[3].steps.size()));
}

TEST_F(PolicyPanelTest, VotesOfAStepThatIsGoneAreNotThoseOfTheNextAtItsPlace) {
  StepVotesOnce once;
  for (int i = 1; i <= 1000; ++i) {  // freed and made anew, most of them at one address
    auto step = std::make_shared<StepRecord>();
    step->heads.resize(2);
    step->heads[1].votes = {i, i};
    step->heads[0].evicted_votes = i;
    const StepPtr kept = step;
    ASSERT_EQ(once.of(kept).in_slots, 2 * i);
    ASSERT_EQ(once.of(kept).lost, i);
  }
  EXPECT_EQ(once.nCounted(), 1000);
  EXPECT_LE(once.nKept(), 64u);
}

TEST_F(PolicyPanelTest, TellsTheReferenceThatItHasNoLimit) {
  viz::Selection selection = workspace.selection();
  selection.lane = 0;
  selection.step = 2;
  workspace.setSelection(selection);
  EXPECT_EQ(budgetFacts(workspace).title, "Slots per head") << "nobody set a budget";
  EXPECT_EQ(budgetFacts(workspace).words, "169, no limit");
  EXPECT_EQ(fact("allocation"), "no limit · 24 heads");
  EXPECT_EQ(fact("question"), "(none)") << "nothing is chosen there";
}

TEST_F(PolicyPanelTest, SaysWhetherTheQuestionWasSeenByPolicyAndPromptMode) {
  EXPECT_THAT(fact("question").toStdString(), ::testing::StartsWith("seen"));
  synthetic::Shape streamed;
  streamed.prefill = false;
  Snapshot s = synthetic::make_snapshot(streamed);
  for (LaneSnapshot& lane : s.lanes) lane.looks_at = "the attention so far";
  publish(s);
  EXPECT_EQ(fact("question"), "not seen: the prompt was streamed");
  viz::Selection selection = workspace.selection();
  selection.lane = 1;  // keeps by position
  workspace.setSelection(selection);
  EXPECT_THAT(fact("question").toStdString(), ::testing::StartsWith("not seen: no look"));
  s.lanes[1].looks_at.clear();  // a trace of slots alone
  publish(s);
  workspace.setSelection(selection);
  EXPECT_EQ(fact("question"), "(none)");
}

TEST_F(PolicyPanelTest, DescribesTheAllocationFromTheHeadsThemselves) {
  EXPECT_EQ(fact("allocation"), "uniform · 42 × 24 heads = 1\u2009008 slots");
  Snapshot s = synthetic::make_snapshot();
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps.back());
  for (HeadRecord& head : step->heads) head.budget = 30 + head.layer;
  s.lanes[3].steps.back() = step;
  publish(std::move(s));
  EXPECT_EQ(fact("allocation"), "by layer, 30–35 · 24 heads = 780 slots");
}

TEST_F(PolicyPanelTest, TakesItsWordsFromTheCatalog) {
  const PolicyInfo& info = find_policy(workspace.lane()->policy);
  EXPECT_EQ(fact("ranking").toStdString(), info.ranking);
  EXPECT_EQ(policyIdea(workspace).toStdString(), info.idea);
  EXPECT_EQ(fact("statistic"), "EMA share · half-life 6.6 queries");
}

TEST_F(PolicyPanelTest, PutsTheValueOfAParameterIntoTheWordsThatCompareWithIt) {
  EXPECT_THAT(find_policy("keepkv").merging, ::testing::HasSubstr(">= threshold"));
  EXPECT_THAT(fact("merge").toStdString(), ::testing::HasSubstr("≥ 0.8"));
}

TEST_F(PolicyPanelTest, ListsWhatWasGivenBesideTheBudget) {
  EXPECT_EQ(fact("set to"), "(none)") << "all at their defaults";
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].spec = "keepkv:slots=42,threshold=0.65,form=zip";
  publish(std::move(s));
  EXPECT_EQ(fact("set to"), "threshold 0.65 · form zip");
}

TEST_F(PolicyPanelTest, ShowsARunOfAPolicyThatThisBuildDoesNotKnow) {
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].policy = "of-tomorrow";
  publish(std::move(s));
  EXPECT_EQ(fact("ranking"), "(none)");
  EXPECT_NE(fact("allocation"), "(none)");
  panel.grab();
}

// ---- form

TEST_F(PolicyPanelTest, HasOneFieldForEveryParameterOfEveryPolicy) {
  PolicyForm& form = panel.form();
  for (const PolicyInfo& info : policies()) {
    if (!info.takes_budget) continue;
    form.setPolicy(QString::fromStdString(info.name));
    ASSERT_EQ(parse_lane_spec(requested(3)).name, info.name);
    for (const ParamInfo& param : info.keys_follow_choices ? params_of(parse_lane_spec(requested(3))) : info.params) {
      ParamEditor* field = form.field(param.key);
      ASSERT_NE(field, nullptr) << info.name << " " << param.key;
      EXPECT_FALSE(field->changed()) << info.name << " " << param.key << " stands at its default";
      EXPECT_THAT(field->widget()->toolTip().toStdString(), ::testing::HasSubstr(param.help));
      if (auto* box = qobject_cast<QComboBox*>(field->widget())) {
        EXPECT_EQ(box->currentText().toStdString(), param.default_text);
      }
    }
  }
}

TEST_F(PolicyPanelTest, AddingARunPastTheLastPolicyTakesTheFirst) {
  std::string last;
  for (const PolicyInfo& info : policies()) last = info.name;
  panel.form().setPolicy(QString::fromStdString(last));
  panel.form().addLane();
  EXPECT_EQ(parse_lane_spec(requested(4)).name, policies()[1].name) << "the reference is no run of its own";
}

TEST_F(PolicyPanelTest, ListsEveryPolicyOnceUnderTheHeadingOfItsKind) {
  const QComboBox& list = panel.form().policyChoice();
  std::vector<std::string> headings;
  std::map<std::string, std::string> heading_of;
  for (int row = 0; row < list.count(); ++row) {
    const std::string name = list.itemData(row).toString().toStdString(), text = list.itemText(row).toStdString();
    if (name.empty()) {
      EXPECT_FALSE(list.model()->flags(list.model()->index(row, 0)).testFlag(Qt::ItemIsEnabled)) << text;
      headings.push_back(text);
    } else {
      EXPECT_TRUE(heading_of.emplace(name, headings.empty() ? "" : headings.back()).second) << name << " stands there twice";
    }
  }
  EXPECT_THAT(headings,
              ::testing::ElementsAre("Baselines and position", "Eviction by keys or attention", "Budgets that differ by layer or head",
                                     "Merging", "Every token stays", "Put together from others"));
  EXPECT_EQ(heading_of["custom"], "Put together from others");
  for (const PolicyInfo& info : policies()) EXPECT_EQ(heading_of.contains(info.name), info.name != reference_policy()) << info.name;
  EXPECT_EQ(heading_of["h2o"], "Eviction by keys or attention");
  EXPECT_EQ(heading_of["keepkv"], "Merging");
}

TEST_F(PolicyPanelTest, ShowsTheFieldsOfTheChosenPartsOnly) {
  PolicyForm& form = panel.form();
  form.setPolicy("custom");
  const QList<QLabel*> words = form.findChildren<QLabel*>();
  EXPECT_TRUE(std::ranges::any_of(words, [](const QLabel* label) { return label->text().contains("No parts: Quest's pages"); }))
      << "what cannot be composed, and why";
  EXPECT_EQ(form.field("lambda"), nullptr);
  ParamEditor* stat = form.field("stat");
  ASSERT_NE(stat, nullptr);
  EXPECT_THAT(stat->widget()->toolTip().toStdString(), ::testing::HasSubstr("decayed: attention so far, older queries count less"));
  qobject_cast<QComboBox*>(stat->widget())->setCurrentText("decayed");
  EXPECT_EQ(requested(3), "custom:slots=42,stat=decayed");
  EXPECT_EQ(form.field("stat"), stat) << "the field that the user is in stays";
  ASSERT_NE(form.field("lambda"), nullptr);
  qobject_cast<QDoubleSpinBox*>(form.field("lambda")->widget())->setValue(0.5);
  qobject_cast<QComboBox*>(form.field("merge")->widget())->setCurrentText("weightedkv");
  EXPECT_EQ(requested(3), "custom:slots=42,stat=decayed,lambda=0.5,merge=weightedkv");
  EXPECT_EQ(qobject_cast<QComboBox*>(form.field("select")->widget())->currentText(), "in_turn") << "what follows from the merge";
  EXPECT_FALSE(form.field("select")->changed());
  qobject_cast<QComboBox*>(stat->widget())->setCurrentText("score");
  EXPECT_EQ(requested(3), "custom:slots=42,stat=score,merge=weightedkv") << "lambda went with its part";
  auto* score = qobject_cast<QLineEdit*>(form.field("score")->widget());
  ASSERT_NE(score, nullptr);
  EXPECT_EQ(score->text(), "mean * wo_norm");
  const auto type = [&](const QString& text) {
    score->setFocus();
    score->selectAll();
    QTest::keyClicks(score, text);
    QTest::keyClick(score, Qt::Key_Return);
  };
  type("max(ema, last) / age");
  EXPECT_EQ(requested(3), "custom:slots=42,stat=score,merge=weightedkv,score=\"max(ema, last) / age\"");
  ASSERT_NE(form.field("ema_alpha"), nullptr) << "the score names the EMA";
  type("max(emma, last)");
  EXPECT_THAT(form.message().toStdString(), ::testing::HasSubstr("got 'emma' at column 5"));
  EXPECT_THAT(form.field("score")->refusal().toStdString(), ::testing::HasSubstr("got 'emma' at column 5")) << "at the field";
  EXPECT_EQ(score->text(), "max(emma, last)") << "to be put right";
  qobject_cast<QComboBox*>(form.field("merge")->widget())->setCurrentText("zeromerge");
  qobject_cast<QComboBox*>(form.field("unit")->widget())->setCurrentText("layer");
  qobject_cast<QComboBox*>(form.field("alloc")->widget())->setCurrentText("ada");
  EXPECT_THAT(form.message().toStdString(), ::testing::HasSubstr("leave out unit or alloc"));
  EXPECT_EQ(qobject_cast<QComboBox*>(form.field("alloc")->widget())->currentText(), "uniform") << "what still holds";
  EXPECT_THAT(form.field("score")->refusal().toStdString(), ::testing::HasSubstr("emma")) << "one refusal does not hide another";
  score->setFocus();
  score->selectAll();
  QTest::keyClicks(score, "max(ema, lost)");
  EXPECT_THAT(form.field("score")->refusal().toStdString(), ::testing::HasSubstr("got 'lost' at column 10")) << "before Enter";
  score->selectAll();
  QTest::keyClicks(score, "max(ema, last)");
  EXPECT_EQ(form.field("score")->refusal(), "");
}

TEST_F(PolicyPanelTest, KeepsTheBudgetWhenThePolicyChanges) {
  panel.form().setPolicy("h2o");
  EXPECT_EQ(requested(3), "h2o:slots=42");
}

TEST_F(PolicyPanelTest, SendsAChangedFieldAndTakesItBack) {
  ParamEditor* field = panel.form().field("threshold");
  ASSERT_NE(field, nullptr);
  qobject_cast<QDoubleSpinBox*>(field->widget())->setValue(0.65);
  EXPECT_EQ(requested(3), "keepkv:slots=42,threshold=0.65");
  EXPECT_TRUE(field->changed());
  EXPECT_TRUE(field->resetButton()->isVisible());
  EXPECT_EQ(panel.form().nChanged(), 1);
  QTest::mouseClick(field->resetButton(), Qt::LeftButton);
  EXPECT_EQ(requested(3), "keepkv:slots=42");
  EXPECT_FALSE(field->changed());
}

/// The field has what was asked for, the run what there was room for.
TEST_F(PolicyPanelTest, AFieldSaysWhatTheRunTookOfIt) {
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].policy = "snapkv";
  s.lanes[3].spec = "snapkv:slots=33";
  s.lanes[3].params = {{"window", "16"}, {"kernel", "7"}};
  publish(s);
  const auto words = [&](const char* key) {
    QStringList out;
    for (const QLabel* label : panel.form().findChildren<QLabel*>("secondary"))
      if (!label->isHidden() && label->text().contains("in force") && label->geometry().top() > panel.form().field(key)->widget()->y())
        out << label->text();
    return out.join('|');
  };
  ASSERT_NE(panel.form().field("window"), nullptr);
  EXPECT_EQ(qobject_cast<QLineEdit*>(panel.form().field("window")->widget())->text(), "32");
  EXPECT_EQ(words("window"), "16 in force: budget or text has no room for more");
  s.lanes[3].params = {{"window", "32"}, {"kernel", "7"}};
  publish(s);
  EXPECT_EQ(words("window"), "");
  s.lanes[3].params = {{"window", "16"}};
  s.lanes[3].spec = "snapkv:slots=34";
  workspace.setSnapshot(std::make_shared<const Snapshot>(std::move(s)));
  EXPECT_EQ(words("window"), "") << "what is on the screen is another run's";
}

TEST_F(PolicyPanelTest, TakesACountOrAFractionAndRefusesAnythingElseWithAReason) {
  auto* line = qobject_cast<QLineEdit*>(panel.form().field("recent")->widget());
  ASSERT_NE(line, nullptr);
  const auto type = [&](const QString& text) {
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
  };
  type("0.5");
  EXPECT_EQ(requested(3), "keepkv:slots=42,recent=0.5");
  type("12");
  EXPECT_EQ(requested(3), "keepkv:slots=42,recent=12");
  type("many");
  EXPECT_EQ(requested(3), "keepkv:slots=42,recent=12") << "nothing is sent";
  EXPECT_THAT(panel.form().message().toStdString(), ::testing::HasSubstr("many"));
  type("9");
  EXPECT_EQ(panel.form().message(), "");
}

TEST_F(PolicyPanelTest, SetsTheBudgetByTheSliderInSlots) {
  PolicyForm& form = panel.form();
  form.budget().setValue(form.budget().minimum());
  EXPECT_EQ(requested(3), "keepkv:slots=1");
  form.budget().setValue(form.budget().maximum());
  EXPECT_EQ(requested(3), "keepkv:slots=167") << "the whole prompt";
  form.budget().setValue(84);
  EXPECT_EQ(requested(3), "keepkv:slots=84") << "the scale is linear, as that of the slider above the panels";
}

TEST_F(PolicyPanelTest, StatesTheBudgetInSlotsPercentAndBytes) {
  // 42 slots x 24 heads x 2 x 32 x 4 bytes = 252 KiB
  EXPECT_EQ(panel.form().budgetWords(), "42 slots · 25.1 % of 167 · 252.0 KiB");
}

TEST_F(PolicyPanelTest, ABudgetThatIsRaisedIsNotToldAsWhatTheRunHolds) {
  Snapshot raised = workspace.snapshot();
  raised.lanes[3].warnings.push_back({.kind = LaneWarning::Kind::budget_raised, .asked = 42, .got = 44});
  publish(raised);
  EXPECT_EQ(panel.form().budgetWords(), "42 slots · 25.1 % of 167 · 252.0 KiB asked, raised to 44");
}

TEST_F(PolicyPanelTest, ABudgetThatIsRoundedDownIsSaidAsItIs) {
  controller.setLaneSpec(3, "keepkv:ratio=0.25,round=down");  // 41.75 of 167
  EXPECT_THAT(panel.form().budgetWords().toStdString(), ::testing::StartsWith("41 slots"));
  for (const int n : {7, 8, 166, 167}) {
    panel.form().setSlots(n);
    EXPECT_EQ(panel.form().budget().value(), n) << requested(3);
  }
}

/// What a double click leaves: the budget of the layer, where it has one.
TEST_F(PolicyPanelTest, TheBudgetThatAHeadGoesBackToIsSaid) {
  Snapshot s = synthetic::make_snapshot();
  s.lanes[3].spec += "@slots=50,layers=2@slots=60,layers=2,heads=1@slots=30,layers=4,heads=0";
  for (StepPtr& step : s.lanes[3].steps) {
    auto edited = std::make_shared<StepRecord>(*step);
    for (HeadRecord& head : edited->heads) head.overridden = head.layer == 2 || (head.layer == 4 && head.kv_head == 0);
    step = edited;
  }
  publish(std::move(s));
  AllocationCurve curve(workspace);
  show(curve, 320, 84);
  const auto said = [&](int layer, int kv_head) {
    selectHead(layer, kv_head);
    return curve.accessibleDescription().toStdString();
  };
  EXPECT_THAT(said(2, 1), ::testing::HasSubstr("double click or Delete: as its layer"));
  EXPECT_THAT(said(2, 0), ::testing::HasSubstr("Delete: all that were set with it, as the policy allocates them"));
  EXPECT_THAT(said(4, 0), ::testing::HasSubstr("Delete: as the policy allocates it"));
  EXPECT_THAT(said(4, 0), ::testing::HasSubstr("budget of this head · Shift and drag: of its layer"));
  EXPECT_THAT(said(4, 1), ::testing::Not(::testing::HasSubstr("Delete")));
  curve.resize(100, 84);  // no room for heads
  QApplication::processEvents();
  EXPECT_THAT(said(2, 1), ::testing::HasSubstr("layer 2, mean of its heads"));
  EXPECT_THAT(said(2, 1), ::testing::HasSubstr("budget of this layer\ndouble click or Delete: as the policy allocates it"));
}

TEST_F(PolicyPanelTest, TurnsSlotsIntoAShareOfThePromptAndBack) {
  QComboBox& unit = panel.form().unitChoice();
  unit.setCurrentIndex(1);
  Q_EMIT unit.activated(1);
  EXPECT_EQ(requested(3), "keepkv:ratio=0.2515");
  EXPECT_THAT(panel.form().budgetWords().toStdString(), ::testing::StartsWith("42 slots"));
  unit.setCurrentIndex(0);
  Q_EMIT unit.activated(0);
  EXPECT_EQ(requested(3), "keepkv:slots=42");
}

TEST_F(PolicyPanelTest, AddsDuplicatesAndRemovesRuns) {
  PolicyForm& form = panel.form();
  form.duplicateLane();
  ASSERT_EQ(controller.request().lanes.size(), 5u);
  EXPECT_EQ(requested(4), "keepkv:slots=42");
  EXPECT_EQ(form.lane(), 4) << "the new one is edited";
  form.addLane();
  ASSERT_EQ(controller.request().lanes.size(), 6u);
  EXPECT_EQ(parse_lane_spec(requested(5)).given, (std::vector<std::pair<std::string, std::string>>{{"slots", "42"}}))
      << "at the same budget";
  form.removeLane();
  EXPECT_EQ(controller.request().lanes.size(), 5u);
}

TEST_F(PolicyPanelTest, LeavesTheReferenceAlone) {
  viz::Selection selection = workspace.selection();
  selection.lane = 0;
  workspace.setSelection(selection);
  PolicyForm& form = panel.form();
  form.setSlots(10);
  form.setPolicy("h2o");
  form.removeLane();
  EXPECT_EQ(requested(0), "full");
  EXPECT_FALSE(form.policyChoice().isEnabled());
  EXPECT_FALSE(form.budget().isEnabled());
}

TEST_F(PolicyPanelTest, ScrollsInsteadOfChangingAFieldThatTheWheelRunsOver) {
  QWidget* field = panel.form().field("threshold")->widget();
  field->clearFocus();
  const auto turn = [&] {
    QWheelEvent wheel(QPointF(5, 5), field->mapToGlobal(QPointF(5, 5)), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(field, &wheel);
  };
  turn();
  EXPECT_EQ(requested(3), "keepkv:slots=42");
  field->setFocus();
  turn();
  EXPECT_EQ(requested(3), "keepkv:slots=42,threshold=0.85");
}

TEST_F(PolicyPanelTest, ShowsWhatTheToolbarOrUndoHasChanged) {
  controller.setLaneSpec(3, "keepkv:slots=60,alpha=0.5");
  EXPECT_THAT(panel.form().budgetWords().toStdString(), ::testing::StartsWith("60 slots"));
  EXPECT_EQ(qobject_cast<QDoubleSpinBox*>(panel.form().field("alpha")->widget())->value(), 0.5);
  EXPECT_EQ(requested(3), "keepkv:slots=60,alpha=0.5") << "showing changes nothing";
}

TEST_F(PolicyPanelTest, NamesEverythingThatTakesTheFocus) { EXPECT_THAT(unnamed(panel), ::testing::IsEmpty()); }

}  // namespace
}  // namespace kvscope
