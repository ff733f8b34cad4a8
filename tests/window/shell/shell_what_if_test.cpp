// SPDX-License-Identifier: Apache-2.0
// Changes by hand through the whole window, with the embedded model.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <QApplication>
#include <QCursor>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/runs/what_if_panel.h"
#include "app/window/panels/runs/what_if_panel_model.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/panel_paint.h"
#include "core/most_runs.h"
#include "policy/text/lane_edits.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class WhatIfTest : public WindowTest {
 protected:
  void select(int first, int last, int step) {
    viz::Selection s = window->workspace().selection();
    s.lane = 4;
    s.layer = 2;
    s.kv_head = 1;
    s.tokens = viz::TokenRange{first, last};
    s.step = step;
    window->workspace().setSelection(s);
    QApplication::processEvents();
  }
  /// A key on a canvas, and the run that it asks for.
  void key(const char* view, Qt::Key which) {
    window->canvas(view)->setFocus();
    QTest::keyClick(window->canvas(view), which);
    QApplication::processEvents();
    ASSERT_TRUE(settle());
  }
  const HeadRecord& head(int lane, int step, int layer = 2, int kv_head = 1) const {
    const Snapshot& s = snapshot();
    return s.lanes[static_cast<std::size_t>(lane)]
        .steps[static_cast<std::size_t>(step)]
        ->heads[static_cast<std::size_t>(layer * s.model.n_kv_heads + kv_head)];
  }
  /// A token with its own slot in every head of the run after a step, besides sinks and the newest.
  int keptEverywhere(int step) const {
    const StepRecord& record = *snapshot().lanes[4].steps[static_cast<std::size_t>(step)];
    for (int t = record.position - 1; t > 0; --t)
      if (std::ranges::all_of(record.heads, [&](const HeadRecord& h) { return std::ranges::binary_search(h.pos, t); })) return t;
    return -1;
  }
  /// Evicts such a token in a fork; which one.
  int evictInAFork() {
    const int token = keptEverywhere(1);
    EXPECT_GT(token, 0);
    select(token, token, 2);
    key("atlas", Qt::Key_E);
    return token;
  }
  WhatIfPanel* panel() const { return window->findChild<WhatIfPanel*>(); }
};

/// Of texts that have parted from the full cache's there is no KL that an edit could have changed.
TEST_F(WhatIfTest, AfterTheTextsPartAnEditHasNoKl) {
  window->controller().setFollow(Follow::self);
  window->controller().generate(16);
  ASSERT_TRUE(settle());
  const int parted = steps_of_one_text(snapshot(), snapshot().lanes[4]);
  ASSERT_LT(parted, 15);
  const int token = keptEverywhere(parted);
  ASSERT_GT(token, 0);
  select(token, token, parted + 1);
  key("atlas", Qt::Key_E);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const WhatIfModel& model = panel()->model();
  const auto cell = [&](int column) { return model.index(0, column).data().toString(); };
  EXPECT_EQ(cell(WhatIfModel::kKlLast), "n/a");
  EXPECT_EQ(cell(WhatIfModel::kKlMean), "n/a");
  EXPECT_NE(cell(WhatIfModel::kLocal), "n/a") << "what is the run's own is measured";
  EXPECT_NE(cell(WhatIfModel::kText), "n/a");
  EXPECT_TRUE(model.index(0, WhatIfModel::kKlLast).data(Qt::ToolTipRole).toString().startsWith("KL compares")) << "and why is said";
}

TEST_F(WhatIfTest, TheTableShowsSeveralRows) {
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 2);
  window->resize(1600, 1000);
  for (int t = token; t > token - 2; --t) {
    select(t, t, 1);
    key("atlas", Qt::Key_P);
  }
  ASSERT_TRUE(settle());
  const auto* table = panel()->findChild<QTableView*>();
  ASSERT_NE(table, nullptr);
  EXPECT_GE(table->viewport()->height(), 3 * table->rowHeight(0) - 2);
}

TEST_F(WhatIfTest, AnEditOfManyWordsLeavesTheMeasuredColumnsInSight) {
  window->resize(1600, 1000);
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 9);
  select(token - 7, token, 1);
  key("atlas", Qt::Key_E);
  ASSERT_TRUE(settle());
  const auto* table = panel()->findChild<QTableView*>();
  ASSERT_NE(table, nullptr);
  ASSERT_GE(panel()->model().index(0, 0).data().toString().size(), 40);
  EXPECT_LE(table->horizontalHeader()->length(), table->viewport()->width());
}

/// On a small screen the panel must leave the atlas its rows, and show what was done.
TEST_F(WhatIfTest, OnASmallScreenTheHeadsAndTheEditStayInSight) {
  window->resize(1280, 800);
  ASSERT_TRUE(settle());
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 0);
  select(token, token, 1);
  key("atlas", Qt::Key_E);
  ASSERT_TRUE(settle());
  CanvasWidget* atlas = window->canvas("atlas");
  ASSERT_TRUE(waitFor([&] { return atlas->settled(); }, 5000));
  int n_rows = 0;
  for (const viz::Mark& m : atlas->view().marks()) {
    if (m.kind != "row") continue;
    ++n_rows;
    EXPECT_GE(m.max.y - m.min.y, 3) << m.label;
  }
  EXPECT_EQ(n_rows, 24);
  const auto* table = panel()->findChild<QTableView*>();
  ASSERT_TRUE(table->isVisible());
  const QRect row = table->visualRect(panel()->model().index(0, 0));
  EXPECT_TRUE(table->viewport()->rect().contains(QPoint(row.left() + 1, row.bottom() - 1)))
      << row.bottom() << " " << table->viewport()->height();
}

