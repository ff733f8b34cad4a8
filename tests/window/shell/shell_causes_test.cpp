// SPDX-License-Identifier: Apache-2.0
// Which head breaks the answer: the sample's failure, asked head by head.
#include <algorithm>
#include <cmath>

#include <QAction>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QElapsedTimer>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/work_panels.h"
#include "policy/catalog.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/finding.h"
#include "viz/views/head_grid/head_metric.h"
#include "window/support/mouse_menu.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class CausesTest : public WindowTest {
 protected:
  void SetUp() override {
    options.lanes = {"keepkv:ratio=0.1"};
    WindowTest::SetUp();
    window->controller().replaceRequest([] {
      RunRequest request = startState({}).request;
      request.lanes = parse_lane_specs({"full", "keepkv:ratio=0.1"});
      return request;
    }());
    ASSERT_TRUE(settle());
    ASSERT_FALSE(window->workspace().stepRecord()->top1_same) << "the view stands where the answer breaks";
  }
  const viz::HeadCauses& causes() const { return window->workspace().causes(); }
  void ask() {
    QPushButton* which = buttonOf(window->rows().crumbs(), "Which head?");
    ASSERT_NE(which, nullptr);
    QTest::mouseClick(which, Qt::LeftButton);
  }
  bool measured() {
    return waitFor([this] { return causes().n_heads > 0 && causes().n_measured == causes().n_heads; }, 30000);
  }
};

TEST_F(CausesTest, MeasuresEveryHeadByARunInWhichOnlyItKeepsAll) {
  ask();
  ASSERT_TRUE(measured());
  ASSERT_EQ(causes().n_heads, 24);
  const int step = window->workspace().step();
  int n_return = 0, best = 0;
  for (int h = 0; h < 24; ++h) {
    n_return += causes().answer_returns(h);
    if (causes().saved(h) > causes().saved(best)) best = h;
  }
  EXPECT_GE(n_return, 1);
  EXPECT_LT(n_return, 24) << "not every head matters";
  EXPECT_TRUE(causes().answer_returns(best));
  // The same as that run beside the others.
  window->controller().addLane(
      QString("keepkv:ratio=0.1@slots=%1,layers=%2,heads=%3").arg(snapshot().tokens.size() + 1).arg(best / 4).arg(best % 4));
  ASSERT_TRUE(settle());
  const StepRecord& with = *snapshot().lanes[2].steps[static_cast<std::size_t>(step)];
  EXPECT_NEAR(causes().kl[static_cast<std::size_t>(best)], with.kl, 1e-9);
  EXPECT_TRUE(with.top1_same);
  const RunFigures figures = run_figures(snapshot(), snapshot().lanes[2]);
  EXPECT_EQ(causes().n_steps, figures.compared);
  EXPECT_EQ(causes().right(best), figures.top1_same);
}

/// What somebody has taken from a head by hand is no reason that it has not kept the rest.
TEST_F(CausesTest, ARunThatWasEditedByHandIsMeasuredToo) {
  const int step = window->workspace().step();
  window->controller().setLaneSpec(1, QString("keepkv:ratio=0.1@evict=20,step=%1").arg(step - 1));
  ASSERT_TRUE(settle());
  ASSERT_FALSE(window->workspace().stepRecord()->top1_same);
  ask();
  ASSERT_TRUE(measured());
  EXPECT_EQ(std::ranges::count_if(causes().kl, [](double kl) { return std::isnan(kl); }), 0);
}

/// It keeps its slots, and still is not what the full cache has.
TEST_F(CausesTest, AHeadThatIsReadInPartOrStoredOtherwiseIsNotInFull) {
  for (const char* spec : {"quest:pages=1,whole=0", "turboquant:bits=1"}) {
    window->controller().setLaneSpec(1, QString(spec));
    ASSERT_TRUE(settle());
    const LaneSnapshot& lane = snapshot().lanes[1];
    const int wrong = viz::next_changed_step(snapshot(), lane, -1);
    ASSERT_GE(wrong, 0) << spec;
    viz::Selection at = window->workspace().selection();
    at.lane = 1, at.step = wrong;
    window->workspace().setSelection(at);
    if (buttonOf(window->rows().crumbs(), "Which head?")) ask();  // of another run it is asked at once
    ASSERT_TRUE(measured()) << spec;
    EXPECT_TRUE(causes().none_in_full()) << spec;
    ASSERT_TRUE(waitFor([this] { return buttonOf(window->rows().crumbs(), "no head in full") != nullptr; }, 5000)) << spec;
    EXPECT_TRUE(viz::cause_words(snapshot(), causes()).sentence.empty()) << "no head was tried";
  }
}

