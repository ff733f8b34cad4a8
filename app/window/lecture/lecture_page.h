// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QFrame>
#include <QLabel>

#include "app/lessons/lesson.h"
#include "viz/selection.h"

class QBoxLayout;
class QGridLayout;

namespace kvscope {

class CanvasWidget;
class CategoryLegend;
class ElidedLabel;
class LectureAnswer;
class LectureBars;
class LectureMemory;
class PromptEditor;
class PromptPanel;
class SessionController;
class Workspace;

/// One of the four panels of a lecture: a title with a few words beside it, and one thought below.
class LecturePanel : public QFrame {
  Q_OBJECT

 public:
  LecturePanel(const QString& title, const QString& facts, QWidget* content, QWidget* parent = nullptr);
  /// `shorter`: where the controls beside it need the room.
  void setTitle(const QString& title, const QString& shorter = {});
  void setFacts(const QString& facts);
  QString title() const { return m_title->text(); }
  QString facts() const;
  /// At the right of the title; becomes a child.
  void addControl(QWidget* control);
  /// The title's line is as high as a control from now on: what stands below does not move when one comes and goes.
  void makeRoomForControls();

 protected:
  bool event(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void applyType();
  void fitTitle();

  QStringList m_titles;  // as it should be, and where there is less room
  QLabel* m_title;
  ElidedLabel* m_facts;
  bool m_applying = false, m_roomy = false;
};

/// Layout Lecture: the text, all heads, where one head looks, the next token. Everything follows its own font, which is 1.6 times the
/// usual.
class LecturePage : public QWidget {
  Q_OBJECT

 public:
  /// `atlas` becomes a child.
  LecturePage(Workspace& workspace, SessionController& controller, CanvasWidget* atlas, QWidget* parent = nullptr);
  PromptPanel& prompt() { return *m_prompt; }
  LectureBars& attention() { return *m_attention; }
  LectureBars& next() { return *m_next; }
  LecturePanel& textPanel() { return *m_text_panel; }
  LecturePanel& nextPanel() { return *m_next_panel; }
  LecturePanel& atlasPanel() { return *m_atlas_panel; }
  /// What a cache takes in known models, in place of the four panels.
  void showMemory(bool on);
  LectureMemory& memory() { return *m_memory; }
  /// The panel that the scene speaks of is framed; the budget stands in the row above.
  void setMarked(std::optional<Scene::Part> part);
  /// The scene before was about this head, and now it is another one.
  void setHeadBefore(const std::optional<viz::Selection>& head);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void placeMemory();
  void makeRoomForBars();
  void applyType();
  QString nextFacts() const;

  Workspace& m_workspace;
  PromptPanel* m_prompt;
  LectureBars *m_attention, *m_next;
  LecturePanel *m_text_panel, *m_atlas_panel, *m_attention_panel, *m_next_panel;
  LectureMemory* m_memory = nullptr;
  LecturePanel* m_memory_panel = nullptr;
  QGridLayout* m_grid;
  std::optional<viz::Selection> m_head_before;
  bool m_applying = false;
};

}  // namespace kvscope
