// SPDX-License-Identifier: Apache-2.0
// What would have saved the answer: the lowest budget at which a run answers as the full cache does, found by runs beside those on screen.
#include <functional>

#include <QImage>
#include <QRegularExpression>
#include <QSlider>

#include "app/window/panels/policy/budget_slider.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/rows/rows.h"
#include "policy/catalog.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"
#include "window/support/mouse_menu.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using AnswerState = BreakPoint::State;

class BreaksTest : public WindowTest {
 protected:
  void SetUp() override {
    options.lanes = {"keepkv:ratio=0.1", "h2o:slots=9"};
    WindowTest::SetUp();
    window->controller().replaceRequest([] {
      RunRequest request = startState({}).request;
      request.lanes = parse_lane_specs({"full", "keepkv:ratio=0.1", "h2o:slots=9"});
      return request;
    }());
    ASSERT_TRUE(settle());
    select(1);
    ASSERT_FALSE(answers(1)) << "the run goes wrong, so that there is something to ask";
  }
  bool differs(int run, int step) const {
    return viz::next_changed_step(snapshot(), snapshot().lanes[static_cast<std::size_t>(run)], step - 1) == step;
  }
  bool answers(int run) const { return !differs(run, asked_step); }
  BreakPoint point(int run) const { return window->workspace().breakPoint(run); }
  std::size_t nRuns() const { return window->model().runs.runs().size(); }
  QPushButton* button(const QString& words) { return buttonOf(window->rows().crumbs(), words); }
  /// The answer where its question stood, in no more words than that had room for.
  QPushButton* answer(const BreakPoint& point) {
    return button(point.marked() ? point.offers().front() : QString(point.words).remove(" slots"));
  }
  void select(int run) {
    viz::Selection selection = window->workspace().selection();
    selection.lane = run;
    const int wrong = viz::next_changed_step(snapshot(), snapshot().lanes[static_cast<std::size_t>(run)], -1);
    if (wrong >= 0) selection.step = asked_step = wrong;  // questions are asked of a wrong answer
    window->workspace().setSelection(selection);
    QApplication::processEvents();
  }
  void ask() {
    QPushButton* what = button("What saves it?");
    ASSERT_NE(what, nullptr);
    QTest::mouseClick(what, Qt::LeftButton);
  }
  bool searched() {
    const auto done = [this](int run) { return point(run).state != AnswerState::unknown && point(run).state != AnswerState::searching; };
    return waitFor([&] { return done(1) && done(2); }, 120000) && settle();
  }
  /// The same run beside the others, computed as any other is.
  bool answersWith(const std::string& spec, bool in_all_steps = false) {
    window->controller().addLane(QString::fromStdString(spec));
    EXPECT_TRUE(settle());
    const int last = static_cast<int>(snapshot().lanes.size()) - 1;
    const bool out = in_all_steps ? viz::next_changed_step(snapshot(), snapshot().lanes.back(), -1) < 0 : answers(last);
    window->controller().removeLane(last);
    EXPECT_TRUE(settle());
    return out;
  }
  QString sweepWords() const { return window->runActions().sweep().chart().accessibleDescription(); }
  int asked_step = -1;
};

/// The digits of a house number come back long before all that is written after it does.
class BreaksOfLongTextTest : public BreaksTest {
 protected:
  void SetUp() override {
    BreaksTest::SetUp();
    window->controller().replaceRequest([] {
      RunRequest request = startState({}).request;
      request.prompt =
          "It was a dark evening in the harbour and the ships were coming home slowly. The men on the pier were tired and wanted to go to "
          "sleep after a long day. The door number of Peter is 735. A small dog ran along the wall and looked at the sea, while the rain "
          "began to fall on the roofs and the lamps were lit one by one. What is the door number of Peter? The door number of Peter is";
      request.lanes = parse_lane_specs({"full", "keepkv:slots=11", "h2o:slots=11"});
      request.n_generate = 12;
      return request;
    }());
    ASSERT_TRUE(settle());
    select(1);
    ASSERT_FALSE(answers(1));
  }
};

