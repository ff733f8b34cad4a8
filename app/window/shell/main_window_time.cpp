// SPDX-License-Identifier: Apache-2.0
// Commands that move through the steps.
#include <QAction>
#include <QActionGroup>
#include <QMenu>

#include "app/window/shell/main_window.h"

namespace kvscope {

void MainWindow::buildTimeMenu(QMenu* menu) {
  QAction* play = action(menu, "&Play the steps\tSpace", {}, [this] { m_playback.toggle(); });
  play->setCheckable(true);
  connect(&m_playback, &Playback::playingChanged, play, &QAction::setChecked);
  QMenu* speeds = menu->addMenu("Sp&eed of play");
  auto* group = new QActionGroup(this);
  for (int i = 0; i < static_cast<int>(Playback::kSpeeds.size()); ++i) {
    QAction* speed = action(speeds, "Play " + Playback::speedName(i) + (i > 2 ? " steps a second" : " step a second"), {},
                            [this, i] { m_playback.setSpeed(i); });
    speed->setCheckable(true);
    speed->setChecked(i == m_playback.speed());
    group->addAction(speed);
    connect(&m_playback, &Playback::speedChanged, speed, [speed, i](int now) { speed->setChecked(now == i); });
  }
  action(speeds, "Play &faster", {QKeySequence(Qt::CTRL | Qt::Key_Up)}, [this] { m_playback.setSpeed(m_playback.speed() + 1); });
  action(speeds, "Play &slower", {QKeySequence(Qt::CTRL | Qt::Key_Down)}, [this] { m_playback.setSpeed(m_playback.speed() - 1); });
  const auto move = [&](const QString& text, const QKeySequence& key, const QString& help, std::function<void()> run) {
    action(menu, text, {key}, std::move(run))->setToolTip(help);
  };
  move("Step &back", QKeySequence(Qt::CTRL | Qt::Key_Left), "Also the left arrow, where no cell cursor takes it", [this] { m_playback.stepBy(-1); });
  move("Step &forward", QKeySequence(Qt::CTRL | Qt::Key_Right), "Also the right arrow, where no cell cursor takes it",
       [this] { m_playback.stepBy(1); });
  move("&Ten steps back", QKeySequence(Qt::CTRL | Qt::Key_PageUp), "Also Shift with the left arrow", [this] { m_playback.stepBy(-10); });
  move("Te&n steps forward", QKeySequence(Qt::CTRL | Qt::Key_PageDown), "Also Shift with the right arrow", [this] { m_playback.stepBy(10); });
  move("F&irst step", QKeySequence(Qt::CTRL | Qt::Key_Home), "Also Home", [this] { m_playback.goTo(0); });
  move("&Latest step", QKeySequence(Qt::CTRL | Qt::Key_End), "Also End; new steps are followed", [this] { m_playback.goTo(-1); });
  menu->addSeparator();
  const auto edge = [this](bool first) {
    const int step = m_workspace.step(), last = m_workspace.lane() ? static_cast<int>(m_workspace.lane()->steps.size()) - 1 : -1;
    if (step < 0) return;
    viz::StepRange range = m_workspace.selection().steps.value_or(viz::StepRange{0, last});
    (first ? range.first : range.last) = step;
    if (range.first > range.last) (first ? range.last : range.first) = first ? last : 0;
    limitSteps(range);
  };
  const QString brush = "All statistics count the steps of the range only; or drag along the step numbers of the timeline, or drag with Shift";
  action(menu, "Co&unt from this step on", {QKeySequence(Qt::CTRL | Qt::Key_BracketLeft)}, [edge] { edge(true); })->setToolTip(brush);
  action(menu, "Count up t&o this step", {QKeySequence(Qt::CTRL | Qt::Key_BracketRight)}, [edge] { edge(false); })->setToolTip(brush);
  action(menu, "Count &all steps", {QKeySequence(Qt::CTRL | Qt::Key_Backslash)}, [this] { limitSteps(std::nullopt); })->setToolTip("Also Esc");
}

void MainWindow::limitSteps(const std::optional<viz::StepRange>& steps) {
  viz::Selection selection = m_workspace.selection();
  selection.steps = steps;
  m_workspace.setSelection(selection);
}

}  // namespace kvscope