/// What no budget gives a head, pins do.
TEST_F(CausesTest, ARunThatHasNoBudgetIsMeasuredToo) {
  window->controller().setLaneSpec(1, QString("dms:recent=32"));
  ASSERT_TRUE(settle());
  const int wrong = viz::next_changed_step(snapshot(), snapshot().lanes[1], -1);
  ASSERT_GE(wrong, 0);
  viz::Selection at = window->workspace().selection();
  at.lane = 1, at.step = wrong;
  window->workspace().setSelection(at);
  ask();
  ASSERT_TRUE(measured());
  EXPECT_EQ(std::ranges::count_if(causes().kl, [](double kl) { return std::isnan(kl); }), 0);
}

TEST_F(CausesTest, ShowsItInTheGridAndSaysItInWords) {
  ask();
  ASSERT_TRUE(measured());
  CanvasWidget* grid = window->canvas("head_grid");
  ASSERT_TRUE(waitFor([&] { return grid->settled(); }, 5000));
  int framed = 0;
  for (const viz::Mark& m : grid->view().marks()) {
    framed += m.kind == "answer returns";
    if (m.kind != "cell") continue;
    const int layer = m.label[1] - '0', head = m.label[4] - '0';
    EXPECT_EQ(m.value, viz::format_number(causes().saved(layer * 4 + head))) << m.label;
  }
  int n_return = 0;
  for (int h = 0; h < 24; ++h) n_return += causes().answer_returns(h);
  EXPECT_EQ(framed, n_return);
  // The question has become its answer.
  const viz::CauseWords words = viz::cause_words(snapshot(), causes());
  ASSERT_FALSE(words.brief.empty());
  QPushButton* answer = buttonOf(window->rows().crumbs(), QString::fromStdString(words.brief));
  ASSERT_NE(answer, nullptr) << words.brief;
  EXPECT_EQ(answer->text().section('\n', 1).toStdString(), words.all + " ▾")
      << "one step is not the whole answer, and a click lists what can be done";
  EXPECT_TRUE(answer->toolTip().toStdString().starts_with(words.whole)) << answer->toolTip().toStdString();
  const std::string sentence = window->rows().crumbs().findChild<ElidedLabel*>("facts")->text().toStdString();
  EXPECT_LT(sentence.find(words.sentence), sentence.find("evicted token"))
      << "not one head is blamed where others are enough, too: " << sentence;
}

TEST_F(CausesTest, WhatIsKnownIsSaidAsLongAsItHolds) {
  ask();
  ASSERT_TRUE(measured());
  const std::string known = viz::cause_words(snapshot(), causes()).sentence;
  ASSERT_FALSE(known.empty());
  const auto says = [&] {
    return window->rows().crumbs().findChild<ElidedLabel*>("facts")->text().toStdString().find(known) != std::string::npos;
  };
  CanvasWidget* grid = window->canvas("head_grid");
  grid->view().choose(0, 0);
  grid->invalidate();
  ASSERT_TRUE(waitFor([&] { return grid->settled(); }, 5000));
  EXPECT_TRUE(says()) << "the grid shows something else";
  window->showPage(MainWindow::Page::inspector);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says()) << "another page";
  window->controller().setLaneSpec(1, "keepkv:ratio=0.08");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(says()) << "it was about another budget";
}

/// Whoever clicks one question after the other must find each where it was.
class CausesAtSize : public CausesTest, public ::testing::WithParamInterface<QSize> {};