/// One that has written something else before says nothing of this place.
TEST_F(BreaksTest, OfItsOwnTextABudgetAnswersWhileItReadsTheFullCaches) {
  window->controller().setFollow(Follow::self);
  ASSERT_TRUE(settle());
  select(1);
  ask();
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  ASSERT_EQ(found.state, AnswerState::found) << found.words.toStdString();
  window->controller().addLane(QString("keepkv:slots=%1").arg(found.slots));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(compares(snapshot(), snapshot().lanes.back(), asked_step)) << found.words.toStdString();
  EXPECT_TRUE(answers(static_cast<int>(snapshot().lanes.size()) - 1));
}

TEST_F(BreaksOfLongTextTest, AnswersForTheTokenThatTheSentenceNames) {
  ask();
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  std::printf("%s\n%s\n", found.words.toUtf8().data(), found.how.toUtf8().data());
  ASSERT_EQ(found.state, AnswerState::found);
  const std::string token = viz::quoted(viz::text_of_id(snapshot(), snapshot().lanes[0].steps[static_cast<std::size_t>(asked_step)]->top1));
  EXPECT_EQ(found.token.toStdString(), token);
  EXPECT_TRUE(found.words.startsWith(QString("says %1 from ").arg(found.token))) << found.words.toStdString();
  EXPECT_TRUE(answersWith("keepkv:slots=" + std::to_string(found.slots)));
  EXPECT_FALSE(answersWith("keepkv:slots=" + std::to_string(found.slots - 1)));
  EXPECT_FALSE(answersWith("keepkv:slots=" + std::to_string(found.slots), true)) << "or all steps need no words of their own";
  const QRegularExpressionMatch all = QRegularExpression(R"(All 12 steps from ([\d.]+ %) \((\d+) of \d+ slots\))").match(found.how);
  ASSERT_TRUE(all.hasMatch()) << found.how.toStdString();
  EXPECT_GT(all.captured(2).toInt(), found.slots);
  EXPECT_TRUE(answersWith("keepkv:slots=" + all.captured(2).toStdString(), true));
  // Who reads the one number on the button must not take it for the other, and sees what a click sets.
  select(1);
  window->resize(1280, 800);
  ASSERT_TRUE(settle());
  QPushButton* offer = button(found.token + " from " + found.share + ": set one");
  ASSERT_NE(offer, nullptr);
  // Below the digit stands the number that it is a part of: what follows it in free text nobody has asked for.
  const viz::StepRange word = viz::word_around(snapshot(), asked_step);
  const std::string number = viz::words_of_steps(snapshot(), word);
  ASSERT_EQ(number.size(), 3u) << number;
  EXPECT_NE(snapshot().prompt.find(number), std::string::npos);
  EXPECT_TRUE(offer->text().contains(QString("\n«%1» from ").arg(QString::fromStdString(number)))) << offer->text().toStdString();
  EXPECT_TRUE(found.all.startsWith("all 12 steps from " + all.captured(1)));
  EXPECT_GE(offer->height(), 2 * offer->fontMetrics().height()) << "two lines have room";
  EXPECT_LE(offer->geometry().bottom(), offer->parentWidget()->height());
  EXPECT_TRUE(sweepWords().contains("all 12 steps from " + all.captured(1))) << sweepWords().toStdString();
  window->resize(960, 600);
  ASSERT_TRUE(settle());
  offer = button("set a budget");
  ASSERT_NE(offer, nullptr) << "fewer words, and the verb";
  // The second line can be had, too.
  chooseByMouse({QString("Set %1 %: all 12 steps right").arg(all.captured(1).section(' ', 0, 0))},
                [&] { QTest::mouseClick(offer, Qt::LeftButton); });
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[1].slots_asked, all.captured(2).toInt());
  EXPECT_LT(viz::next_changed_step(snapshot(), snapshot().lanes[1], -1), 0) << "all steps are right";
}