TEST_F(WhatIfTest, EEvictsTheSelectedTokenInAForkBesideTheRunAndUndoDropsTheFork) {
  const std::string base = lane(4);
  const int token = evictInAFork();
  ASSERT_GT(token, 0);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_EQ(lane(4), base) << "the run itself stays";
  EXPECT_EQ(lane(5), base + "@evict=" + std::to_string(token) + ",step=1") << "so that step 2 already sees it";
  EXPECT_EQ(window->workspace().step(), 2);
  EXPECT_EQ(snapshot().lanes[5].fork_of, 4);
  EXPECT_EQ(window->workspace().selection().lane, 5) << "the fork is looked at";
  EXPECT_TRUE(std::ranges::binary_search(head(4, 1).pos, token));
  EXPECT_FALSE(std::ranges::binary_search(head(5, 1).pos, token));
  EXPECT_EQ(head(5, 0).pos, head(4, 0).pos);
  EXPECT_EQ(snapshot().lanes[5].steps[1]->kl, snapshot().lanes[4].steps[1]->kl);
  EXPECT_NE(snapshot().lanes[5].steps[2]->kl, snapshot().lanes[4].steps[2]->kl);

  // what the panel says is what the snapshot holds
  const WhatIfModel& model = panel()->model();
  ASSERT_EQ(model.rowCount(), 2) << "the edit, and all together";
  const auto cell = [&](int row, int column) { return model.index(row, column).data().toString().toStdString(); };
  const int n_heads = static_cast<int>(snapshot().lanes[5].steps[1]->heads.size());
  EXPECT_EQ(cell(0, WhatIfModel::kDone), std::to_string(n_heads) + " of " + std::to_string(n_heads));
  EXPECT_EQ(cell(0, WhatIfModel::kHeads), "all heads");
  const WhatIfEffect effect = effect_of(snapshot(), 5, -1, true);
  EXPECT_EQ(effect.kl_last, snapshot().lanes[5].steps.back()->kl - snapshot().lanes[4].steps.back()->kl);
  EXPECT_EQ(cell(0, WhatIfModel::kKlLast), cell(1, WhatIfModel::kKlLast));
  EXPECT_FALSE(panel()->answer().isEmpty());
  EXPECT_TRUE(panel()->isVisible()) << "the panel comes when there is something to say";

  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  EXPECT_EQ(model.rowCount(), 0);
  press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), 6u);
}

TEST_F(WhatIfTest, AForkIsOfTheRunItWasMadeOnThoughAnotherIsTheSame) {
  const auto said = [this] { return window->findChild<QLabel*>("passingWords")->accessibleName(); };
  window->controller().setLaneSpec(3, qs(lane(4)));  // D is what E is
  ASSERT_TRUE(settle());
  EXPECT_TRUE(said().contains("Run D is the same as run E")) << said().toStdString();
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 0);
  select(token, token, 2);
  key("atlas", Qt::Key_E);
  EXPECT_EQ(snapshot().lanes[5].fork_of, 4);
  EXPECT_EQ(panel()->facts(), "run F, forked from run E");
  key("atlas", Qt::Key_P);  // the fork is edited further
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_EQ(panel()->facts(), "run F, forked from run E");
  viz::Selection twin = window->workspace().selection();
  twin.lane = 3;
  window->workspace().setSelection(twin);
  EXPECT_EQ(panel()->facts(), "nothing was done by hand") << "to this one";
  // The same to D: another fork, of D.
  select(token, token, 2);
  twin = window->workspace().selection();
  twin.lane = 3;
  window->workspace().setSelection(twin);
  key("atlas", Qt::Key_E);
  ASSERT_EQ(snapshot().lanes.size(), 7u);
  EXPECT_EQ(snapshot().lanes[6].fork_of, 3);
  EXPECT_EQ(snapshot().lanes[5].fork_of, 4);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->workspace().selection().lane, 3);
}

TEST_F(WhatIfTest, ARunThatIsThereIsNotAddedAgainAndThatIsSaid) {
  Q_EMIT window->rows().tools().runWanted(qs(lane(2)));
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  EXPECT_EQ(window->workspace().selection().lane, 2);
  EXPECT_EQ(window->findChild<QLabel*>("passingWords")->accessibleName(), "It is among the runs already, as run C");
}

TEST_F(WhatIfTest, WhyNothingWasChangedIsSaidUntilSomethingElseIsDone) {
  const auto told = [this] {
    QString all;
    for (const QLabel* label : panel()->findChildren<QLabel*>()) all += label->isHidden() ? QString() : label->text();
    return all.contains("Nothing was changed");
  };
  int gone = -1;
  for (int t = 1; t < snapshot().n_prompt && gone < 0; ++t)
    if (!std::ranges::binary_search(head(4, 1).pos, t)) gone = t;
  ASSERT_GT(gone, 0);
  const auto refused = [&] {
    select(gone, gone, 2);
    window->model().hand.setScope(HandEdits::Scope::head);
    key("atlas", Qt::Key_E);
    EXPECT_TRUE(told());
  };
  refused();
  select(gone + 1, gone + 1, 2);
  EXPECT_FALSE(told()) << "another token";
  refused();
  window->controller().setLaneSpec(1, QString("streaming:ratio=0.5"));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(told()) << "another budget";
}

TEST_F(WhatIfTest, WhereThereIsNoRoomForAForkNothingIsSaidToBeDone) {
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 0);
  select(token, token, 2);
  RunRequest many = window->controller().request();
  while (many.lanes.size() < kMostRuns + 1) many.lanes.push_back(parse_lane_spec("local:slots=" + std::to_string(many.lanes.size() + 8)));
  window->controller().replaceRequest(many);
  window->controller().stop();
  QStringList told;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  window->model().hand.edit(WhatIf::Kind::evict);
  EXPECT_EQ(window->controller().request().lanes.size(), many.lanes.size());
  EXPECT_EQ(told, QStringList{"Nothing was changed: there is room for 256 runs beside the full cache; remove some first."});
}

TEST_F(WhatIfTest, AnEditFollowsItsTokenThroughEditsOfTheText) {
  const std::string base = lane(4);
  const int token = evictInAFork();
  ASSERT_GT(token, 0);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const int id = snapshot().tokens[static_cast<std::size_t>(token)].id, n_before = snapshot().n_prompt;
  QStringList told;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  const QString text = QString::fromStdString(snapshot().prompt);
  window->controller().setPrompt("One two three. " + text);
  ASSERT_TRUE(settle());
  const int now = token + snapshot().n_prompt - n_before;
  ASSERT_GT(now, token);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_EQ(snapshot().tokens[static_cast<std::size_t>(now)].id, id);
  EXPECT_EQ(lane(5), base + "@evict=" + std::to_string(now) + ",step=1");
  EXPECT_EQ(snapshot().lanes[5].spec, lane(5)) << "and is computed so";
  ASSERT_FALSE(told.isEmpty());
  EXPECT_EQ(told.front(), "") << "what it did was of the other text";

  told.clear();
  window->controller().setPrompt("One two three.");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().lanes.size(), 5u) << "its token is gone";
  ASSERT_FALSE(told.isEmpty());
  EXPECT_TRUE(told.back().contains("taken back")) << told.back().toStdString();
}

