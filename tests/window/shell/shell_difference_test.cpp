// SPDX-License-Identifier: Apache-2.0
// The first picture of a fresh start is the failure, and the way from one difference to the next.
#include <cmath>

#include <QTextCursor>
#include <QToolButton>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/help/welcome_page.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel.h"
#include "viz/draw/format.h"
#include "viz/reduce/finding.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

/// As ./run opens it: nothing is asked for.
class FreshStart : public ::testing::Test {
 protected:
  void SetUp() override {
    options.picture = "unused.png";  // no settings are read or written
    open();
  }
  void open() {
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
    ASSERT_TRUE(settle());
    ASSERT_EQ(snapshot().phase, RunPhase::idle) << snapshot().failure;
  }
  const Snapshot& snapshot() const { return window->workspace().snapshot(); }
  const viz::Selection& selection() const { return window->workspace().selection(); }
  const LaneSnapshot& shown() const { return *window->workspace().lane(); }
  bool settle() { return waitUntilSettled(*window, 60000); }
  void press(int key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(window.get(), Qt::Key(key), modifiers);
    QApplication::processEvents();
  }

  Options options;
  std::unique_ptr<MainWindow> window;
};

TEST_F(FreshStart, IsShownAtTheStepWhereTheAnswerBreaksAndTheHeadThatLostIt) {
  ASSERT_EQ(shown().policy, "keepkv");
  ASSERT_TRUE(selection().step.has_value());
  const int step = *selection().step;
  EXPECT_EQ(step, viz::next_changed_step(snapshot(), shown(), -1));
  const viz::Finding finding = viz::finding_of(snapshot(), shown(), step);
  EXPECT_EQ(finding.reference, "8");
  EXPECT_EQ(finding.says, "2");
  ASSERT_GT(finding.loss.attention, 0.5);
  EXPECT_EQ(selection().layer, finding.loss.layer);
  EXPECT_EQ(selection().kv_head, finding.loss.kv_head);
  const QString sentence = QString::fromStdString(viz::finding_sentence(snapshot(), shown(), finding));
  EXPECT_TRUE(sentence.contains("says «2», not «8»")) << sentence.toStdString();
  bool said = false;
  for (const QWidget* w : window->rows().crumbs().findChildren<QWidget*>())
    if (const auto* label = dynamic_cast<const ElidedLabel*>(w)) said |= label->text() == sentence;
  EXPECT_TRUE(said);
}

TEST_F(FreshStart, LeadsToTheReasonByOneClick) {
  QPushButton* why = buttonOf(window->rows().crumbs(), "Why");
  ASSERT_NE(why, nullptr);
  QTest::mouseClick(why, Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), Page::inspector);
  ASSERT_TRUE(selection().tokens.has_value());
  EXPECT_EQ(viz::token_text(snapshot().tokens, selection().tokens->first), "8");
}

TEST_F(FreshStart, MovesToTheFirstDifferenceOfARunUnlessAStepWasChosen) {
  window->controller().setLaneSpec(selection().lane, "keepkv:ratio=0.08");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->workspace().step(), viz::next_changed_step(snapshot(), shown(), -1));
  window->model().playback.goTo(5);
  window->controller().setLaneSpec(selection().lane, "keepkv:ratio=0.1");
  ASSERT_TRUE(settle());
  EXPECT_EQ(selection().step, 5);
}

/// A step or a head of one text says nothing of another; a head that somebody chose stays.
TEST_F(FreshStart, AnotherTextIsShownWhereItBreaksAndAtTheHeadOfItsSentence) {
  const std::string text =
      "The captain wrote a letter to his sister before the ship left. The key number of Bramble is 739. The crew sang, and the gulls "
      "flew over the masts until the evening came with rain. What is the key number of Bramble? The key number of Bramble is";
  window->model().playback.goTo(5);
  window->controller().setPrompt(QString::fromStdString(text));
  ASSERT_TRUE(settle());
  const int first = viz::next_changed_step(snapshot(), shown(), -1);
  ASSERT_GE(first, 0);
  EXPECT_EQ(window->workspace().step(), first);
  const viz::Loss loss = viz::finding_of(snapshot(), shown(), first).loss;
  ASSERT_GE(loss.step, 0);
  EXPECT_EQ(selection().layer, loss.layer);
  EXPECT_EQ(selection().kv_head, loss.kv_head);
  viz::Selection chosen = selection();
  chosen.layer = loss.layer == 0 ? 1 : 0;
  chosen.kv_head = 2;
  window->workspace().setSelection(chosen);
  window->controller().setPrompt("Helen lives at 482. The birds were gone when the snow came. Where does Helen live? Helen lives at");
  ASSERT_TRUE(settle());
  EXPECT_EQ(selection().layer, chosen.layer);
  EXPECT_EQ(selection().kv_head, chosen.kv_head);
}

