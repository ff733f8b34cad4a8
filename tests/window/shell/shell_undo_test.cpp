// SPDX-License-Identifier: Apache-2.0
// Undo: one order of time for everything that was done, wherever the keyboard is.
#include <iterator>

#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QTextCursor>
#include <QToolButton>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/budget_box.h"
#include "app/window/rows/rows.h"
#include "app/window/session/undo/runs_undo.h"
#include "app/window/session/window_model.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class UndoTest : public WindowTest {
 protected:
  static constexpr int kPause = 1100;  // ms after which what is typed is another step
  PromptEditor& editor() { return window->work().prompt().editor(); }
  BudgetBox& box() { return *window->rows().tools().budgetBox(); }
  std::string text() { return window->controller().request().prompt; }
  void type(const char* words) {
    editor().setFocus();
    editor().moveCursor(QTextCursor::End);
    QTest::keyClicks(&editor(), words);
    ASSERT_TRUE(settle());
  }
  void typeBudget(const char* words) {
    box().setFocus();
    box().selectAll();
    QTest::keyClicks(&box(), words);
    QTest::keyClick(&box(), Qt::Key_Return);
    QTest::qWait(60);
    ASSERT_TRUE(settle());
  }
  /// Where the keyboard is.
  void undo() {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Z, Qt::ControlModifier);
    ASSERT_TRUE(settle());
  }
  void redo() {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_TRUE(settle());
  }
};

TEST_F(UndoTest, TheLastThingDoneIsTheFirstTakenBackWhateverItIs) {
  const std::string prompt = text(), run = lane(4);
  type(" not");
  typeBudget("7");
  const std::string smaller = lane(4);
  ASSERT_NE(smaller, run);
  type(" known");
  const QComboBox* policies = window->rows().tools().policyBox();
  window->setFocus();
  QTest::qWait(kPause);
  Q_EMIT window->rows().tools().policyBox()->activated(policies->findData("h2o"));
  ASSERT_TRUE(settle());
  ASSERT_EQ(lane(4).rfind("h2o", 0), 0u) << lane(4);
  viz::Selection selection = window->workspace().selection();
  selection.tokens = viz::TokenRange{6, 6};
  window->workspace().setSelection(selection);
  window->canvas("atlas")->setFocus();
  QTest::keyClick(window->canvas("atlas"), Qt::Key_E);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 6u);

  undo();
  EXPECT_EQ(snapshot().lanes.size(), 5u) << "the edit by hand";
  EXPECT_EQ(lane(4).rfind("h2o", 0), 0u);
  undo();
  EXPECT_EQ(lane(4), smaller) << "the policy";
  EXPECT_EQ(text(), prompt + " not known");
  editor().setFocus();
  undo();
  EXPECT_EQ(text(), prompt + " not") << "the words behind";
  EXPECT_EQ(lane(4), smaller);
  undo();
  EXPECT_EQ(lane(4), run) << "the budget, though the keyboard is in the text";
  EXPECT_EQ(text(), prompt + " not");
  box().setFocus();
  undo();
  EXPECT_EQ(text(), prompt) << "the words, though the keyboard is in the field of the budget";
  EXPECT_EQ(snapshot().prompt, prompt);
  EXPECT_EQ(editor().exactText().toStdString(), prompt);
  for (int i = 0; i < 5; ++i) redo();
  EXPECT_EQ(text(), prompt + " not known");
  EXPECT_EQ(snapshot().lanes.size(), 6u);
}