/// Nothing is computed with edits of a token that is another one now, and no other one is shown as theirs.
TEST_F(WhatIfTest, WhatIsPinnedIsUnpinnedAndTheOrderSaysWhich) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  const auto offered = [&](const char* words) {
    for (QToolButton* b : panel()->findChildren<QToolButton*>())
      if (b->text() == words) return true;
    return false;
  };
  QString said;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { said = words; });
  EXPECT_TRUE(offered("Pin"));
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_TRUE(offered("Unpin"));
  EXPECT_FALSE(offered("Pin"));
  key("atlas", Qt::Key_E);  // another edit of the fork stays
  const std::size_t n = edits_of(lane(5)).what_ifs.size();
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const std::vector<WhatIf> left = edits_of(lane(5)).what_ifs;
  EXPECT_EQ(left.size(), n - 1) << lane(5);
  EXPECT_TRUE(std::ranges::none_of(left, [](const WhatIf& w) { return w.kind == WhatIf::Kind::pin; }));
  EXPECT_TRUE(said.contains("no longer pinned in L2 · H1: the policy may take it.") || said.contains("no longer pinned in all heads"))
      << said.toStdString();
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(edits_of(lane(5)).what_ifs.size(), n) << "a step back";
  EXPECT_FALSE(said.contains("no longer pinned")) << said.toStdString();
}

/// The second P comes before the fork of the first is computed: it is of that fork, not of the run beside it.
TEST_F(WhatIfTest, ASecondEditIsOfTheForkThatIsBeingComputed) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  CanvasWidget* atlas = window->canvas("atlas");
  atlas->setFocus();
  const auto lanes = [this] { return window->controller().request().lanes.size(); };
  QTest::keyClick(atlas, Qt::Key_P);
  ASSERT_EQ(lanes(), 6u);
  QTest::keyClick(atlas, Qt::Key_E);
  ASSERT_EQ(lanes(), 6u) << "no second fork";
  QTest::keyClick(atlas, Qt::Key_P);
  EXPECT_EQ(lanes(), 6u);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->workspace().selection().lane, 5) << "the fork is looked at as soon as it is there";
  const auto pinned = [this] {
    return std::ranges::any_of(edits_of(lane(5)).what_ifs, [](const WhatIf& w) { return w.kind == WhatIf::Kind::pin; });
  };
  EXPECT_FALSE(pinned()) << lane(5);
  QTest::keyClick(atlas, Qt::Key_P);
  QTest::keyClick(atlas, Qt::Key_P);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(pinned()) << lane(5) << ": a token that was restored for the pin stays";
}

TEST_F(WhatIfTest, EditsOfATextThatIsReplacedGoBeforeTheOtherOneIsComputed) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  QStringList told;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  int n_submitted = 0;
  QObject::connect(&window->controller(), &SessionController::submitted, [&] { ++n_submitted; });
  window->controller().setPrompt("Several other words, of which none was there before: they are about the sea, ships and storms.");
  EXPECT_EQ(window->controller().request().lanes.size(), 5u) << "at once";
  EXPECT_EQ(n_submitted, 1);
  ASSERT_FALSE(told.isEmpty());
  EXPECT_EQ(told.back(), "What was done by hand to a token is taken back: the text has it no more.");
  ASSERT_TRUE(settle());
  EXPECT_EQ(n_submitted, 1) << "nothing begins again";
  EXPECT_EQ(panel()->model().rowCount(), 0);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 6u) << "with its text it comes back";
}

TEST_F(WhatIfTest, StopStopsThoughEditsHaveToFollowTheText) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const int id = snapshot().tokens[static_cast<std::size_t>(token)].id;
  const QString before = QString::fromStdString(snapshot().prompt), moved = "A ship left, and another one came. ";
  bool stopped = false;
  int n_after = 0;
  QObject::connect(&window->controller(), &SessionController::submitted, [&] { n_after += stopped; });
  window->controller().generate(400);                           // there is something to stop
  window->controller().setPrompt(moved.repeated(20) + before);  // its token is still there, and at another place
  const std::string text = (moved.repeated(20) + before).toStdString();
  ASSERT_TRUE(waitFor([&] { return snapshot().prompt == text && snapshot().phase == RunPhase::computing; }, 30000));
  stopped = true;
  window->runActions().stop();
  // Of the run with the edit in its new place there may be nothing yet, which is said.
  const auto ended = [&] { return snapshot().phase == RunPhase::idle || snapshot().failure.starts_with("stopped before"); };
  ASSERT_TRUE(waitFor(ended, 30000)) << snapshot().failure;
  QTest::qWait(300);
  EXPECT_EQ(n_after, 0) << "one press stops it";
  EXPECT_TRUE(ended());
  stopped = false;
  window->controller().generate(4);
  window->controller().setPrompt(moved + before);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const WhatIf pin = edits_of(lane(5)).what_ifs.at(0);
  EXPECT_EQ(snapshot().tokens[static_cast<std::size_t>(pin.positions.at(0))].id, id) << lane(5);
}

TEST_F(WhatIfTest, AnEditFollowsItsTokenThoughAnotherRunIsChangedMeanwhile) {
  const std::string base = lane(4);
  const int token = evictInAFork();
  ASSERT_GT(token, 0);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const int id = snapshot().tokens[static_cast<std::size_t>(token)].id;
  const QString text = QString::fromStdString(snapshot().prompt);
  SessionController& controller = window->controller();
  controller.setPrompt(QString("One two three. ").repeated(4000) + text);  // longer than the model reads: nothing of it has a place yet
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  controller.setLaneSpec(1, QString::fromStdString(lane(1)).contains("slots") ? QString("h2o:slots=11") : QString("h2o:slots=12"));
  controller.setPrompt("One two three. " + text);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const WhatIf edit = edits_of(lane(5)).what_ifs.at(0);
  EXPECT_NE(edit.positions.at(0), token);
  EXPECT_EQ(snapshot().tokens[static_cast<std::size_t>(edit.positions.at(0))].id, id) << lane(5);
}

TEST_F(WhatIfTest, WhatIsOnScreenOfATextBeforeIsNotEditedInTheOther) {
  const int token = keptEverywhere(1);
  const QString text = QString::fromStdString(snapshot().prompt);
  SessionController& controller = window->controller();
  controller.setPrompt(text + QString(" One two three.").repeated(4000));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  select(token, token, 2);
  const std::vector<LaneSpec> before = controller.request().lanes;
  QStringList told, refused;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  QObject::connect(&controller, &SessionController::refused, [&](const QString& words) { refused << words; });
  window->model().hand.edit(WhatIf::Kind::evict);
  EXPECT_EQ(controller.request().lanes, before);
  ASSERT_FALSE(told.isEmpty());
  EXPECT_TRUE(told.back().startsWith("Nothing was changed: the pictures are those of the text before")) << told.back().toStdString();

  // A run goes from what is asked for, and stays on screen: in its place, and behind it, stand others now.
  controller.removeLane(1);
  const std::vector<LaneSpec> left = controller.request().lanes;
  ASSERT_EQ(left.size() + 1, before.size());
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed && controller.answersNewest(snapshot()); }, 20000));
  ASSERT_EQ(snapshot().lanes.size(), before.size());
  EXPECT_TRUE(refused.isEmpty());
  controller.setLaneSpec(2, QString("h2o:slots=9"));
  controller.removeLane(2);
  window->model().hand.setBudget(3, 0, 0, 5);
  EXPECT_EQ(controller.request().lanes, left);
  ASSERT_EQ(refused.size(), 3);
  for (const QString& words : refused) EXPECT_EQ(words, SessionController::anotherWords());
  controller.setPrompt(text);
  ASSERT_TRUE(settle());
  controller.setLaneSpec(2, QString("h2o:slots=9"));
  EXPECT_EQ(controller.request().lanes[2].text, "h2o:slots=9") << "what is on screen is what is asked for";
}