/// As after an edit by hand: what it came to stands where the question stood, and the way to the next step is offered.
TEST_F(BreaksOfLongTextTest, WhatIsSetStaysAtTheStepThatWasAskedAbout) {
  window->model().difference.beginAnew();  // nobody has chosen a step
  RunRequest request = window->controller().request();
  request.n_generate = 11;
  window->controller().replaceRequest(request);
  ASSERT_TRUE(settle());
  asked_step = window->workspace().step();
  ASSERT_FALSE(answers(1)) << "shown by itself";
  window->model().breaks.ask();
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  ASSERT_TRUE(found.marked());
  ASSERT_TRUE(found.several());
  chooseByMouse({QString("Set %1: ").arg(found.share)}, [&] { QTest::mouseClick(answer(found), Qt::LeftButton); });
  ASSERT_TRUE(settle());
  ASSERT_TRUE(answers(1));
  ASSERT_GE(viz::next_changed_step(snapshot(), snapshot().lanes[1], -1), 0) << "another one is still wrong";
  EXPECT_EQ(window->workspace().step(), asked_step);
  const QString said = window->rows().crumbs().findChild<ElidedLabel*>("facts")->text();
  EXPECT_TRUE(said.startsWith(QString("With %1 of the slots %2 again: KL ").arg(found.share, found.token))) << said.toStdString();
  EXPECT_NE(button(QString("Step %1 ").arg(viz::next_changed_step(snapshot(), snapshot().lanes[1], -1))), nullptr);
}

TEST_F(BreaksOfLongTextTest, AnotherStepIsAnotherQuestion) {
  ask();
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  const int first = asked_step, last = 10;
  ASSERT_TRUE(differs(1, last));
  viz::Selection selection = window->workspace().selection();
  selection.step = last;
  window->workspace().setSelection(selection);
  EXPECT_NE(point(1).step, first);
  window->model().breaks.ask();
  ASSERT_TRUE(searched());
  EXPECT_EQ(point(1).step, last);
  EXPECT_GT(point(1).slots, found.slots) << "what stands in free text behind the answer needs more";
  selection.step = first;
  window->workspace().setSelection(selection);
  EXPECT_EQ(point(1), found) << "known still";
}

TEST_F(BreaksTest, FindsABorderBetweenARunThatAnswersAndOneThatDoesNot) {
  EXPECT_TRUE(window->workspace().breakPoints().empty()) << "nothing is computed unless somebody asks";
  EXPECT_EQ(nRuns(), 0u);
  ask();
  EXPECT_EQ(point(1).state, AnswerState::searching) << "the selected run first";
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  std::printf("%s | %s | %zu runs\n", found.words.toUtf8().data(), point(2).words.toUtf8().data(), nRuns());
  ASSERT_EQ(found.state, AnswerState::found) << found.words.toStdString();
  const int n = snapshot().n_prompt;
  EXPECT_TRUE(answersWith("keepkv:slots=" + std::to_string(found.slots)));
  ASSERT_LT(n, 400) << "to a slot";
  EXPECT_FALSE(answersWith("keepkv:slots=" + std::to_string(found.slots - 1)));
  EXPECT_TRUE(found.words.contains(QString("(%1 of %2 slots)").arg(found.slots).arg(n))) << found.words.toStdString();
  EXPECT_TRUE(found.how.contains("By bisection, to 1 slot; below it the answer differs at the budgets tried")) << found.how.toStdString();
  EXPECT_LE(nRuns(), 20u) << "two runs on screen, each by halves";
  for (const QueuedRun& run : window->model().runs.runs()) EXPECT_EQ(run.purpose, QueuedRun::Purpose::budget);
  EXPECT_EQ(snapshot().lanes.size(), 3u) << "none of them joins the comparison";
}

TEST_F(BreaksTest, IsMarkedOnEverySliderAndSaidInWords) {
  const QImage before = window->rows().tools().budgetSlider()->grab().toImage();
  ask();
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  ASSERT_TRUE(found.marked());
  QPushButton* words = answer(found);
  ASSERT_NE(words, nullptr) << "in place of the question";
  EXPECT_EQ(words->accessibleName(), found.words);
  EXPECT_EQ(words->accessibleDescription(), found.how);
  EXPECT_EQ(button("What saves it?"), nullptr);
  auto* slider = qobject_cast<BudgetSlider*>(window->rows().tools().budgetSlider());
  ASSERT_NE(slider, nullptr);
  EXPECT_EQ(slider->accessibleDescription(), found.both());
  const QPoint tick = slider->tick();
  ASSERT_FALSE(tick.isNull());
  const QPoint above(tick.x(), tick.y() - 8);
  EXPECT_NE(slider->grab().toImage().pixelColor(above), before.pixelColor(above)) << "drawn";
  slider->setValue(found.slots);
  EXPECT_EQ(slider->tick(), tick) << "it is no place of the handle";
  ASSERT_TRUE(settle());
  for (BudgetSlider* one : window->findChildren<BudgetSlider*>()) EXPECT_EQ(one->accessibleDescription(), point(1).both());
  EXPECT_GE(window->findChildren<BudgetSlider*>().size(), 2);
  select(0);
  EXPECT_TRUE(slider->tick().isNull()) << "the full cache has no budget";
  EXPECT_EQ(slider->accessibleDescription(), point(0).both());
}

