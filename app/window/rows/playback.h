// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <QObject>
#include <QString>
#include <QTimer>

namespace kvscope {

class Workspace;

/// Moves the shown step: by hand, or by itself at some steps a second. While more is being generated, play waits at the latest step for the
/// next one; else it stops there. UI thread only.
class Playback : public QObject {
  Q_OBJECT

 public:
  /// Steps a second.
  static constexpr std::array<double, 6> kSpeeds = {0.25, 0.5, 1, 2, 4, 8};

  explicit Playback(Workspace& workspace, QObject* parent = nullptr);

  bool playing() const { return m_timer.isActive(); }
  int speed() const { return m_speed; }  // index into kSpeeds
  /// "¼", "½", "1", ...
  static QString speedName(int index);
  /// "now" at the latest step, else "step 41 of 128"; empty without steps.
  QString clock() const;

 public Q_SLOTS:
  void stepBy(int steps);  // stays within the steps there are
  void goTo(int step);     // negative or the last: the latest, followed from then on
  void play(bool on);      // from the latest step, or where the picture rests: begins anew
  void toggle() { play(!playing()); }
  void setSpeed(int index);
  void setRest(int step) { m_rest = step; }  // negative: nowhere but at the latest step

 Q_SIGNALS:
  void playingChanged(bool on);
  void speedChanged(int index);

 private:
  void tick();

  Workspace& m_workspace;
  QTimer m_timer;
  int m_speed = 3, m_rest = -1;
};

}  // namespace kvscope
