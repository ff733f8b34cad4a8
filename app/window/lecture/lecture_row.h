// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QFrame>
#include <QList>
#include <QStringList>

#include "app/window/look/style.h"

class QAction;
class QComboBox;
class QLabel;
class QMenuBar;
class QPushButton;
class QSlider;
class QToolButton;

namespace kvscope {

class Playback;
class RunBox;
class ToolRow;
class Workspace;

/// The one row above a lecture: policy and budget (the toolbar's own, larger), what the run holds of it, the step with its transport, and
/// all menus behind one button.
class LectureRow : public QFrame {
  Q_OBJECT

 public:
  LectureRow(Workspace& workspace, Playback& playback, ToolRow& tools, QWidget* parent = nullptr);
  /// The menus behind the button, once they are all there.
  void takeMenus(const QMenuBar& menus);
  /// For a picture: without what can be pressed.
  void setOnPaper(bool on);
  /// The scene speaks of the budget.
  void setMarked(bool on);
  QSlider* budgetSlider() const { return m_slider; }
  QToolButton* menuButton() const { return m_menu; }

 Q_SIGNALS:
  void leaveRequested();
  void ghostsToggled(bool on);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void wordSlots();
  void fitPolicy();
  void fitSlots();
  void applyType();
  void applyTheme();
  QToolButton* button(const QString& help);
  void follow(ToolRow& tools);

  Workspace& m_workspace;
  Playback& m_playback;
  ToolRow& m_tools;
  QLabel* m_slots;
  RunBox* m_policy;
  QSlider* m_slider;
  QPushButton* m_step;
  QToolButton *m_ghosts, *m_back, *m_play, *m_forward, *m_menu, *m_leave;
  QStringList m_slot_words;  // the longest first
  bool m_applying = false;
};

}  // namespace kvscope