/// Text, budget, policy, a run that is added, an edit by hand: after every step back and forth the run on screen is the one that changed,
/// and it is said what did.
TEST_F(UndoTest, WhatIsTakenBackOrDoneAgainIsShownAndSaid) {
  const auto look = [this](int run) {
    viz::Selection selection = window->workspace().selection();
    selection.lane = run;
    window->workspace().setSelection(selection);
  };
  const auto shown = [this] { return window->workspace().selection().lane; };
  const auto said = [this] { return window->findChild<QLabel*>("passingWords")->accessibleName().toStdString(); };
  type(" not");
  look(2);
  QTest::qWait(kPause);
  typeBudget("7");
  QTest::qWait(kPause);
  look(3);
  const QComboBox* policies = window->rows().tools().policyBox();
  Q_EMIT window->rows().tools().policyBox()->activated(policies->findData("knorm"));
  ASSERT_TRUE(settle());
  look(1);
  Q_EMIT window->rows().tools().runWanted("tova:ratio=0.5");
  ASSERT_TRUE(settle());
  ASSERT_EQ(shown(), 5);
  look(4);
  viz::Selection selection = window->workspace().selection();
  selection.select({6, 6});
  selection.step = 2;
  window->workspace().setSelection(selection);
  window->canvas("atlas")->setFocus();
  QTest::keyClick(window->canvas("atlas"), Qt::Key_E);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 7u);
  ASSERT_EQ(shown(), 6);

  const auto elsewhere = [&] {  // far from what changes
    viz::Selection away;
    away.lane = 0;
    window->workspace().setSelection(away);
  };
  struct Step {
    int back, again;  // run that is shown
    std::string words_back, words_again;
  };
  const std::string seven = "7 slots (" + viz::format_percent(7.0 / snapshot().n_prompt) + ")";  // beside a share it is said as one
  const std::string quarter = viz::format_percent(std::floor(0.25 * snapshot().n_prompt + 0.5) / snapshot().n_prompt);
  const Step steps[] = {{4, 6, "adding run G, ", "adding run G, "},
                        {1, 5, "adding run F, TOVA, 50.0 %", "adding run F, TOVA, 50.0 %"},
                        {3, 3, "policy of run D, Key norm → SnapKV", "policy of run D, SnapKV → Key norm"},
                        {2, 2, "budget of run C, " + seven + " → " + quarter, "budget of run C, " + quarter + " → " + seven},
                        {0, 0, "edit of the text, “ not” is gone again", "edit of the text, “ not” is there again"}};
  for (const Step& step : steps) {
    elsewhere();
    undo();
    EXPECT_EQ(shown(), step.back) << step.words_back;
    EXPECT_EQ(said().rfind("Undone: " + step.words_back, 0), 0u) << said();
  }
  EXPECT_FALSE(window->model().undo.now().canUndo());
  for (auto step = std::rbegin(steps); step != std::rend(steps); ++step) {
    elsewhere();
    redo();
    EXPECT_EQ(shown(), step->again) << step->words_again;
    EXPECT_EQ(said().rfind("Redone: " + step->words_again, 0), 0u) << said();
  }
  EXPECT_NE(said().find("evicted in all heads"), std::string::npos) << said();
  EXPECT_EQ(window->workspace().step(), 2) << "the first step that sees the edit by hand";
  viz::Selection later = window->workspace().selection();
  later.step = 3;
  window->workspace().setSelection(later);
  undo();
  EXPECT_EQ(window->workspace().step(), 3) << "which sees it, too, and was chosen";
  EXPECT_EQ(window->workspace().selection().tokens, (viz::TokenRange{6, 6}));
}

TEST_F(UndoTest, ASharesNumberIsThatOfTheToolbar) {
  const auto share = [this] { return viz::format_percent(static_cast<double>(snapshot().lanes[4].slots_asked) / snapshot().n_prompt); };
  const std::string quarter = share();
  window->controller().setLaneSpec(4, "keepkv:ratio=0.299700599");
  ASSERT_TRUE(settle());
  const std::string less = share();
  ASSERT_NE(less, "30.0 %") << "no whole slots: there is something to tell apart";
  undo();
  const std::string said = window->findChild<QLabel*>("passingWords")->accessibleName().toStdString();
  EXPECT_NE(said.find(less + " → " + quarter), std::string::npos) << said << ", not " << less;
}

