// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/time_menu.h"

#include <QAction>
#include <QActionGroup>
#include <QMenu>

#include "app/window/commands/command_table.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/panels.h"

namespace kvscope {

namespace {

void fillSpeeds(Commands& commands, QMenu* menu, Playback& playback) {
  auto* group = new QActionGroup(&commands.window());
  for (int i = 0; i < static_cast<int>(Playback::kSpeeds.size()); ++i) {
    const QString text = "Play " + Playback::speedName(i) + (i > 2 ? " steps a second" : " step a second");
    QAction* speed = commands.choice(menu, group, {text, {}, [&playback, i] { playback.setSpeed(i); }}, i == playback.speed());
    QObject::connect(&playback, &Playback::speedChanged, speed, [speed, i](int now) { speed->setChecked(now == i); });
  }
  commands.add(menu, {{"Play &faster", {Qt::CTRL | Qt::Key_Up}, [&playback] { playback.setSpeed(playback.speed() + 1); }},
                      {"Play &slower", {Qt::CTRL | Qt::Key_Down}, [&playback] { playback.setSpeed(playback.speed() - 1); }}});
}

/// The shown step becomes the first or the last of those that count.
void setEdge(Workspace& workspace, bool first) {
  const int step = workspace.step(), last = workspace.lane() ? static_cast<int>(workspace.lane()->steps.size()) - 1 : -1;
  if (step < 0) return;
  viz::StepRange range = workspace.selection().steps.value_or(viz::StepRange{0, last});
  (first ? range.first : range.last) = step;
  if (range.first > range.last) (first ? range.last : range.first) = first ? last : 0;
  limitSteps(workspace, range);
}

}  // namespace

void fillTimeMenu(Commands& commands, QMenu* menu, WindowModel& model) {
  Playback& playback = model.playback;
  Workspace& workspace = model.workspace;
  QAction* play = commands.add(
      menu,
      {"&Play the steps", {Qt::Key_F8}, [&playback] { playback.toggle(); }, "Also Space, but in a lecture, where it is the next scene"});
  play->setCheckable(true);
  QObject::connect(&playback, &Playback::playingChanged, play, &QAction::setChecked);
  fillSpeeds(commands, menu->addMenu("Sp&eed of play"), playback);
  const auto by = [&playback](int steps) { return [&playback, steps] { playback.stepBy(steps); }; };
  const auto to = [&playback](int step) { return [&playback, step] { playback.goTo(step); }; };
  const auto edge = [&workspace](bool first) { return [&workspace, first] { setEdge(workspace, first); }; };
  const QString brush =
      "All statistics count the steps of the range only; or drag along the step numbers of the timeline, or drag with Shift";
  commands.add(
      menu,
      {{"Step &back", {Qt::CTRL | Qt::Key_Left}, by(-1), "Also the left arrow, where no cell cursor takes it"},
       {"Step &forward", {Qt::CTRL | Qt::Key_Right}, by(1), "Also the right arrow, where no cell cursor takes it"},
       {"&Ten steps back", {Qt::CTRL | Qt::Key_PageUp}, by(-10), "Also Shift with the left arrow"},
       {"Te&n steps forward", {Qt::CTRL | Qt::Key_PageDown}, by(10), "Also Shift with the right arrow"},
       {"F&irst step", {Qt::CTRL | Qt::Key_Home}, to(0), "Also Home"},
       {"Next &difference",
        {Qt::Key_F4},
        [&model] { model.difference.next(); },
        "The next step whose most likely token is not the full cache's; behind the last one the first again"},
       {"Pre&vious difference", {Qt::SHIFT | Qt::Key_F4}, [&model] { model.difference.previous(); }},
       {"What &would have saved the answer?",
        {},
        [&model] { model.breaks.ask(); },
        "Searches the lowest budget at which each run still says the full cache's token in this step, and in all, by runs beside those on screen",
        {"What saves it?", "Measure the lowest budgets"}},
       {"&Latest step", {Qt::CTRL | Qt::Key_End}, to(-1), "Also End; new steps are followed"},
       {},
       {"Co&unt from this step on", {Qt::CTRL | Qt::Key_BracketLeft}, edge(true), brush},
       {"Count up t&o this step", {Qt::CTRL | Qt::Key_BracketRight}, edge(false), brush},
       {"Count &all steps", {Qt::CTRL | Qt::Key_Backslash}, [&workspace] { limitSteps(workspace, std::nullopt); }, "Also Esc"}});
}

}  // namespace kvscope