TEST_F(BreaksTest, TheAnswerIsReadWholeInANarrowWindow) {
  ask();
  ASSERT_TRUE(searched());
  for (const QSize size : {QSize(1600, 1000), QSize(1280, 800), QSize(1100, 760), QSize(960, 600)}) {
    window->resize(size);
    ASSERT_TRUE(settle());
    const QString percent = point(1).share;
    QPushButton* said = button(percent);
    ASSERT_NE(said, nullptr) << size.width() << ": the budget is what was asked for, " << percent.toStdString();
    EXPECT_FALSE(said->text().contains(QChar(0x2026))) << size.width() << ": " << said->text().toStdString();
  }
}

TEST_F(BreaksTest, AMarkIsNeverOfSomethingElse) {
  ask();
  ASSERT_TRUE(searched());
  const BreakPoint found = point(1);
  const std::size_t n = nRuns();
  SessionController& c = window->controller();
  const RunRequest before = c.request();
  const std::pair<const char*, std::function<void(RunRequest&)>> edits[] = {
      {"text", [](RunRequest& r) { r.prompt += " now"; }},
      {"ids", [](RunRequest& r) { r.prompt_ids = {1, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80}; }},
      {"mode", [](RunRequest& r) { r.mode = PromptMode::stream; }},
      {"follow", [](RunRequest& r) { r.follow = Follow::self; }},
      {"seed", [](RunRequest& r) { r.seed = 7; }},
      {"temperature", [](RunRequest& r) { r.temperature = 0.5; }},
      {"length", [](RunRequest& r) { r.n_generate += 1; }},
      {"another key", [](RunRequest& r) { r.lanes[1] = with_param(r.lanes[1], "threshold", "0.5"); }},
      {"another policy", [](RunRequest& r) { r.lanes[1] = parse_lane_spec("tova:ratio=0.1"); }},
      {"by hand", [](RunRequest& r) { r.lanes[1] = parse_lane_spec("keepkv:ratio=0.1@pin=5"); }},
      {"unit", [](RunRequest& r) { r.lanes[1] = parse_lane_spec("keepkv:slots=9"); }},
  };
  for (const auto& [name, edit] : edits) {
    RunRequest changed = before;
    edit(changed);
    c.replaceRequest(changed);
    EXPECT_EQ(point(1).state, AnswerState::unknown) << name << ": at once, not when it is computed";
    ASSERT_TRUE(settle()) << name;
    EXPECT_EQ(point(1).state, AnswerState::unknown) << name;
    EXPECT_EQ(nRuns(), n) << name << ": and nothing is asked by itself";
    c.replaceRequest(before);
    ASSERT_TRUE(settle()) << name;
    EXPECT_EQ(point(1), found) << name << ": known still";
  }
  c.setLaneSpec(1, QString("keepkv:ratio=0.2"));
  EXPECT_EQ(point(1).slots, found.slots) << "the budget is what was asked about";
  ASSERT_TRUE(settle());
  EXPECT_EQ(point(1).slots, found.slots);
}