TEST_F(UndoTest, WordsTypedInOneGoAreOneStepAndTheCaretGoesWhereTheyWere) {
  const std::string prompt = text();
  editor().setFocus();
  editor().moveCursor(QTextCursor::Start);
  QTest::keyClicks(&editor(), "Now! ");
  for (int i = 0; i < 2; ++i) QTest::keyClick(&editor(), Qt::Key_Backspace);
  EXPECT_EQ(window->model().undo.now().count(), 1);
  QTest::qWait(kPause);
  QTest::keyClicks(&editor(), "x");
  EXPECT_EQ(window->model().undo.now().count(), 2);
  undo();
  undo();
  EXPECT_EQ(text(), prompt);
  EXPECT_EQ(editor().textCursor().position(), 0);
  QTest::keyClicks(&editor(), "a");
  QTest::keyClick(&editor(), Qt::Key_Backspace);
  EXPECT_FALSE(window->model().undo.now().canUndo()) << "nothing was changed";
}

TEST_F(UndoTest, WhatIsTypedOverASelectionIsOneStep) {
  const std::string prompt = text();
  for (const QString typed : {"Two words", "The other"}) {  // the second begins as what it replaces
    editor().setFocus();
    editor().selectAll();
    QTest::keyClicks(&editor(), typed);
    EXPECT_EQ(editor().exactText(), typed);
    undo();
    EXPECT_EQ(text(), prompt);
  }
  EXPECT_FALSE(window->model().undo.now().canUndo());
}

TEST_F(UndoTest, TheMenuSaysWhatWouldBeTakenBack) {
  const auto offered = [this] { return window->model().undo.group().undoText(); };
  typeBudget("30");
  EXPECT_EQ(offered(), "budget of run " + QString::fromStdString(viz::lane_letter(window->workspace().selection().lane)));
  window->controller().setLaneSpec(2, "tova:slots=30");
  EXPECT_EQ(offered(), "policy of run C");
}

/// How a text is read is as much what somebody did as a budget: taking back would else skip it and take what was done before.
TEST_F(UndoTest, HowTheTextIsReadIsAStepOfItsOwn) {
  SessionController& controller = window->controller();
  typeBudget("30");
  const std::string run = lane(4);
  controller.setPromptMode(PromptMode::stream);
  controller.setFollow(Follow::self);
  controller.setTemperature(0.8);
  controller.setSeed(7);
  ASSERT_TRUE(settle());
  const auto offered = [this] { return window->model().undo.group().undoText(); };
  EXPECT_EQ(offered(), "seed");
  window->setFocus();
  undo();
  EXPECT_EQ(controller.request().seed, 0u);
  EXPECT_EQ(offered(), "temperature");
  undo();
  EXPECT_EQ(controller.request().temperature, 0);
  undo();
  EXPECT_EQ(controller.request().follow, Follow::reference);
  EXPECT_EQ(controller.request().mode, PromptMode::stream);
  undo();
  EXPECT_EQ(controller.request().mode, PromptMode::prefill);
  EXPECT_EQ(lane(4), run) << "what was done before it is not touched";
  EXPECT_TRUE(snapshot().prefill_mode);
  for (int i = 0; i < 4; ++i) redo();
  EXPECT_EQ(controller.request().seed, 7u);
  EXPECT_EQ(controller.request().mode, PromptMode::stream);
  EXPECT_FALSE(window->model().undo.now().canRedo());
}

TEST_F(UndoTest, ALoadedTextIsAStepOfItsOwn) {
  type("mine");
  const std::string mine = text();
  for (const QString loaded : {"a cat", "two\nlines"}) {
    window->replacePrompt(loaded);
    editor().moveCursor(QTextCursor::End);
    QTest::keyClicks(&editor(), "st");
    undo();
    EXPECT_EQ(editor().exactText(), loaded);
    undo();
    EXPECT_EQ(text(), mine);
  }
}