TEST_F(WhatIfTest, ThatTheTextIsNotReadYetIsSaidUntilItIs) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  QStringList told;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  window->controller().setPrompt(QString::fromStdString(snapshot().prompt) + " 482. One two");
  window->model().hand.edit(WhatIf::Kind::evict);
  ASSERT_FALSE(told.isEmpty());
  ASSERT_TRUE(told.back().contains("once the new text is read")) << told.back().toStdString();
  ASSERT_TRUE(settle());
  EXPECT_EQ(told.back(), "") << "it is read";
  EXPECT_TRUE(window->model().hand.obstacle().isEmpty()) << window->model().hand.obstacle().toStdString();
}

TEST_F(WhatIfTest, WhatWasToldIsOfItsSeed) {
  evictInAFork();
  QStringList told;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  window->controller().setSeed(window->controller().request().seed + 1);
  ASSERT_FALSE(told.isEmpty());
  EXPECT_EQ(told.back(), "");
}

TEST_F(WhatIfTest, AnUndoLeavesEverythingAsItWas) {
  const int last = static_cast<int>(snapshot().lanes[4].steps.size()) - 1, token = keptEverywhere(last);
  select(token, token, last);
  const viz::Selection before = window->workspace().selection();
  key("atlas", Qt::Key_E);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  ASSERT_EQ(static_cast<int>(snapshot().lanes[4].steps.size()), last + 1) << "the step shown shows the effect";
  const auto says = [&](const char* words) {
    for (const QLabel* label : panel()->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(words)) return true;
    return window->messages().isVisible() && window->messages().text().contains(words);
  };
  EXPECT_TRUE(says("Without"));
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(static_cast<int>(snapshot().lanes[4].steps.size()), last + 1);
  EXPECT_FALSE(says("Without"));
  EXPECT_EQ(window->workspace().lane(), &snapshot().lanes[4]);
  EXPECT_EQ(window->workspace().step(), before.step);
  EXPECT_EQ(window->workspace().selection(), before);
  press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(static_cast<int>(snapshot().lanes[5].steps.size()), last + 1);
  // What was generated since then is nobody's to take back.
  window->controller().generate(options.generate + 3);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(static_cast<int>(snapshot().lanes[4].steps.size()), last + 4);
}

TEST_F(WhatIfTest, WhatWouldChangeNothingIsRefusedWithAWordWhy) {
  const int n_steps = static_cast<int>(snapshot().lanes[4].steps.size());
  const auto has = [&](int token, int step) { return std::ranges::binary_search(head(4, step).pos, token); };
  int token = 0, last = 0;  // that leaves the head in a step after the first
  for (int step = 1; step + 1 < n_steps && last < 1; ++step)
    for (int t = 0; t < snapshot().n_prompt && last < 1; ++t)
      if (has(t, step - 1) && !has(t, step)) token = t, last = step;
  ASSERT_GT(last, 0);
  window->model().hand.setScope(HandEdits::Scope::head);
  QString words;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& said) { words = said; });
  select(token, token, last + 1);
  for (const Qt::Key edit : {Qt::Key_E, Qt::Key_M}) {
    words.clear();
    key("atlas", edit);
    EXPECT_EQ(snapshot().lanes.size(), 5u);
    EXPECT_TRUE(words.contains(
        QString("has no slot in L2 · H1 at step %1 any more: go to step %2, or restore it first (R)").arg(last + 1).arg(last)))
        << words.toStdString();
    EXPECT_FALSE(window->model().hand.choosingTarget());
  }
  select(token, token, last - 1);
  key("atlas", Qt::Key_R);
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  EXPECT_TRUE(words.contains("has a slot in L2 · H1 already")) << words.toStdString();
  key("atlas", Qt::Key_P);
  EXPECT_EQ(snapshot().lanes.size(), 6u) << "where it is, it is pinned";
}

TEST_F(WhatIfTest, AnotherPolicyIsSaidToBeginWithoutTheEdits) {
  evictInAFork();
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const auto said = [this] { return window->findChild<QLabel*>("passingWords")->accessibleName().toStdString(); };
  window->controller().setLaneSpec(5, QString::fromStdString(lane(1)));
  ASSERT_TRUE(settle());
  window->rows().say("what was said before");
  window->controller().setLaneSpec(5, "snapkv:slots=12");
  ASSERT_TRUE(settle());
  EXPECT_EQ(said().find("made by hand"), std::string::npos) << "there was none by then: " << said();
  press(Qt::Key_Z, Qt::ControlModifier);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  ASSERT_NE(lane(5).find('@'), std::string::npos) << lane(5);
  window->controller().setLaneSpec(5, "snapkv:slots=12");
  ASSERT_TRUE(settle());
  EXPECT_THAT(said(), ::testing::HasSubstr("SnapKV begins without the edit made by hand to KeepKV"));
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  ASSERT_NE(lane(5).find('@'), std::string::npos) << lane(5);
  window->controller().setLaneSpec(5, qs(lane(2)));
  ASSERT_TRUE(settle());
  EXPECT_THAT(said(), ::testing::HasSubstr(" begins without the edit made by hand to KeepKV: Ctrl+Z brings it back."));
  EXPECT_THAT(said(), ::testing::HasSubstr(" Run F is the same as run C: ")) << "both are said";
}

TEST_F(WhatIfTest, AnotherSessionLeavesNoEditsBehind) {
  evictInAFork();
  QTemporaryDir folder;
  const QString path = folder.filePath("other.kvscope");
  SavedSession other = window->document().session();
  other.request.lanes[5] = parse_lane_spec("snapkv:slots=12");
  writeSession(path, other);
  ASSERT_TRUE(window->document().save(folder.filePath("mine.kvscope")));
  window->openFile(path);
  ASSERT_TRUE(settle());
  ASSERT_EQ(lane(5), "snapkv:slots=12");
  const std::string said = window->findChild<QLabel*>("passingWords")->accessibleName().toStdString();
  EXPECT_EQ(said.find("made by hand"), std::string::npos) << said;
}

