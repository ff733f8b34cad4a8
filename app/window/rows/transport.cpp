// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/transport.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QPushButton>
#include <QToolButton>

#include "app/window/look/restyle.h"
#include "app/window/rows/playback.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel.h"

namespace kvscope {

Transport::Transport(Panel& panel, Workspace& workspace, Playback& playback)
    : m_workspace(workspace), m_playback(playback), m_speed(new QComboBox(this)), m_clock(new QPushButton(this)) {
  const auto add = [&](Icon which, const QString& help, auto run) {
    QToolButton* button = panel.addButton(which, help);
    connect(button, &QToolButton::clicked, &playback, run);
    return button;
  };
  add(Icon::first, "First step (Home)", [&playback] { playback.goTo(0); });
  add(Icon::left, "One step back (Left; Shift+Left: ten)", [&playback] { playback.stepBy(-1); });
  QToolButton* play = add(Icon::playLine, "Play the steps (Space)", [&playback] { playback.toggle(); });
  add(Icon::right, "One step forward (Right; Shift+Right: ten)", [&playback] { playback.stepBy(1); });
  add(Icon::last, "Latest step (End)", [&playback] { playback.goTo(-1); });
  connect(&playback, &Playback::playingChanged, this, [&panel, play](bool on) {
    panel.setButtonIcon(play, on ? Icon::pause : Icon::playLine);
    const QString help = on ? "Pause (Space)" : "Play the steps (Space)";
    play->setToolTip(help);
    play->setAccessibleName(help);
  });

  m_speed->setObjectName("header");
  m_speed->setToolTip("Steps a second while playing (Ctrl+Up, Ctrl+Down)");
  m_speed->setAccessibleName("Speed of play");
  m_speed->setFixedHeight(22);
  for (std::size_t i = 0; i < Playback::kSpeeds.size(); ++i) m_speed->addItem(Playback::speedName(static_cast<int>(i)) + " /s");
  connect(m_speed, &QComboBox::activated, &playback, &Playback::setSpeed);
  m_clock->setFixedHeight(22);
  m_clock->setObjectName("chipNow");
  connect(m_clock, &QPushButton::clicked, &playback, [&playback] { playback.goTo(-1); });

  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(4, 0, 0, 0);
  row->setSpacing(6);
  row->addWidget(m_speed);
  row->addWidget(m_clock);
  panel.addLeading(this);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, &Transport::refresh);
  connect(&playback, &Playback::speedChanged, this, &Transport::refresh);
  refresh();
}

void Transport::offerSpeed(bool on) { m_speed->setVisible(on); }

void Transport::refresh() {
  m_speed->setCurrentIndex(m_playback.speed());
  const QString clock = m_playback.clock();
  const bool now = m_workspace.atLatestStep();
  m_clock->setVisible(!clock.isEmpty());
  m_clock->setText(clock);
  m_clock->setToolTip(now ? "All views show the latest step and follow new ones"
                          : "All views show an older step: click for the latest (End)");
  m_clock->setAccessibleName(clock);
  const QString look = now ? "chipNow" : "chipActive";
  if (m_clock->objectName() == look) return;
  m_clock->setObjectName(look);
  restyle(*m_clock);
}

}  // namespace kvscope