TEST_F(BreaksTest, SaysWhereThereIsNoBorder) {
  window->controller().replaceRequest([this] {
    RunRequest request = window->controller().request();
    request.lanes = parse_lane_specs({"full", "keepkv:ratio=0.1", "full", "h2o:slots=9@slots=9"});
    return request;
  }());
  ASSERT_TRUE(settle());
  select(1);
  window->model().breaks.ask();
  ASSERT_TRUE(waitFor([this] { return point(1).marked() && point(3).state != AnswerState::searching; }, 120000));
  EXPECT_EQ(point(0).state, AnswerState::no_budget);
  EXPECT_EQ(point(2).state, AnswerState::no_budget) << "a second full cache";
  EXPECT_TRUE(point(2).words.contains("no budget")) << point(2).words.toStdString();
  EXPECT_EQ(point(3).state, AnswerState::never) << "its heads are held to nine by hand, whatever the run has";
  const int n_read = snapshot().lanes[0].steps.back()->position + 1, n_prompt = snapshot().n_prompt;
  ASSERT_GT(n_read, n_prompt) << "the largest budget that is tried is less than the full cache has";
  EXPECT_EQ(point(3).words, QString("not %1 even with %2 of %3 slots").arg(point(3).token).arg(n_prompt).arg(n_read));
  select(3);
  EXPECT_TRUE(qobject_cast<BudgetSlider*>(window->rows().tools().budgetSlider())->tick().isNull());
  EXPECT_NE(button(QString(" with %1").arg(n_prompt)), nullptr);
}

TEST_F(BreaksTest, SaysThatTheLeastBudgetAnswersToo) {
  window->controller().replaceRequest([this] {
    RunRequest request = window->controller().request();
    request.lanes = parse_lane_specs({"full", "keepkv:ratio=0.5@slots=1000"});  // by hand every head keeps all
    return request;
  }());
  ASSERT_TRUE(settle());
  select(1);
  window->model().breaks.ask();
  ASSERT_TRUE(settle());
  EXPECT_EQ(point(1).state, AnswerState::always);
  EXPECT_TRUE(point(1).words.contains(" even at ")) << point(1).words.toStdString();
  EXPECT_EQ(nRuns(), 5u) << "the most, the least and three between them: few slots may answer by chance";
}

TEST_F(BreaksTest, IsGivenUpByItsButtonAndByTheQueue) {
  ask();
  ASSERT_TRUE(waitFor([this] { return window->model().runs.busy(); }, 5000));
  QPushButton* searching = button("searching");
  ASSERT_NE(searching, nullptr);
  QTest::mouseClick(searching, Qt::LeftButton);
  EXPECT_EQ(point(1).state, AnswerState::unknown);
  EXPECT_FALSE(window->model().runs.busy());
  ask();
  ASSERT_TRUE(waitFor([this] { return window->model().runs.busy(); }, 5000));
  window->model().runs.cancelAll();
  QApplication::processEvents();
  EXPECT_EQ(point(1).state, AnswerState::unknown) << "and none of the runs that would have followed begins";
  EXPECT_FALSE(window->model().runs.busy());
  ask();
  ASSERT_TRUE(searched());
  EXPECT_TRUE(point(1).marked()) << "from the beginning";
}

TEST_F(BreaksTest, WhatTheUserDoesComesFirst) {
  ask();
  ASSERT_TRUE(waitFor([this] { return window->model().runs.busy(); }, 5000));
  window->controller().addLane(QString("knorm:slots=12"));
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 4 && !window->workspace().stale(); }, 60000));
  EXPECT_EQ(point(1).state, AnswerState::searching) << "goes on: it is the same run of the same text";
  ASSERT_TRUE(searched());
  EXPECT_TRUE(point(1).marked());
  EXPECT_EQ(point(3).state, AnswerState::unknown) << "nobody asked about the run that came later";
  // An edit of what is asked about ends it.
  window->model().breaks.ask();
  ASSERT_TRUE(waitFor([this] { return window->model().runs.busy(); }, 5000));
  window->controller().setPrompt("Helen lives at 482. Where does Helen live? Helen lives at");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->model().runs.busy());
  EXPECT_EQ(point(3).state, AnswerState::unknown);
}

TEST_F(BreaksTest, GivesTheRunWhatWouldHaveSavedIt) {
  ask();
  ASSERT_TRUE(searched());
  const int n_slots = point(1).slots;
  const auto click = [this] { QTest::mouseClick(answer(point(1)), Qt::LeftButton); };
  point(1).several() ? chooseByMouse({"Set " + point(1).share + ": "}, click) : click();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(lane(1).starts_with("keepkv:ratio=")) << lane(1) << ": in the unit that it had";
  EXPECT_EQ(snapshot().lanes[1].slots_asked, n_slots);
  EXPECT_TRUE(answers(1));
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(1), "keepkv:ratio=0.1");
}