TEST_P(CausesAtSize, AnAnswerStandsWhereItsQuestionStood) {
  window->resize(GetParam());
  for (const char* spec : {"keepkv:ratio=0.1", "keepkv:slots=6"}) {
    window->controller().setLaneSpec(1, spec);
    ASSERT_TRUE(settle());
    const auto places = [this] {
      std::vector<QRect> out;
      for (const QPushButton* b : window->rows().crumbs().findChildren<QPushButton*>("chip"))
        if (b->isVisible() && b->x() > window->rows().crumbs().findChild<ElidedLabel*>("facts")->x())
          out.emplace_back(b->x(), b->geometry().center().y(), b->width(), 0);  // one of two lines is higher
      return out;
    };
    const std::vector<QRect> before = places();
    ASSERT_EQ(before.size(), 3u) << spec;
    if (QPushButton* which = buttonOf(window->rows().crumbs(), "Which head?")) {  // of another run it is asked at once
      EXPECT_LT(which->width(), 2 * which->fontMetrics().horizontalAdvance(which->text())) << "a question is no bar";
      QTest::mouseClick(which, Qt::LeftButton);
    }
    ASSERT_TRUE(measured());
    ASSERT_EQ(buttonOf(window->rows().crumbs(), "Which head?"), nullptr) << "it is answered";
    QApplication::processEvents();
    EXPECT_EQ(places(), before) << spec;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CausesAtSize, ::testing::Values(QSize(1600, 1000), QSize(1280, 800), QSize(1100, 700)),
                         [](const auto& of) { return std::to_string(of.param.width()); });

TEST_F(CausesTest, AChipGoesByItsCrossOnly) {
  CrumbRow& crumbs = window->rows().crumbs();
  viz::Selection selection = window->workspace().selection();
  selection.layer = 4, selection.kv_head = 1;
  window->workspace().setSelection(selection);
  QPushButton* head = buttonOf(crumbs, "L4 · H1");
  ASSERT_NE(head, nullptr);
  QTest::mouseClick(head, Qt::LeftButton, {}, QPoint(12, head->height() / 2));
  EXPECT_EQ(window->workspace().selection().layer, 4);
  // That of the run offers the others.
  QPushButton* run = buttonOf(crumbs, "run B");
  ASSERT_NE(run, nullptr);
  chooseByMouse({"A  "}, [&] { QTest::mouseClick(run, Qt::LeftButton, {}, QPoint(12, run->height() / 2)); });
  EXPECT_EQ(window->workspace().selection().lane, 0);
  selection.lane = 1;
  window->workspace().setSelection(selection);
  QTest::mouseClick(run, Qt::LeftButton, {}, QPoint(run->width() - 14, run->height() / 2));
  EXPECT_EQ(window->workspace().selection().lane, 0);
}

TEST_F(CausesTest, NothingIsAskedOfARightAnswerAndOfARunWithoutABudget) {
  CrumbRow& crumbs = window->rows().crumbs();
  ASSERT_NE(buttonOf(crumbs, "What saves it?"), nullptr);
  viz::Selection s = window->workspace().selection();
  s.step = 0;
  window->workspace().setSelection(s);
  ASSERT_TRUE(window->workspace().stepRecord()->top1_same);
  EXPECT_EQ(buttonOf(crumbs, "What saves it?"), nullptr);
  s.lane = 0;
  s.step = 1;
  s.layer = 4;
  s.kv_head = 3;
  s.select({87, 87});
  window->workspace().setSelection(s);
  window->model().hand.edit(WhatIf::Kind::evict);
  ASSERT_TRUE(settle());
  s = window->workspace().selection();
  s.step = 2;
  window->workspace().setSelection(s);
  if (window->workspace().stepRecord()->top1_same) return;
  QPushButton* none = buttonOf(crumbs, "no budget to lower");
  ASSERT_NE(none, nullptr) << "said instead";
  EXPECT_FALSE(none->isEnabled());
}

TEST_F(CausesTest, TheQuestionWhyShowsItsAnswerWhateverRoomThereIs) {
  window->resize(960, 600);
  ASSERT_TRUE(settle());
  window->rows().crumbs().askWhy();
  ASSERT_TRUE(settle());
  CanvasWidget* inspector = window->canvas("inspector");
  ASSERT_TRUE(waitFor([&] { return inspector->settled(); }, 5000));
  EXPECT_TRUE(std::ranges::any_of(inspector->view().marks(), [](const viz::Mark& m) { return m.kind == "card" && m.label == "Why"; }));
}

/// Whoever has chosen a token in a head asks about that one.
TEST_F(CausesTest, TheQuestionWhyIsOfTheTokenThatWasChosen) {
  const viz::Loss loss = viz::finding_of(snapshot(), *window->workspace().lane(), window->workspace().step()).loss;
  ASSERT_GE(loss.token, 0);
  CrumbRow& crumbs = window->rows().crumbs();
  QPushButton* why = buttonOf(crumbs, "Why evicted?");
  ASSERT_NE(why, nullptr);
  viz::Selection chosen = window->workspace().selection();
  chosen.layer = loss.layer == 0 ? 1 : 0;
  chosen.kv_head = 2;
  chosen.select({loss.token - 3, loss.token - 3});
  window->workspace().setSelection(chosen);
  QApplication::processEvents();
  EXPECT_EQ(why->text(), QString("Why token %1?").arg(loss.token - 3)) << "it says whom it is about";
  QTest::mouseClick(why, Qt::LeftButton);
  ASSERT_TRUE(settle());
  const auto selected = [this] { return window->workspace().selection(); };
  EXPECT_EQ(selected().tokens, chosen.tokens);
  EXPECT_EQ(selected().layer, chosen.layer);
  EXPECT_EQ(selected().kv_head, chosen.kv_head);
  // Without a head it is no slot: the one that the sentence names is meant, and said.
  chosen.layer.reset();
  chosen.kv_head.reset();
  window->workspace().setSelection(chosen);
  QApplication::processEvents();
  EXPECT_EQ(why->text(), QString("Why token %1?").arg(loss.token));
  QTest::mouseClick(why, Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(selected().tokens, (viz::TokenRange{loss.token, loss.token}));
  EXPECT_EQ(selected().layer, loss.layer);
  EXPECT_EQ(why->text(), "Why evicted?") << "nobody chose it";
}

/// A token that was chosen for one step is not what the next step's sentence is about, in whatever head one looks.
TEST_F(CausesTest, TheQuestionWhyDoesNotKeepATokenOfAnotherStep) {
  const viz::Loss loss = viz::finding_of(snapshot(), *window->workspace().lane(), window->workspace().step()).loss;
  QPushButton* why = buttonOf(window->rows().crumbs(), "Why evicted?");
  ASSERT_NE(why, nullptr);
  viz::Selection s = window->workspace().selection();
  const std::optional<int> wrong = s.step;
  s.step = 0;
  s.layer = 1;
  s.kv_head = 2;
  s.select({loss.token - 3, loss.token - 3});
  window->workspace().setSelection(s);
  QApplication::processEvents();
  s.step = wrong;
  window->workspace().setSelection(s);
  s.kv_head = 1;
  window->workspace().setSelection(s);
  QApplication::processEvents();
  EXPECT_EQ(why->text(), QString("Why token %1?").arg(loss.token)) << "the sentence's, which is not the one that is selected";
  s.select({loss.token - 4, loss.token - 4});
  window->workspace().setSelection(s);
  QApplication::processEvents();
  EXPECT_EQ(why->text(), QString("Why token %1?").arg(loss.token - 4)) << "chosen for this step";
}

/// A question that is answered goes: keys are then about the picture, not letters of the text.
TEST_F(CausesTest, AQuestionThatGoesLeavesTheKeyboardToTheSentence) {
  QPushButton* why = buttonOf(window->rows().crumbs(), "Why evicted?");
  ASSERT_NE(why, nullptr);
  why->setFocus();
  window->controller().setLaneSpec(1, "keepkv:ratio=0.9");
  ASSERT_TRUE(settle());
  ASSERT_FALSE(why->isVisible());
  EXPECT_EQ(window->focusWidget(), window->rows().crumbs().findChild<ElidedLabel*>("facts"));
}

/// What a session or the command line selects was chosen by nobody here: the button asks about the token of its sentence.
TEST_F(CausesTest, TheQuestionWhyFollowsTheSentenceWhereTheSelectionWasOpened) {
  const viz::Loss loss = viz::finding_of(snapshot(), *window->workspace().lane(), window->workspace().step()).loss;
  const RunRequest request = window->controller().request();
  options.prompt = request.prompt;
  options.generate = request.n_generate;
  options.lane = 1;
  options.layer = loss.layer;
  options.kv_head = loss.kv_head;
  options.tokens = viz::TokenRange{loss.token - 3, loss.token - 3};
  options.step = window->workspace().step();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  ASSERT_EQ(window->workspace().selection().tokens, options.tokens);
  QPushButton* why = buttonOf(window->rows().crumbs(), "Why");
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(why->text(), QString("Why token %1?").arg(loss.token));
}

/// An undo selects what its edit was about: nobody chose that for the sentence that stands there then.
TEST_F(CausesTest, TheQuestionWhyFollowsTheSentenceAfterAnUndo) {
  const auto toStep = [this](int step) {
    viz::Selection s = window->workspace().selection();
    s.step = step;
    window->workspace().setSelection(s);
    QApplication::processEvents();
  };
  window->controller().setLaneSpec(1, "keepkv:slots=8");  // one token would not be enough
  ASSERT_TRUE(settle());
  int n = 0, last = -1;
  for (int step = viz::next_changed_step(snapshot(), *window->workspace().lane(), -1); step >= 0 && n < 3; ++n) {
    toStep(last = step);
    QPushButton* why = buttonOf(window->rows().crumbs(), "Why");
    ASSERT_NE(why, nullptr);
    QTest::mouseClick(why, Qt::LeftButton);
    ASSERT_TRUE(settle());
    window->model().hand.edit(WhatIf::Kind::pin);
    ASSERT_TRUE(settle());
    step = viz::next_changed_step(snapshot(), *window->workspace().lane(), -1);
  }
  ASSERT_GE(n, 2) << "a pin mends a step, the next is wrong still";
  for (int i = 0; i < n; ++i) press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  ASSERT_EQ(window->workspace().step(), last);
  const viz::Loss loss = viz::finding_of(snapshot(), *window->workspace().lane(), last).loss;
  const viz::Selection& s = window->workspace().selection();
  ASSERT_NE(s.tokens, std::optional(viz::TokenRange{loss.token, loss.token})) << "that of the first pin is selected";
  EXPECT_EQ(buttonOf(window->rows().crumbs(), "Why")->text(), QString("Why token %1?").arg(loss.token));
}

/// What would bring the answer back is not only said: it can be done, seen and undone.
TEST_F(CausesTest, AHeadThatIsTheAnswerIsGivenItsFullCache) {
  ask();
  ASSERT_TRUE(measured());
  const viz::CauseWords words = viz::cause_words(snapshot(), causes());
  ASSERT_FALSE(words.heads.empty());
  const int head = words.heads.front(), layer = head / 4, kv_head = head % 4;
  const std::string before = lane(1);
  const int step = window->workspace().step();
  CrumbRow& crumbs = window->rows().crumbs();
  QPushButton* which = buttonOf(crumbs, QString("L%1 H%2").arg(layer).arg(kv_head));
  ASSERT_NE(which, nullptr);
  chooseByMouse({QString("Give L%1 H%2 its full cache").arg(layer).arg(kv_head)}, [&] { QTest::mouseClick(which, Qt::LeftButton); });
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->workspace().stepRecord()->top1_same);
  const auto& heads = window->workspace().stepRecord()->heads;
  for (int h = 0; h < 24; ++h) EXPECT_EQ(heads[static_cast<std::size_t>(h)].overridden, h == head);
  EXPECT_EQ(heads[static_cast<std::size_t>(head)].n_slots, window->workspace().stepRecord()->position + 1);
  const QString sentence = crumbs.findChild<ElidedLabel*>("facts")->text();
  EXPECT_EQ(window->workspace().step(), step);
  const QString again = qs(viz::quoted(viz::text_of_id(snapshot(), window->workspace().stepRecord()->top1)));
  EXPECT_TRUE(sentence.startsWith(QString("With L%1 H%2 in full %3 again: KL ").arg(layer).arg(kv_head).arg(again)))
      << sentence.toStdString();
  // Of another text it is not known what it would be without.
  QString text = QString::fromStdString(snapshot().prompt);
  window->controller().setPrompt(text.replace("482", "736"));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(crumbs.findChild<ElidedLabel*>("facts")->text().startsWith("With L"))
      << crumbs.findChild<ElidedLabel*>("facts")->text().toStdString();
  press(Qt::Key_Z, Qt::ControlModifier);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(1), before);
}

