// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <QFrame>

class QLabel;
class QMenu;
class QPushButton;
class QToolButton;

namespace kvscope {

class ElidedLabel;
class LectureGuide;
class Workspace;
struct Caption;

/// One dot a scene, the present one long; a click or the arrow keys go to another.
class SceneDots : public QWidget {
  Q_OBJECT

 public:
  SceneDots(LectureGuide& guide, Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QRect rectOf(int scene) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  LectureGuide& m_guide;
  Workspace& m_workspace;
};

/// The lower edge of a lecture: what the screen shows, in large words whose first ones are the message, and where in the scenes this is.
class LectureCaption : public QFrame {
  Q_OBJECT

 public:
  LectureCaption(LectureGuide& guide, Workspace& workspace, QWidget* parent = nullptr);
  QString text() const;  // message and text, without mark-up
  SceneDots& dots() { return *m_dots; }
  QPushButton& backButton() { return *m_back; }
  int lines() const;  // of the words, as they are set
  /// The lessons to choose from, behind a button.
  void setLessons(QMenu* menu);
  /// What the user had waits: a button brings it back.
  void setAside(bool on);
  /// Name of the lesson that the last scene leads to; empty: there is none.
  void setNext(const QString& lesson);
  QPushButton& nextButton() { return *m_next; }

 Q_SIGNALS:
  void backRequested();
  void nextRequested();

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void setWords(const Caption& caption);
  void applyType();

  LectureGuide& m_guide;
  Workspace& m_workspace;
  QLabel *m_words, *m_where, *m_keys;
  QToolButton* m_lessons;
  QPushButton *m_back, *m_next;
  QString m_next_name;
  std::pair<QString, int> m_set;  // the words, and the width that they were set for
  SceneDots* m_dots;
  bool m_applying = false;
};

}  // namespace kvscope