TEST_F(WhatIfTest, ATokenThatWasEvictedSinceIsNotThePolicysToTake) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  QString said;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& words) { said = words; });
  const QString name = QString("Token %1 %2").arg(token).arg(qs(viz::quoted(viz::token_text(snapshot().tokens, token))));
  key("atlas", Qt::Key_P);
  key("atlas", Qt::Key_P);
  EXPECT_EQ(snapshot().lanes.size(), 5u) << "nothing is left of the fork";
  key("atlas", Qt::Key_P);
  key("atlas", Qt::Key_E);
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_EQ(said, name + " is no longer pinned in all heads. It was evicted by hand in all heads: restore it to have it back (R).");
  key("atlas", Qt::Key_R);
  key("atlas", Qt::Key_P);
  key("atlas", Qt::Key_P);
  EXPECT_EQ(said, name + " is no longer pinned in all heads: the policy may take it.");
}

/// Of a text that is typed anew letter by letter.
TEST_F(WhatIfTest, ThatEditsAreTakenBackIsSaidUntilSomethingElseIsDone) {
  evictInAFork();
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  QString said;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& words) { said = words; });
  const QString lost = "What was done by hand to a token is taken back: the text has it no more.";
  const QString text = "Several other words, of which none was there before.";
  for (const int n : {1, 8, 30, 52}) {
    window->controller().setPrompt(text.left(n));
    EXPECT_EQ(said, lost) << n;
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(said, lost);
  window->controller().setPrompt(text + " And");
  EXPECT_EQ(said, lost) << "who types may see it only now";
  window->controller().setSeed(window->controller().request().seed + 1);
  EXPECT_EQ(said, "") << "something else is done";
  for (int i = 0; i < 10 && snapshot().lanes.size() < 6u; ++i) {
    press(Qt::Key_Z, Qt::ControlModifier);
    ASSERT_TRUE(settle());
  }
  ASSERT_EQ(snapshot().lanes.size(), 6u) << "with its text it comes back";
  window->controller().setPrompt(text);
  EXPECT_EQ(said, lost);
  for (int i = 0; i < 10 && window->controller().request().lanes.size() < 6u; ++i) press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(said, "") << "it is back before the new text was read";
}

/// A token that is gone has no slot to keep: it gets one back, and keeps it.
TEST_F(WhatIfTest, APinOfATokenThatIsGoneRestoresItAndKeepsIt) {
  window->model().hand.setScope(HandEdits::Scope::head);
  QString words;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& said) { words = said; });
  const int last = static_cast<int>(snapshot().lanes[4].steps.size()) - 1;
  const auto has = [&](int run, int token, int step) { return std::ranges::binary_search(head(run, step).pos, token); };
  // A restored one is taken again, which is said.
  int gone = -1;
  for (int t = 1; t < snapshot().n_prompt && gone < 0; ++t) {
    if (has(4, t, 0)) continue;
    select(t, t, 1);
    key("atlas", Qt::Key_R);
    ASSERT_EQ(snapshot().lanes.size(), 6u);
    if (has(5, t, 0) && !has(5, t, 1)) gone = t;
    if (gone < 0) window->model().hand.dropFork();
    ASSERT_TRUE(settle());
  }
  ASSERT_GT(gone, 0);
  EXPECT_TRUE(words.endsWith("The policy took it again at step 1: pin it to keep it (P).")) << words.toStdString();
  viz::Selection s = window->workspace().selection();
  s.step = last;
  window->workspace().setSelection(s);
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u) << "in the same fork";
  EXPECT_TRUE(has(5, gone, last)) << lane(5);
  EXPECT_TRUE(words.startsWith(QString("With %1 restored and pinned in L2 · H1, after step %2, and with 1 other edit: at step %3")
                                   .arg(qs(viz::quoted(viz::token_text(snapshot().tokens, gone))))
                                   .arg(last - 1)
                                   .arg(last)))
      << words.toStdString();
}

/// "Pinned in all heads" is true of those, too, in which the token was gone.
TEST_F(WhatIfTest, APinInAllHeadsBringsTheTokenBackWhereItIsGone) {
  const auto n_with = [&](int run, int token, int step) {
    const auto& heads = snapshot().lanes[static_cast<std::size_t>(run)].steps[static_cast<std::size_t>(step)]->heads;
    return std::ranges::count_if(heads, [token](const HeadRecord& h) { return std::ranges::binary_search(h.pos, token); });
  };
  const auto n_heads = static_cast<std::ptrdiff_t>(snapshot().lanes[4].steps[0]->heads.size());
  int token = 0;
  for (int t = 1; t < snapshot().n_prompt && token == 0; ++t)
    if (const auto n = n_with(4, t, 1); n > 0 && n < n_heads) token = t;
  ASSERT_GT(token, 0);
  const int last = static_cast<int>(snapshot().lanes[4].steps.size()) - 1;
  select(token, token, 2);
  key("atlas", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  for (int step = 2; step <= last; ++step) EXPECT_EQ(n_with(5, token, step), n_heads) << lane(5) << " step " << step;
  const QString offered = window->model().undo.group().undoText();
  EXPECT_TRUE(offered.endsWith("pinned in all heads")) << offered.toStdString();
}

TEST_F(WhatIfTest, AWrongAnswerIsRedAndAMendedOneIsNot) {
  select(1, snapshot().n_prompt - 1, 1);
  key("atlas", Qt::Key_R);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  WhatIfModel& model = panel()->model();
  int n_changed = 0;
  for (const char* edits : {"@restore=1-30,step=0@pin=1-30,step=0", "@evict=0-30,step=0"}) {
    window->controller().setLaneSpec(5, QString::fromStdString(lane(4) + edits));
    ASSERT_TRUE(settle());
    const int row = model.rowCount() - 1;
    const WhatIfEffect effect = effect_of(snapshot(), 5, -1, true);
    if (effect.first_change < 0) continue;
    ++n_changed;
    const bool right = snapshot().lanes[5].steps[static_cast<std::size_t>(effect.first_change)]->top1_same;
    const bool red = model.data(model.index(row, WhatIfModel::kText), Qt::ForegroundRole).isValid();
    EXPECT_EQ(red, !right) << edits;
  }
  EXPECT_GT(n_changed, 0);
}

TEST_F(WhatIfTest, TheButtonOfTheSlotsCardDoesWhatItsKeyDoes) {
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 0);
  const std::string base = lane(4);
  select(token, token, 2);
  window->showPage(MainWindow::Page::inspector);
  ASSERT_TRUE(settle());
  CanvasWidget* canvas = window->canvas("inspector");
  ASSERT_TRUE(waitFor(
      [&] {
        return std::ranges::any_of(canvas->view().marks(), [](const viz::Mark& m) { return m.kind == "button" && m.label == "Evict"; });
      },
      3000));
  const auto button =
      std::ranges::find_if(canvas->view().marks(), [](const viz::Mark& m) { return m.kind == "button" && m.label == "Evict"; });
  QTest::mouseClick(canvas, Qt::LeftButton, {},
                    {static_cast<int>((button->min.x + button->max.x) / 2), static_cast<int>((button->min.y + button->max.y) / 2)});
  ASSERT_TRUE(waitFor([&] { return window->controller().request().lanes.size() == 6; }, 3000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(5), base + "@evict=" + std::to_string(token) + ",step=1");
}

TEST_F(WhatIfTest, MoreEditsGoToTheSameForkAndRowsCanBeSwitchedOff) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  window->model().hand.setScope(HandEdits::Scope::head);
  key("inspector", Qt::Key_P);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_EQ(head(5, 1).pinned, std::vector<int>{token});
  EXPECT_TRUE(head(5, 1, 0, 0).pinned.empty());
  const HeadRecord& before = head(5, 1);
  int gone = 0;
  while (std::ranges::binary_search(before.pos, gone)) ++gone;
  viz::Selection s = window->workspace().selection();
  s.tokens = viz::TokenRange{gone, gone};
  s.step = 2;
  window->workspace().setSelection(s);
  QString words;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& said) { words = said; });
  key("inspector", Qt::Key_R);
  ASSERT_EQ(snapshot().lanes.size(), 6u) << "the same fork";
  EXPECT_TRUE(std::ranges::binary_search(head(5, 1).pos, gone))
      << lane(5) << " after " << panel()->model().index(1, WhatIfModel::kDone).data().toString().toStdString();
  WhatIfModel& model = panel()->model();
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(1, WhatIfModel::kKlLast).data().toString(), "n/a") << "two act together";
  EXPECT_EQ(model.index(1, WhatIfModel::kLocal).data().toString(), "n/a");
  EXPECT_NE(model.index(2, WhatIfModel::kLocal).data().toString(), "n/a") << "of all";
  EXPECT_TRUE(words.contains(", and with 1 other edit: at step ")) << words.toStdString();

  QTableView& table = panel()->table();
  ASSERT_TRUE(table.isVisible());
  const QRect row = table.visualRect(model.index(1, WhatIfModel::kEdit));
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, {row.left() + 9, row.center().y()});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(lane(5).ends_with("on=0")) << lane(5);
  EXPECT_FALSE(std::ranges::binary_search(head(5, 1).pos, gone));
  EXPECT_EQ(model.index(1, WhatIfModel::kDone).data().toString(), "off");
  EXPECT_NE(model.index(0, WhatIfModel::kKlLast).data().toString(), "n/a") << "alone now";
  window->model().hand.dropFork();
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), 5u);
}