/// Who comes back to Inspect has the keyboard in the picture: letters there are no text.
TEST_F(FreshStart, AnotherPageLeadsBackToThePictureNotIntoTheText) {
  window->findChild<PromptEditor*>()->setFocus();
  window->showPage(Page::inspector);
  QApplication::processEvents();
  press(Qt::Key_1, Qt::AltModifier);
  ASSERT_EQ(window->page(), Page::inspect);
  EXPECT_EQ(window->focusWidget(), window->canvas("atlas"));
}

/// What came before is answered while the next letters are typed: the step of that answer is nobody's choice.
TEST_F(FreshStart, IsShownWhereATextBreaksHoweverFastItWasTyped) {
  auto& editor = *window->findChild<PromptEditor*>();
  for (const int pause : {30, 60, 90}) {
    const qsizetype at = editor.exactText().indexOf("Helen is ") + 9;
    QTextCursor number = editor.textCursor();
    number.setPosition(static_cast<int>(at));
    number.setPosition(static_cast<int>(at) + 3, QTextCursor::KeepAnchor);
    editor.setFocus();
    editor.beginWriting();
    editor.setTextCursor(number);
    QTest::keyClick(&editor, Qt::Key_Backspace);
    QTest::qWait(400);
    for (const char* key : {"7", "3", "9"}) {
      QTest::keyClicks(&editor, key);
      QTest::qWait(pause);
    }
    ASSERT_TRUE(settle());
    const int first = viz::next_changed_step(snapshot(), shown(), -1);
    ASSERT_GE(first, 0);
    EXPECT_EQ(window->workspace().step(), first) << pause << " ms a key";
  }
}

TEST_F(FreshStart, ARightStepSaysThatAnotherIsWrongAndLeadsThere) {
  const int wrong = window->workspace().step();
  EXPECT_EQ(buttonOf(window->rows().crumbs(), "is wrong"), nullptr) << "the sentence says it";
  window->model().playback.goTo(wrong - 1);
  QPushButton* elsewhere = buttonOf(window->rows().crumbs(), QString("Step %1 is wrong").arg(wrong));
  ASSERT_NE(elsewhere, nullptr);
  QTest::mouseClick(elsewhere, Qt::LeftButton);
  EXPECT_EQ(window->workspace().step(), wrong);
  // Behind it the next one is named, where it leads: the first one again at the end.
  const int last = static_cast<int>(shown().steps.size()) - 1;
  for (int step = 0; step <= last; ++step) {
    const int named = viz::changed_step_from(snapshot(), shown(), step, true);
    window->model().playback.goTo(step);
    QPushButton* button = buttonOf(window->rows().crumbs(), "Step ");
    if (button == nullptr) continue;  // this one is
    const bool unsure = std::isfinite(viz::unsure_of(*shown().steps[static_cast<std::size_t>(named)]));
    ASSERT_TRUE(button->text().startsWith(QString(unsure ? "Step %1 differs" : "Step %1 is wrong").arg(named)))
        << step << " " << button->text().toStdString();
    QTest::mouseClick(button, Qt::LeftButton);
    EXPECT_EQ(window->workspace().step(), named) << "from " << step;
  }
}

TEST_F(FreshStart, OneStepBackLeavesTheReasonAlsoAfterARescueThatWasUndone) {
  QTest::mouseClick(buttonOf(window->rows().crumbs(), "Why"), Qt::LeftButton);
  ASSERT_TRUE(settle());
  ASSERT_EQ(window->page(), Page::inspector);
  const std::size_t n_runs = snapshot().lanes.size();
  CanvasWidget* inspector = window->canvas("inspector");
  ASSERT_TRUE(waitUntilSettled(*window, 60000));
  const auto& marks = inspector->view().marks();
  const auto button = std::ranges::find_if(marks, [](const viz::Mark& m) { return m.kind == "button" && m.label == "Restore"; });
  ASSERT_NE(button, marks.end());
  const QPoint at(static_cast<int>((button->min.x + button->max.x) / 2), static_cast<int>((button->min.y + button->max.y) / 2));
  QTest::mouseMove(inspector, at);
  QTest::qWait(1200);
  QTest::mouseClick(inspector, Qt::LeftButton, {}, at);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), n_runs + 1);
  QTest::qWait(1200);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), n_runs);
  window->rows().crumbs().back();
  EXPECT_EQ(window->page(), Page::inspect);
}

TEST_F(FreshStart, StaysAtTheLatestStepWhereThatWasChosen) {
  press(Qt::Key_End, Qt::ControlModifier);
  ASSERT_TRUE(window->workspace().atLatestStep());
  window->controller().setLaneSpec(selection().lane, "keepkv:ratio=0.12");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->workspace().atLatestStep());
  window->controller().setPrompt("A shorter text.");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->workspace().atLatestStep());
}

