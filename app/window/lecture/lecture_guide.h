// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QObject>
#include <QString>
#include <QStringList>

#include "app/lessons/lesson.h"
#include "viz/selection.h"

namespace kvscope {

class LessonStage;
class Workspace;

/// Leads through the scenes of a lesson: what is on stage, emphasis, where to look, and the caption with the numbers of what is on the
/// screen. UI thread only.
class LectureGuide : public QObject {
  Q_OBJECT

 public:
  LectureGuide(Workspace& workspace, LessonStage& stage, QObject* parent = nullptr);

  const Lesson& lesson() const { return m_lesson; }
  const std::vector<Scene>& scenes() const { return m_lesson.scenes; }
  void setLesson(const Lesson& lesson);  // at its first scene
  bool running() const { return m_running; }
  int scene() const { return m_scene; }
  int nScenes() const { return static_cast<int>(scenes().size()); }
  const Scene& at(int scene) const { return scenes()[static_cast<std::size_t>(scene)]; }
  /// The one that is shown, or comes; nullptr: a lesson without scenes.
  const Scene* current() const { return m_scene < nScenes() ? &at(m_scene) : nullptr; }
  Caption caption() const;
  /// The head that the scene before looked at, where this scene has led to another one and that is still on the screen.
  std::optional<viz::Selection> headBefore() const;
  /// In place of the caption: why the selected token is gone from the head, or still there; as long as nothing else is selected. Asked
  /// again: the caption. False: no token is selected.
  bool askWhy();
  /// The caption of the scene again; false: it is there.
  bool endWhy();
  /// The scene is not on the screen yet.
  bool waiting() const { return m_running && !m_arrived; }

 public Q_SLOTS:
  /// Only a running guide emphasises anything; it takes back what it changed when it stops.
  void run(bool on);
  void goTo(int scene);  // clamped; the scene that was asked for, whether it has a point or not
  void goTo(const QString& id);
  void next() { page(1); }
  void previous() { page(-1); }

 Q_SIGNALS:
  void lessonChanged();
  void sceneChanged();
  void captionChanged();
  /// Paging has come to an end of the lesson: 1 the last scene, -1 the first.
  void pastEnd(int by);
  /// The scene is on the screen.
  void arrived();
  /// Paging passed scenes by that have nothing to show here: which, and what is missing.
  void leftOut(const QString& words);

 private:
  void takeSnapshot();
  void page(int by);
  void enter(int scene, int direction);
  void arrive();
  void look();
  void lookAgain();
  void comeBack();

  Workspace& m_workspace;
  LessonStage& m_stage;
  Lesson m_lesson;
  int m_scene = 0, m_direction = 0;
  bool m_running = false, m_arrived = false;
  QStringList m_left_out;
  std::optional<viz::Selection> m_asked;            // of what it is said why
  std::string m_text;                               // that was looked at
  std::optional<viz::Selection> m_former, m_led;    // what was on the screen of the scene before, and where this one began
  std::optional<viz::Selection> m_before, m_shown;  // what was looked at before this scene led elsewhere, and where it led
};

}  // namespace kvscope