TEST_F(CausesTest, TheGridsMenuGivesTheHeadUnderTheMouseItsFullCache) {
  CanvasWidget* grid = window->canvas("head_grid");
  ASSERT_TRUE(waitFor([&] { return grid->settled(); }, 5000));
  const auto cell = std::ranges::find_if(grid->view().marks(), [](const viz::Mark& m) { return m.kind == "cell" && m.label == "L2 H1"; });
  ASSERT_NE(cell, grid->view().marks().end());
  const QPoint at(static_cast<int>((cell->min.x + cell->max.x) / 2), static_cast<int>((cell->min.y + cell->max.y) / 2));
  QTest::mouseMove(grid, at);
  ASSERT_TRUE(waitFor([&] { return window->workspace().hover().layer == 2 && window->workspace().hover().kv_head == 1; }, 5000));
  chooseByMouse({"Give the head its full cache"}, [&] {
    QContextMenuEvent click(QContextMenuEvent::Mouse, at, grid->mapToGlobal(at));
    QApplication::sendEvent(grid, &click);
  });
  ASSERT_TRUE(settle());
  EXPECT_NE(lane(1).find("layers=2,heads=1"), std::string::npos) << lane(1);
}

/// As many slots as the text has now: what comes later takes the place of something again.
TEST_F(CausesTest, TheFullCacheOfAHeadIsThatOfTheTextSoFar) {
  const QList<QAction*> actions = window->findChildren<QAction*>();
  const auto full = std::ranges::find_if(actions, [](QAction* a) { return a->text().remove('&') == "Give the head its full cache"; });
  ASSERT_NE(full, actions.end());
  EXPECT_TRUE((*full)->toolTip().contains("every token of the text so far")) << (*full)->toolTip().toStdString();
}