/// A run that was there already is no new answer, and what is taken back is seen where it was seen: the next edit is of that step.
TEST_F(FreshStart, StaysAtItsStepWhenARunIsTakenBackOrGoes) {
  const int step = window->workspace().step();
  window->controller().addLane("snapkv:ratio=0.2");
  ASSERT_TRUE(settle());
  const auto look = [this](int lane) {
    viz::Selection selection = window->workspace().selection();
    selection.lane = lane;
    selection.layer = 4, selection.kv_head = 3;
    selection.select({88, 88});
    window->workspace().setSelection(selection);
  };
  const int added = static_cast<int>(snapshot().lanes.size()) - 1;
  look(added);
  ASSERT_EQ(shown().policy, "snapkv");
  const int first = viz::next_changed_step(snapshot(), shown(), -1);
  ASSERT_GT(first, step) << "it breaks elsewhere";
  ASSERT_EQ(window->workspace().step(), step);
  CanvasWidget* const atlas = window->canvas("atlas");
  atlas->setFocus();
  const auto key = [&](int of, Qt::KeyboardModifiers modifiers) {
    QTest::keyClick(atlas, Qt::Key(of), modifiers);
    ASSERT_TRUE(settle());
  };
  key(Qt::Key_E, {});
  ASSERT_EQ(static_cast<int>(snapshot().lanes.size()), added + 2);
  EXPECT_EQ(window->workspace().step(), step);
  key(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_EQ(selection().lane, added);
  EXPECT_EQ(window->workspace().step(), step) << "taken back";
  key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(window->workspace().step(), step) << "done again";
  key(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().step(), step);

  window->controller().setLaneSpec(added, "snapkv:ratio=0.12");
  ASSERT_TRUE(settle());
  const int moved = window->workspace().step();
  ASSERT_EQ(moved, viz::next_changed_step(snapshot(), shown(), -1));
  ASSERT_NE(moved, step) << "a new answer is shown where it breaks";
  key(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().step(), step) << "the step of before, not where the run of before breaks";
  key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(window->workspace().step(), moved);
  window->controller().removeLane(added);
  ASSERT_TRUE(settle());
  ASSERT_NE(viz::next_changed_step(snapshot(), shown(), -1), moved) << "what is looked at now breaks elsewhere";
  EXPECT_EQ(window->workspace().step(), moved) << "a run that goes moves nothing";
}

TEST_F(FreshStart, StaysWhereItIsWhenMoreIsGeneratedOrNothingDiffers) {
  const int step = window->workspace().step();
  window->controller().setLaneSpec(selection().lane, "keepkv:ratio=0.9");
  ASSERT_TRUE(settle());
  ASSERT_EQ(viz::next_changed_step(snapshot(), shown(), -1), -1);
  EXPECT_EQ(window->workspace().step(), step);
  EXPECT_EQ(buttonOf(window->rows().crumbs(), "Why"), nullptr) << "nothing left that matters";
  window->model().playback.goTo(-1);
  window->controller().generate(14);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->workspace().atLatestStep());
}

TEST_F(FreshStart, GoesRoundTheDifferencesByKeyAndButton) {
  window->controller().setLaneSpec(selection().lane, "streaming:ratio=0.04");
  ASSERT_TRUE(settle());
  std::vector<int> all;
  for (int s = viz::next_changed_step(snapshot(), shown(), -1); s >= 0; s = viz::next_changed_step(snapshot(), shown(), s))
    all.push_back(s);
  ASSERT_GE(all.size(), 2u);
  window->model().playback.goTo(all.front());
  for (std::size_t i = 1; i < all.size(); ++i) {
    press(Qt::Key_F4);
    EXPECT_EQ(window->workspace().step(), all[i]);
  }
  QToolButton* next = nullptr;
  for (QToolButton* b : window->panel("timeline")->header()->findChildren<QToolButton*>())
    if (b->text() == "Next difference") next = b;
  ASSERT_NE(next, nullptr);
  ASSERT_TRUE(next->isVisible());
  QTest::mouseClick(next, Qt::LeftButton);
  EXPECT_EQ(window->workspace().step(), all.front()) << "behind the last the first again";
  press(Qt::Key_F4, Qt::ShiftModifier);
  EXPECT_EQ(window->workspace().step(), all.back());
}

TEST_F(FreshStart, ComesBackByTheFirstCardOfTheWelcome) {
  window->controller().setPrompt("Another text altogether.");
  ASSERT_TRUE(settle());
  window->showPage(Page::welcome);
  window->firstSteps().welcome().sampleCard().setFocus();
  QTest::keyClick(&window->firstSteps().welcome().sampleCard(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), Page::inspect);
  EXPECT_EQ(qobject_cast<QAbstractButton*>(QApplication::focusWidget()), nullptr) << "a frame around what nobody has chosen";
  EXPECT_EQ(window->workspace().step(), viz::next_changed_step(snapshot(), shown(), -1));
  EXPECT_TRUE(selection().kv_head.has_value());
}

}  // namespace
}  // namespace kvscope
