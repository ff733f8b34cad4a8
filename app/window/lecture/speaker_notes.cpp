// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/speaker_notes.h"

#include <QKeyEvent>
#include <QLabel>
#include <QVBoxLayout>

#include "app/window/lecture/lecture_guide.h"
#include "app/window/look/style.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

SpeakerNotes::SpeakerNotes(LectureGuide& guide, QWidget* parent)
    : QDialog(parent),
      m_guide(guide),
      m_where(new QLabel(this)),
      m_caption(new QLabel(this)),
      m_notes(new QLabel(this)),
      m_next(new QLabel(this)) {
  setWindowTitle("Speaker notes");
  setWindowFlag(Qt::Window);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(24, 20, 24, 20);
  column->setSpacing(14);
  for (QLabel* label : {m_where, m_caption, m_notes, m_next}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(label);
  }
  m_where->setObjectName("secondary");
  m_caption->setFont(uiFont(16, true));
  m_notes->setFont(uiFont(20));
  m_notes->setAccessibleName("notes");
  m_next->setObjectName("secondary");
  column->insertStretch(3, 1);
  resize(640, 480);
  for (auto signal : {&LectureGuide::lessonChanged, &LectureGuide::sceneChanged, &LectureGuide::captionChanged})
    connect(&guide, signal, this, [this] { refresh(); });
  refresh();
}

void SpeakerNotes::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_PageDown:
    case Qt::Key_Right:
    case Qt::Key_Down:
    case Qt::Key_Space:
      return m_guide.next();
    case Qt::Key_PageUp:
    case Qt::Key_Left:
    case Qt::Key_Up:
      return m_guide.previous();
    default:
      QDialog::keyPressEvent(event);
  }
}

QString SpeakerNotes::text() const { return m_notes->text(); }

void SpeakerNotes::refresh() {
  const int scene = m_guide.scene(), n = m_guide.nScenes();
  if (scene >= n) return;
  const Scene& now = m_guide.at(scene);
  const Caption caption = m_guide.caption();
  m_where->setText(QString("%1 · %2 · scene %3 of %4").arg(qs(m_guide.lesson().name), qs(now.name)).arg(scene + 1).arg(n));
  m_caption->setText(qs(caption.message + ' ' + caption.text).trimmed());
  m_notes->setText(now.notes.empty() ? QString("No notes to this scene.") : qs(now.notes));
  m_next->setText(scene + 1 < n ? "next: " + qs(m_guide.at(scene + 1).name) : QString("the last scene"));
}

}  // namespace kvscope