TEST_F(CausesTest, WhatWasStoppedStaysStoppedUntilItIsAskedForAgain) {
  ask();
  ASSERT_TRUE(waitFor([this] { return causes().running; }, 5000));
  ASSERT_TRUE(waitFor([this] { return window->model().runs.running() != nullptr; }, 5000));
  window->runActions().stop();
  ASSERT_TRUE(settle());
  ASSERT_FALSE(causes().running);
  const auto n = window->model().runs.runs().size();
  window->controller().setLaneSpec(1, "keepkv:ratio=0.08");  // another run, and then another text
  ASSERT_TRUE(settle());
  window->controller().setPrompt("Helen lives at 482. Where does Helen live? Helen lives at");
  ASSERT_TRUE(settle());
  window->controller().loadModel(window->controller().modelFolder());
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->model().runs.runs().size(), n) << "nobody has asked";
  EXPECT_EQ(causes().n_unasked, 24);
  CanvasWidget* grid = window->canvas("head_grid");
  ASSERT_TRUE(waitFor([&] { return grid->settled(); }, 5000));
  const auto said = std::ranges::find(grid->view().marks(), "not measured", &viz::Mark::kind);
  ASSERT_NE(said, grid->view().marks().end());
  EXPECT_TRUE(said->value.starts_with("24 heads")) << said->value;
  Q_EMIT window->rows().crumbs().whichRequested();
  EXPECT_TRUE(measured());
}

