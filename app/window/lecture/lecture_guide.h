// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QObject>

#include "app/window/lecture/lecture_scenes.h"
#include "viz/selection.h"

namespace kvscope {

class Workspace;

/// Leads through the scenes: emphasis, where to look, and the caption with the numbers of what is on the screen. UI thread only.
class LectureGuide : public QObject {
  Q_OBJECT

 public:
  explicit LectureGuide(Workspace& workspace, QObject* parent = nullptr);

  const QList<Scene>& scenes() const { return m_scenes; }
  void setScenes(const QList<Scene>& scenes);
  bool running() const { return m_running; }
  int scene() const { return m_scene; }
  Caption caption() const;

 public Q_SLOTS:
  /// Only a running guide emphasises anything; it takes back what it changed when it stops.
  void run(bool on);
  void goTo(int scene);  // clamped
  void goTo(const QString& id);
  void next() { goTo(m_scene + 1); }
  void previous() { goTo(m_scene - 1); }

 Q_SIGNALS:
  void sceneChanged();
  void captionChanged();

 private:
  void look();
  void comeBack();
  std::optional<viz::Selection> merging() const;

  Workspace& m_workspace;
  QList<Scene> m_scenes;
  int m_scene = 0;
  bool m_running = false;
  std::optional<viz::Selection> m_before, m_shown;  // what was looked at before this scene led elsewhere, and where it led
};

}  // namespace kvscope
