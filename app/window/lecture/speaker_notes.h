// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QLabel;

namespace kvscope {

class LectureGuide;

/// What the speaker wants to say to the scene, and what comes next: a window of its own, for a screen that the audience does not see.
class SpeakerNotes : public QDialog {
  Q_OBJECT

 public:
  SpeakerNotes(LectureGuide& guide, QWidget* parent = nullptr);
  QString text() const;

 protected:
  void keyPressEvent(QKeyEvent* event) override;  // a clicker goes on, whichever window has the focus

 private:
  void refresh();

  LectureGuide& m_guide;
  QLabel *m_where, *m_caption, *m_notes, *m_next;
};

}  // namespace kvscope