TEST_F(CausesTest, ThatItWasStoppedIsSaidOfTheTextThatIsThereBeforeAnythingIsMeasured) {
  ask();
  ASSERT_TRUE(waitFor([this] { return window->model().runs.running() != nullptr; }, 5000));
  window->controller().setPrompt("Helen lives at 482. Where does Helen live? Helen lives at");
  ASSERT_EQ(causes().n_heads + causes().n_unasked, 0) << "the other text is not computed yet";
  window->model().runs.cancelAll();  // Esc, just then
  ASSERT_TRUE(settle());
  CanvasWidget* grid = window->canvas("head_grid");
  ASSERT_TRUE(waitFor([&] { return grid->settled(); }, 5000));
  const auto said = std::ranges::find(grid->view().marks(), "not measured", &viz::Mark::kind);
  ASSERT_NE(said, grid->view().marks().end());
  EXPECT_TRUE(said->value.starts_with("24 heads")) << said->value;
}

TEST_F(CausesTest, TheTextShowsTheLostTokenFromTheStart) {
  window.reset();
  options = {};
  options.picture = "unused.png";
  options.size = {960, 600};
  options.size_given = true;
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const viz::Finding finding = viz::finding_of(snapshot(), *window->workspace().lane(), window->workspace().step());
  ASSERT_GE(finding.loss.token, 0);
  ASSERT_FALSE(window->workspace().selection().tokens);
  const PromptEditor& editor = window->work().prompt().editor();
  const auto rects = editor.rectsOf(finding.loss.token);
  ASSERT_FALSE(rects.empty());
  EXPECT_TRUE(editor.viewport()->rect().contains(rects[0].center().toPoint()));
}

