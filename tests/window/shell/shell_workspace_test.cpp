// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/workspace.h"

#include <gtest/gtest.h>
#include <QSignalSpy>

#include "viz/synthetic.h"

namespace kvscope {
namespace {

SnapshotPtr share(Snapshot snapshot) { return std::make_shared<const Snapshot>(std::move(snapshot)); }

class WorkspaceTest : public ::testing::Test {
 protected:
  WorkspaceTest() { workspace.setSnapshot(share(run)); }
  Snapshot run = synthetic::make_snapshot();  // 4 lanes, 6 x 4 heads, 167 + 12 tokens
  Workspace workspace;
};

TEST_F(WorkspaceTest, ShowsTheLatestStepUntilOneIsChosen) {
  const int last = static_cast<int>(run.lanes[0].steps.size()) - 1;
  EXPECT_EQ(workspace.step(), last);
  EXPECT_TRUE(workspace.atLatestStep());
  viz::Selection selection;
  selection.step = 2;
  workspace.setSelection(selection);
  EXPECT_EQ(workspace.step(), 2);
  EXPECT_FALSE(workspace.atLatestStep());
  EXPECT_EQ(workspace.stepRecord()->step, 2);
}

TEST_F(WorkspaceTest, ClampsASelectionToWhatExists) {
  viz::Selection wild;
  wild.lane = 99;
  wild.layer = 6;  // layers 0 to 5
  wild.kv_head = 1;
  wild.tokens = viz::TokenRange{170, 9999};
  wild.slot = -3;
  wild.step = 1000000;
  workspace.setSelection(wild);
  const viz::Selection& s = workspace.selection();
  EXPECT_EQ(s.lane, 3);
  EXPECT_FALSE(s.layer);
  EXPECT_FALSE(s.kv_head) << "a head without its layer means nothing";
  EXPECT_EQ(s.tokens, (viz::TokenRange{170, static_cast<int>(run.tokens.size()) - 1}));
  EXPECT_FALSE(s.slot);
  EXPECT_FALSE(s.step);
}

TEST_F(WorkspaceTest, KeepsSelectedTokensWhileTheTextBeforeThemIsTheSame) {
  viz::Selection selection;
  selection.tokens = viz::TokenRange{10, 12};
  workspace.setSelection(selection);
  Snapshot later = run;
  later.tokens[13].id += 1;
  workspace.setSnapshot(share(later));
  EXPECT_EQ(workspace.selection().tokens, (viz::TokenRange{10, 12}));
}

TEST_F(WorkspaceTest, DropsSelectedTokensThatAreNoLongerTheSameText) {
  viz::Selection selection;
  selection.tokens = viz::TokenRange{10, 12};
  selection.slot = 11;
  workspace.setSelection(selection);
  Snapshot edited = run;
  edited.tokens[5].id += 1;
  workspace.setSnapshot(share(edited));
  EXPECT_FALSE(workspace.selection().tokens);
  EXPECT_FALSE(workspace.selection().slot);
}

TEST_F(WorkspaceTest, FollowsTheSelectedRunWhenOneBeforeItIsRemoved) {
  viz::Selection selection;
  selection.lane = 3;
  workspace.setSelection(selection);
  Snapshot fewer = run;
  const std::string spec = fewer.lanes[3].spec;
  fewer.lanes.erase(fewer.lanes.begin() + 1);
  workspace.setSnapshot(share(fewer));
  EXPECT_EQ(workspace.selection().lane, 2);
  EXPECT_EQ(workspace.lane()->spec, spec);
}

TEST_F(WorkspaceTest, FollowsTheSelectedRunAmongRunsThatAreTheSame) {
  run.lanes.push_back(run.lanes[3]);
  workspace.setSnapshot(share(run));
  for (const int looked_at : {3, 4}) {
    viz::Selection selection;
    selection.lane = looked_at;
    workspace.setSelection(selection);
    Snapshot fewer = run;
    fewer.lanes.erase(fewer.lanes.begin() + 1);
    workspace.setSnapshot(share(fewer));
    EXPECT_EQ(workspace.selection().lane, looked_at - 1);
    workspace.setSnapshot(share(run));
    EXPECT_EQ(workspace.selection().lane, looked_at) << "and when it comes back";
  }
}

TEST_F(WorkspaceTest, StaysOnARunWhoseBudgetIsEdited) {
  viz::Selection selection;
  selection.lane = 2;
  workspace.setSelection(selection);
  Snapshot edited = run;
  edited.lanes[2].spec += ",slots=7";
  workspace.setSnapshot(share(edited));
  EXPECT_EQ(workspace.selection().lane, 2);
}

TEST_F(WorkspaceTest, KeepsTheStepWhileARunIsComputedAgainInParts) {
  viz::Selection selection;
  selection.step = 2;
  workspace.setSelection(selection);
  Snapshot part = run;
  part.phase = RunPhase::computing;
  for (LaneSnapshot& lane : part.lanes) lane.steps.resize(1);
  workspace.setSnapshot(share(part));
  EXPECT_EQ(workspace.step(), 0) << "what there is so far";
  workspace.setSnapshot(share(run));
  EXPECT_EQ(workspace.step(), 2);
  part.phase = RunPhase::idle;
  workspace.setSnapshot(share(part));
  EXPECT_FALSE(workspace.selection().step) << "the run ended before that step";
}

TEST_F(WorkspaceTest, SaysNothingWhenNothingChanges) {
  QSignalSpy selected(&workspace, &Workspace::selectionChanged), hovered(&workspace, &Workspace::hoverChanged),
      themed(&workspace, &Workspace::themeChanged), published(&workspace, &Workspace::snapshotChanged);
  workspace.setSelection(workspace.selection());
  workspace.setHover(workspace.hover());
  workspace.setTheme(workspace.theme());
  workspace.setSnapshot(workspace.snapshotPtr());
  workspace.setSnapshot(nullptr);
  EXPECT_EQ(selected.count() + hovered.count() + themed.count() + published.count(), 0);
}

TEST(EmptyWorkspaceTest, HasNoLaneNoStepAndIsNeverNull) {
  Workspace workspace;
  EXPECT_EQ(workspace.lane(), nullptr);
  EXPECT_EQ(workspace.step(), -1);
  EXPECT_EQ(workspace.stepRecord(), nullptr);
  EXPECT_TRUE(workspace.snapshot().lanes.empty());
}

}  // namespace
}  // namespace kvscope
