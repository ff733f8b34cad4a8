// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/black_screen.h"

#include <QApplication>
#include <QEvent>
#include <QPainter>

namespace kvscope {

BlackScreen::BlackScreen(QWidget& window) : QWidget(&window) {
  setObjectName("blackScreen");
  setAccessibleName("black screen: any key returns");
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::BlankCursor);
  window.installEventFilter(this);
  hide();
}

void BlackScreen::begin() {
  m_focus_before = QApplication::focusWidget();
  setGeometry(parentWidget()->rect());
  show();
  raise();
  setFocus(Qt::OtherFocusReason);
}

void BlackScreen::end() {
  hide();
  if (m_focus_before) m_focus_before->setFocus(Qt::OtherFocusReason);
}

bool BlackScreen::event(QEvent* event) {
  switch (event->type()) {
    case QEvent::ShortcutOverride:  // or a key of the menus would act behind it
      event->accept();
      return true;
    case QEvent::KeyPress:
    case QEvent::MouseButtonPress:
      end();
      return true;
    default:
      return QWidget::event(event);
  }
}

bool BlackScreen::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && isVisible()) setGeometry(parentWidget()->rect());
  return QWidget::eventFilter(watched, event);
}

void BlackScreen::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), Qt::black); }

}  // namespace kvscope