TEST_F(CausesTest, ABudgetThatSavesTheAnswerIsSaidToWhereTheFailureStood) {
  const viz::Finding before = viz::finding_of(snapshot(), snapshot().lanes[1], window->workspace().step());
  ASSERT_GE(before.step, 0);
  const auto sentence = [this] { return window->rows().crumbs().findChild<ElidedLabel*>("facts")->text().toStdString(); };
  EXPECT_EQ(sentence(), viz::finding_sentence(snapshot(), snapshot().lanes[1], before));
  window->controller().setLaneSpec(1, "keepkv:ratio=0.9");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window->workspace().stepRecord()->top1_same);
  EXPECT_EQ(sentence(), viz::agreement_at(snapshot(), snapshot().lanes[1], window->workspace().step()).words());
  EXPECT_NE(sentence().find(", and so all of «482», as the full cache does"), std::string::npos) << sentence();
}

TEST_F(CausesTest, IsAskedOnceForAllSteps) {
  QElapsedTimer clock;
  clock.start();
  ask();
  ASSERT_TRUE(measured());
  std::printf("all heads in %lld ms\n", static_cast<long long>(clock.elapsed()));
  const auto n = window->model().runs.runs().size();
  window->model().playback.goTo(1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(causes().n_measured, 24) << "every step has its own figures";
  EXPECT_EQ(window->model().runs.runs().size(), n);
}

TEST_F(CausesTest, WhatWasMeasuredHoldsAgainOnceAnEditIsUndone) {
  ask();
  ASSERT_TRUE(measured());
  const viz::HeadCauses before = causes();
  EXPECT_EQ(before.word_right.size(), 24u) << "the number has several digits";
  window->controller().setLaneSpec(1, "keepkv:ratio=0.08");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(measured());
  const auto n = window->model().runs.runs().size();
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(causes(), before);
  EXPECT_EQ(window->model().runs.runs().size(), n) << "no run is computed again";
}

TEST_F(CausesTest, IsGivenUpWhenAnotherMetricIsChosenOrTheQueueIsCancelled) {
  ask();
  ASSERT_TRUE(waitFor([this] { return window->model().runs.busy(); }, 5000));
  window->model().runs.cancelAll();
  QApplication::processEvents();
  EXPECT_FALSE(causes().running);
  EXPECT_LT(causes().n_measured, 24);
  CanvasWidget* grid = window->canvas("head_grid");
  grid->view().choose(0, 0);
  grid->invalidate();
  ASSERT_TRUE(waitFor([&] { return grid->settled() && causes().n_heads == 0; }, 5000));
  ask();
  EXPECT_TRUE(measured()) << "from the beginning";
}

TEST_F(CausesTest, AnEditOfTheRunIsMeasuredAnew) {
  ask();
  ASSERT_TRUE(measured());
  const double before = causes().kl_without;
  window->controller().setLaneSpec(1, "keepkv:ratio=0.08");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(measured());
  EXPECT_NE(causes().kl_without, before);
  window->workspace().setSelection([this] {
    viz::Selection s = window->workspace().selection();
    s.lane = 0;
    return s;
  }());
  QApplication::processEvents();
  EXPECT_EQ(causes().n_heads, 0) << "the full cache has nothing to ask";
}

TEST_F(CausesTest, AnotherWayToChooseTokensIsAnotherQuestion) {
  ask();
  ASSERT_TRUE(measured());
  const auto n = window->model().runs.runs().size();
  RunRequest request = window->controller().request();
  request.temperature = 1.5;
  window->controller().replaceRequest(request);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(measured());
  EXPECT_EQ(window->model().runs.runs().size(), n + 24);
}

TEST_F(CausesTest, IsMeasuredWhereTheGridWasBehindAnotherTab) {
  window->resize(1280, 600);  // panels of a column become tabs
  QApplication::processEvents();
  CanvasWidget* grid = window->canvas("head_grid");
  for (auto* dock : window->findChildren<QDockWidget*>())
    if (dock->isVisible() && !dock->isAncestorOf(grid)) dock->raise();
  QApplication::processEvents();
  ASSERT_TRUE(grid->visibleRegion().isEmpty()) << "it is behind";
  ask();
  EXPECT_TRUE(measured());
  EXPECT_FALSE(grid->visibleRegion().isEmpty());
}

}  // namespace
}  // namespace kvscope