/// Edits of one kind on one token and step are told apart.
TEST_F(WhatIfTest, ARowCountsWhatItsOwnEditDid) {
  const int token = keptEverywhere(1);
  ASSERT_GT(token, 0);
  const auto n_heads = static_cast<int>(snapshot().lanes[4].steps[1]->heads.size());
  int some = -1, n_some = 0;  // a token that some heads have
  for (int t = 1; t < snapshot().n_prompt && some < 0; ++t) {
    n_some = static_cast<int>(std::ranges::count_if(snapshot().lanes[4].steps[1]->heads,
                                                    [t](const HeadRecord& h) { return std::ranges::binary_search(h.pos, t); }));
    if (n_some > 0 && n_some < n_heads) some = t;
  }
  ASSERT_GT(some, 0);
  select(token, token, 2);
  key("atlas", Qt::Key_E);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const auto done_of = [this](const std::string& edits) {
    window->controller().setLaneSpec(5, qs(lane(4) + edits));
    EXPECT_TRUE(settle());
    QStringList done;
    for (int row = 0; row + 1 < panel()->model().rowCount(); ++row)
      done << panel()->model().index(row, WhatIfModel::kDone).data().toString();
    return done;
  };
  const QString all = QString("%1 of %1").arg(n_heads), none = QString("0 of %1").arg(n_heads);
  const auto edits = [](const char* form, int t) { return QString(form).arg(t).toStdString(); };
  EXPECT_EQ(done_of(edits("@evict=%1,step=1@restore=%1,step=1@pin=%1,step=1@evict=%1,step=1", some)),
            QStringList({QString("%1 of %2").arg(n_some).arg(n_heads), all, none, all}));
  EXPECT_EQ(done_of(edits("@restore=%1,step=1@evict=%1,step=1@restore=%1,step=1@pin=%1,step=1", token)),
            QStringList({none, all, all, all}));
  EXPECT_EQ(done_of(edits("@evict=%1,step=1,on=0@evict=%1,step=1@evict=%1,step=1", token)), QStringList({"off", all, none}));
}

TEST_F(WhatIfTest, MWaitsForTheTargetAndEscapeGivesUp) {
  const int token = keptEverywhere(1);
  select(token, token, 2);
  key("atlas", Qt::Key_M);
  EXPECT_TRUE(window->model().hand.choosingTarget());
  key("atlas", Qt::Key_Escape);
  EXPECT_FALSE(window->model().hand.choosingTarget());
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  key("atlas", Qt::Key_M);
  window->canvas("atlas")->setFocus();
  select(0, 0, 2);  // as a click on a token does
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const auto& events = head(5, 1).events;
  const auto merged = std::ranges::find_if(events, [](const Event& e) { return e.by_hand; });
  ASSERT_NE(merged, events.end());
  EXPECT_EQ(merged->kind, Event::Kind::merge);
  EXPECT_EQ(merged->pos, token);
  EXPECT_EQ(merged->into, 0);
}

TEST_F(WhatIfTest, TheStepShownSeesTheEditAndTheSentenceTellsWhatItDid) {
  const int last = static_cast<int>(snapshot().lanes[4].steps.size()) - 1;
  const int token = keptEverywhere(last - 1);
  QString words;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& said) { words = said; });
  viz::Selection s = window->workspace().selection();
  s.tokens = viz::TokenRange{token, token};
  s.step.reset();
  window->workspace().setSelection(s);
  key("atlas", Qt::Key_E);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_EQ(static_cast<int>(snapshot().lanes[5].steps.size()), last + 1);
  const StepRecord &with = *snapshot().lanes[5].steps.back(), &without = *snapshot().lanes[4].steps.back();
  EXPECT_NE(with.kl, without.kl);
  EXPECT_THAT(words.toStdString(), ::testing::HasSubstr("after step " + std::to_string(last - 1) + ":"));
  EXPECT_THAT(words.toStdString(),
              ::testing::HasSubstr("KL " + viz::format_number(without.kl) + " → " + viz::format_number(with.kl) + " nats."));
  EXPECT_THAT(words.toStdString(), ::testing::HasSubstr(with.top1 == without.top1 ? "stays" : with.top1_same ? "again" : "becomes"));
}

