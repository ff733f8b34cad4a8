// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QComboBox;
class QPushButton;
class QToolButton;

namespace kvscope {

class Panel;
class Playback;
class Workspace;

/// Controls of time in the header of the timeline: first, back, play, forward, latest, speed, and a clock that leads to the latest step.
class Transport : public QWidget {
  Q_OBJECT

 public:
  Transport(Panel& panel, Workspace& workspace, Playback& playback);

  QComboBox* speedBox() const { return m_speed; }
  /// Whether there is room for the list of speeds; its keys are always there.
  void offerSpeed(bool on);
  QPushButton* clock() const { return m_clock; }

 private:
  void refresh();

  Workspace& m_workspace;
  Playback& m_playback;
  QComboBox* m_speed;
  QPushButton* m_clock;
};

}  // namespace kvscope