TEST_F(UndoTest, AnEditByHandComesBackToItsTokenWithTheText) {
  viz::Selection selection = window->workspace().selection();
  selection.tokens = viz::TokenRange{6, 6};
  window->workspace().setSelection(selection);
  window->canvas("atlas")->setFocus();
  QTest::keyClick(window->canvas("atlas"), Qt::Key_P);
  ASSERT_TRUE(settle());
  const std::string fork = lane(5);
  const int n_steps = window->model().undo.now().count();
  editor().setFocus();
  editor().moveCursor(QTextCursor::Start);
  QTest::keyClicks(&editor(), "Now! ");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(waitFor([&] { return lane(5) != fork; }, 3000)) << "the edit follows its token";
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->model().undo.now().count(), n_steps + 1) << "and is no step of its own";
  undo();
  EXPECT_EQ(lane(5), fork);
  redo();
  EXPECT_NE(lane(5), fork);
}

TEST_F(UndoTest, EscGivesTheBudgetBackAndLeavesItsField) {
  const std::string run = lane(4);
  const QString shown = box().text();
  box().setFocus();
  box().selectAll();
  QTest::keyClicks(&box(), "3");
  ASSERT_NE(box().text(), shown);
  QTest::keyClick(&box(), Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(box().text(), shown) << "what was not sent yet is the field's to take back";
  box().selectAll();
  QTest::keyClicks(&box(), "3");
  QTest::keyClick(&box(), Qt::Key_Escape);
  EXPECT_FALSE(box().hasFocus());
  EXPECT_EQ(box().text(), shown);
  QTest::qWait(100);
  EXPECT_EQ(lane(4), run);
}

TEST_F(UndoTest, FieldsOfThePolicyLeaveUndoToTheWindowAndShowWhatCameBack) {
  auto* form = window->findChild<PolicyForm*>();
  ASSERT_NE(form, nullptr);
  window->inspect().open("policy");
  for (const char* key : {"threshold", "sinks"}) {  // a number, and a text
    ASSERT_NE(form->field(key), nullptr);
    QWidget* field = form->field(key)->widget();
    const std::string run = lane(4);
    const QString shown = field->property("text").toString();
    field->setFocus();
    QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(field, "1");
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_TRUE(settle());
    ASSERT_NE(lane(4), run) << key;
    QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
    ASSERT_TRUE(settle());
    EXPECT_EQ(lane(4), run) << key;
    EXPECT_EQ(field->property("text").toString(), shown) << key;
  }
}

TEST_F(UndoTest, AllRunsTakeTheBudgetOfOneInOneStep) {
  ToolRow& tools = window->rows().tools();
  const auto label = [&] {
    for (const QLabel* one : tools.findChildren<QLabel*>())
      if (one->isVisibleTo(&tools) && one->text().startsWith("Budget of")) return one->text().toStdString();
    return std::string();
  };
  QToolButton* same = nullptr;
  for (QToolButton* b : window->findChildren<QToolButton*>())
    if (b->text() == "Same budget") same = b;
  ASSERT_NE(same, nullptr);
  window->showPage(MainWindow::Page::compare);
  window->resize(1600, 900);
  EXPECT_EQ(label(), "Budget of E KeepKV") << "the slider moves one of four";
  EXPECT_TRUE(same->isHidden());
  typeBudget("20");
  const std::vector<LaneSpec> before = window->controller().request().lanes;
  EXPECT_TRUE(window->canvas("compare")->facts().contains(" · budgets differ: 8 to 20 slots"))
      << window->canvas("compare")->facts().toStdString();
  ASSERT_FALSE(same->isHidden());
  EXPECT_TRUE(same->toolTip().contains("run E, 20 slots")) << same->toolTip().toStdString();
  same->click();
  ASSERT_TRUE(settle());
  for (std::size_t i = 1; i < snapshot().lanes.size(); ++i) EXPECT_EQ(snapshot().lanes[i].slots_asked, 20) << i;
  EXPECT_TRUE(same->isHidden());
  EXPECT_FALSE(window->canvas("compare")->facts().contains("budgets differ"));
  QString said;
  QObject::connect(&window->runsUndo(), &RunsUndo::said, window.get(), [&said](const QString& words) { said = words; });
  undo();
  EXPECT_EQ(said.toStdString(), "Undone: budget of several runs");
  EXPECT_EQ(window->controller().request().lanes, before) << "in one step";
}

}  // namespace
}  // namespace kvscope