TEST_F(WhatIfTest, TheSentenceSaysInHowManyHeadsATokenWasThereToBeMerged) {
  const Snapshot& s = snapshot();
  LaneSnapshot fork = s.lanes[4];
  fork.fork_of = 4;
  fork.spec += "@merge=9,into=3,step=0";
  const EditsMade merge = {{.kind = WhatIf::Kind::merge, .step = 0, .heads = {}, .positions = {9}, .into = 3}};
  const std::size_t n_heads = fork.steps[0]->heads.size();
  auto step = std::make_shared<StepRecord>(*fork.steps[0]);
  Event by_hand{.kind = Event::Kind::merge, .pos = 9, .into = 3};
  by_hand.by_hand = true;
  step->heads[2].events.push_back(by_hand);
  fork.steps[0] = step;
  EXPECT_THAT(resultWords(s, fork, merge, 1).toStdString(),
              ::testing::HasSubstr("merged in 1 of " + std::to_string(n_heads) + " heads, after step 0: "));
}

/// What is said of an answer names its step, and a change in a later one is not passed over.
TEST_F(WhatIfTest, TheSentenceIsOfTheFirstStepThatChanges) {
  Snapshot s = snapshot();
  LaneSnapshot fork = s.lanes[4];
  fork.fork_of = 4;
  const EditsMade pin = {{.kind = WhatIf::Kind::pin, .step = -1, .heads = {}, .positions = {3}}};
  const std::string same = resultWords(s, fork, pin, 0).toStdString();
  EXPECT_THAT(same, ::testing::ContainsRegex("^With .* pinned in all heads, from the prompt on: at step 0 the next token stays «.*»; KL"));
  auto step = std::make_shared<StepRecord>(*fork.steps[2]);
  step->top1 = step->top1 == 5 ? 6 : 5;
  step->top1_same = false;
  fork.steps[2] = step;
  EXPECT_THAT(
      resultWords(s, fork, pin, 0).toStdString(),
      ::testing::HasSubstr(": at step 2, the first that changes, the next token becomes " + viz::quoted(viz::text_of_id(s, step->top1))));
  EXPECT_THAT(resultWords(s, fork, pin, 2).toStdString(), ::testing::HasSubstr(": at step 2 the next token becomes"));
  EXPECT_EQ(same.find("step -1"), std::string::npos);
  EXPECT_FALSE(madeWords(s.tokens, pin).contains("-1")) << madeWords(s.tokens, pin).toStdString();
}

TEST_F(WhatIfTest, WhileTheTextIsReadThereIsNoAnswerToCompare) {
  evictInAFork();
  ASSERT_FALSE(panel()->answer().isEmpty());
  auto reading = std::make_shared<Snapshot>(snapshot());
  for (LaneSnapshot& lane : reading->lanes)
    for (StepPtr& step : lane.steps) {
      auto unread = std::make_shared<StepRecord>(*step);
      unread->top1 = unread->top1_reference = -1;
      unread->top_tokens.clear();
      step = unread;
    }
  window->workspace().setSnapshot(reading);
  EXPECT_EQ(panel()->answer(), "");
}

TEST_F(WhatIfTest, AForkWhoseBudgetWasMovedSaysThatNothingStandsBesideIt) {
  evictInAFork();
  ASSERT_EQ(snapshot().lanes[5].fork_of, 4);
  const auto help = [&](int row, int column) { return panel()->model().index(row, column).data(Qt::ToolTipRole).toString().toStdString(); };
  EXPECT_NE(help(0, WhatIfModel::kLocal), WhatIfModel::kAlone);
  window->model().hand.setBudget(5, 0, 0, 5);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes[5].fork_of, -1) << lane(5);
  EXPECT_EQ(panel()->answer(), WhatIfModel::kAlone);
  for (const int column : {WhatIfModel::kKlLast, WhatIfModel::kKlMean, WhatIfModel::kLocal, WhatIfModel::kText}) {
    EXPECT_EQ(help(0, column), WhatIfModel::kAlone);
    EXPECT_EQ(help(1, column), WhatIfModel::kAlone);
  }
  EXPECT_NE(help(0, WhatIfModel::kDone), WhatIfModel::kAlone) << "what was done is known";
}

TEST_F(WhatIfTest, WhereTheStepShownCannotSeeAnEditTheNextOneIsShown) {
  const int token = keptEverywhere(0);
  QString words;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& said) { words += said; });
  select(token, token, 0);
  key("atlas", Qt::Key_E);
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  EXPECT_TRUE(lane(5).ends_with(",step=0")) << lane(5);
  EXPECT_EQ(window->workspace().step(), 1);
  EXPECT_TRUE(words.contains("Step 0 was computed before that: step 1 is the first to see it.")) << words.toStdString();
}

TEST_F(WhatIfTest, ALetterInTheEditorIsALetter) {
  select(3, 3, 1);
  PromptEditor* editor = &window->work().prompt().editor();
  editor->setFocus();
  const QString before = editor->toPlainText();
  QTest::keyClick(editor, Qt::Key_E);
  ASSERT_TRUE(settle());
  EXPECT_EQ(editor->toPlainText().size(), before.size() + 1);
  EXPECT_EQ(snapshot().lanes.size(), 5u);
}

TEST_F(WhatIfTest, EscapeLeavesTheTextAndThenTheKeysHold) {
  select(3, 3, 1);
  PromptPanel& prompt = window->work().prompt();
  const QString before = prompt.editor().exactText();
  const auto evict = [this]() -> QAction* {
    for (QAction* a : window->findChildren<QAction*>())
      if (a->text().startsWith("&Evict the selected")) return a;
    return nullptr;
  };
  ASSERT_NE(evict(), nullptr);
  EXPECT_TRUE(evict()->text().endsWith("\tE"));
  prompt.editor().setFocus();
  EXPECT_THAT(prompt.facts().toStdString(), ::testing::StartsWith("writing, Esc leaves"));
  EXPECT_TRUE(evict()->text().endsWith("\tEsc, E")) << "the menu of the text prints the keys that hold there";
  QTest::keyClick(&prompt.editor(), Qt::Key_Escape);
  EXPECT_EQ(QApplication::focusWidget(), window->canvas("atlas"));
  EXPECT_FALSE(prompt.facts().startsWith("writing"));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_E);
  ASSERT_TRUE(settle());
  EXPECT_EQ(prompt.editor().exactText(), before);
  EXPECT_EQ(snapshot().lanes.size(), 6u);
}