TEST_F(BreaksTest, StandsInTheSweepAndInItsTable) {
  window->showPage(Page::sweep);
  QApplication::processEvents();
  SweepPanel& sweep = window->runActions().sweep();
  EXPECT_TRUE(sweep.chart().breaks().empty());
  window->model().breaks.ask();
  ASSERT_TRUE(searched());
  std::size_t n_marked = 0;
  for (int run = 1; run <= 2; ++run) n_marked += point(run).marked();
  const std::vector<SweepBreak> breaks = sweep.chart().breaks();
  ASSERT_EQ(breaks.size(), n_marked);
  ASSERT_GE(n_marked, 1u);
  for (const SweepBreak& one : breaks) {
    EXPECT_EQ(one.slots, point(one.lane).slots);
    EXPECT_GT(one.x, 0);
    EXPECT_LT(one.x, sweep.chart().width());
    EXPECT_TRUE(sweep.chart().accessibleDescription().contains(one.words)) << one.words.toStdString();
    EXPECT_NE(sweep.data().table().note.find(one.words.toStdString()), std::string::npos);
  }
  EXPECT_TRUE(breaks[0].words.startsWith("B · KeepKV says «")) << breaks[0].words.toStdString();
  EXPECT_GT(breaks[0].held, 0);
  const double asked = breaks[0].x;
  sweep.chart().setBudget(SweepChart::Budget::share);
  sweep.chart().setLogX(false);
  EXPECT_NE(sweep.chart().breaks()[0].x, asked);
  window->controller().setPrompt("Helen lives at 482. Where does Helen live? Helen lives at");
  EXPECT_TRUE(sweep.chart().breaks().empty());
  ASSERT_TRUE(settle());
  EXPECT_TRUE(sweep.chart().breaks().empty());
}

/// The model that is being opened has no steps yet, and the answer of before is still known.
TEST_F(BreaksTest, OpeningTheModelAnewLeavesTheAnswer) {
  viz::Selection selection = window->workspace().selection();
  selection.step = 1;  // the first that is asked about, so that it is the one asked about where no step is there
  window->workspace().setSelection(selection);
  window->model().breaks.ask();
  ASSERT_TRUE(searched());
  const BreakPoint before = point(1);
  window->openFile(QString::fromStdString(builtInModel()));
  bool empty = false;
  ASSERT_TRUE(waitFor([&] { return empty = empty || snapshot().lanes.empty(); }, 30000 * kPatience)) << "nothing was asked of an empty one";
  ASSERT_TRUE(settle());
  EXPECT_EQ(point(1).words, before.words);
}

/// The search says from which budget on the budgets that it tried answer; one above them may answer otherwise.
TEST(SweepFlagWords, PromiseNothingOfBudgetsThatWereNotTried) {
  for (const QString& words : sweepFlagWords()) EXPECT_FALSE(words.contains("from there on")) << words.toStdString();
  EXPECT_TRUE(sweepFlagWords().front().contains("with more slots it need not"));
}

TEST(SweepBreakLetters, NoFlagLiesOverOne) {
  const auto at = [](std::initializer_list<double> flags) {
    std::vector<SweepBreak> breaks;
    for (const double x : flags) breaks.push_back({.lane = 1, .x = x});
    return sweepBreakLetters(breaks, [](int) { return 8.0; });
  };
  EXPECT_EQ(at({100, 200}), (std::vector<double>{110, 210}));
  EXPECT_EQ(at({100, 119, 200}), (std::vector<double>{129, 140, 210})) << "those that are close together";
  EXPECT_EQ(at({119, 100}), (std::vector<double>{140, 129})) << "in the order of the flags";
  EXPECT_EQ(at({100, 100}), (std::vector<double>{110, 121})) << "of one budget";
  EXPECT_TRUE(at({}).empty());
}

}  // namespace
}  // namespace kvscope