TEST_F(WhatIfTest, RightIsAStepAfterAClickOnAButtonOfThePanel) {
  select(3, 3, 1);
  auto* pin = [this] {
    for (QToolButton* b : panel()->findChildren<QToolButton*>())
      if (b->text() == "Pin") return b;
    return static_cast<QToolButton*>(nullptr);
  }();
  ASSERT_NE(pin, nullptr);
  pin->setFocus();
  QTest::keyClick(pin, Qt::Key_Right);
  EXPECT_EQ(window->workspace().step(), 2);
}

TEST_F(WhatIfTest, TheCutoffLineIsTheBudgetOfItsHead) {
  const std::string base = lane(4);
  select(3, 3, 0);
  press(Qt::Key_2, Qt::AltModifier);
  ASSERT_TRUE(settle());
  CanvasWidget* inspector = window->canvas("inspector");
  const auto cutoff = [&]() -> const viz::Mark* {
    for (const viz::Mark& m : inspector->view().marks())
      if (m.kind == "cutoff") return &m;
    return nullptr;
  };
  ASSERT_NE(cutoff(), nullptr);
  const QPoint from(static_cast<int>((cutoff()->min.x + cutoff()->max.x) / 2), static_cast<int>((cutoff()->min.y + cutoff()->max.y) / 2));
  const int budget = head(4, 0).budget;
  QTest::mouseMove(inspector, from);
  QTest::qWait(50);
  QTest::mousePress(inspector, Qt::LeftButton, {}, from);
  QTest::qWait(50);
  for (int y = 10; y <= 60; y += 10) {
    QTest::mouseMove(inspector, from - QPoint(0, y));
    QTest::qWait(30);
  }
  EXPECT_EQ(lane(4), base) << "a preview so far";
  QTest::mouseRelease(inspector, Qt::LeftButton, {}, from - QPoint(0, 60));
  QTest::qWait(100);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(lane(4).starts_with(base + "@slots=")) << lane(4);
  EXPECT_TRUE(lane(4).ends_with(",layers=2,heads=1")) << lane(4);
  EXPECT_TRUE(head(4, 0).overridden);
  EXPECT_LT(head(4, 0).budget, budget) << "a higher line keeps fewer";
  EXPECT_FALSE(head(4, 0, 0, 0).overridden);
  window->model().hand.setBudget(4, 2, 1, std::nullopt);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), base);
}

TEST_F(WhatIfTest, TheContextMenuOfACanvasOffersTheEdits) {
  select(3, 3, 1);
  CanvasWidget* atlas = window->canvas("atlas");
  QContextMenuEvent event(QContextMenuEvent::Mouse, {50, 50}, atlas->mapToGlobal(QPoint(50, 50)));
  QApplication::sendEvent(atlas, &event);
  auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
  ASSERT_NE(menu, nullptr);
  ASSERT_GE(menu->actions().size(), 8);
  EXPECT_TRUE(menu->actions()[1]->text().startsWith("&Evict"));
  EXPECT_TRUE(menu->actions()[1]->isEnabled());
  menu->close();
}

TEST_F(WhatIfTest, TheContextMenuOfACanvasMeansTheTokenUnderTheMouse) {
  CanvasWidget* atlas = window->canvas("atlas");
  const auto ask = [&](int dx) {
    const QPoint at(atlas->width() / 2 + dx, atlas->height() / 3);
    for (const QPoint& to : {QPoint(4, 4), atlas->mapTo(window.get(), at)}) {
      QCursor::setPos(window->mapToGlobal(to));
      QTest::mouseMove(window->windowHandle(), to);
    }
    EXPECT_TRUE(waitFor([&] { return window->workspace().hover().token && window->workspace().hover().kv_head; }, 3000)) << dx;
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, atlas->mapToGlobal(at));
    QApplication::sendEvent(atlas, &event);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    EXPECT_TRUE(std::ranges::any_of(menu->actions(), [](const QAction* a) { return a->text().startsWith("&Evict") && a->isEnabled(); }));
    QTest::keyClick(menu, Qt::Key_Escape);
  };
  viz::Selection s = window->workspace().selection();
  s.lane = 4;
  s.tokens.reset();
  window->workspace().setSelection(s);
  ask(0);
  const auto& selection = window->workspace().selection();
  ASSERT_TRUE(selection.tokens.has_value() && selection.layer && selection.kv_head);
  const viz::TokenRange one = *selection.tokens;
  EXPECT_EQ(one.first, one.last);
  s = selection;
  s.select({std::max(0, one.first - 3), one.last + 3});
  window->workspace().setSelection(s);
  ask(1);
  EXPECT_EQ(selection.tokens, s.tokens) << "one of those selected: they all are meant";
}

TEST_F(WhatIfTest, AfterAContextMenuTheMouseLeavesACanvasAsEver) {
  CanvasWidget* atlas = window->canvas("atlas");
  const QPoint cell = atlas->mapTo(window.get(), atlas->rect().center());
  const auto move = [&](const QPoint& to) {
    QCursor::setPos(window->mapToGlobal(to));  // a menu that closes asks the X server where its pointer is
    QTest::mouseMove(window->windowHandle(), to);
  };
  move(cell);
  ASSERT_TRUE(waitFor([&] { return window->workspace().hover().token.has_value(); }, 3000));
  QTest::mouseClick(window->windowHandle(), Qt::RightButton, {}, cell);
  QWidget* menu = QApplication::activePopupWidget();
  ASSERT_NE(menu, nullptr);
  QTest::keyClick(menu, Qt::Key_Escape);
  move(cell + QPoint(1, 0));
  ASSERT_TRUE(waitFor([&] { return window->workspace().hover().token.has_value(); }, 3000));
  move({4, 4});
  EXPECT_TRUE(waitFor([&] { return !window->workspace().hover().token.has_value(); }, 3000)) << "no button is thought to be down";
}

TEST_F(WhatIfTest, TheContextMenuOfATextMeansTheTokenUnderTheMouse) {
  select(3, 3, 1);
  auto* editor = window->panel("prompt")->content()->findChild<PromptEditor*>();
  ASSERT_FALSE(editor->rectsOf(5).empty());
  const auto ask = [&](int token) {
    const QPoint place = editor->rectsOf(token).front().center().toPoint();
    QContextMenuEvent event(QContextMenuEvent::Mouse, place, editor->viewport()->mapToGlobal(place));
    QApplication::sendEvent(editor->viewport(), &event);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    EXPECT_EQ(menu->actions().back()->text(), "Change by &hand");
    menu->close();
  };
  ask(5);
  EXPECT_EQ(window->workspace().selection().tokens, (viz::TokenRange{5, 5}));
  select(3, 6, 1);
  ask(5);
  EXPECT_EQ(window->workspace().selection().tokens, (viz::TokenRange{3, 6})) << "one of those selected: they all are meant";
}

}  // namespace
}  // namespace kvscope
