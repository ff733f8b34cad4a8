// SPDX-License-Identifier: Apache-2.0
#include <QKeyEvent>
#include <QKeySequence>

#include "app/window/canvas/canvas_widget.h"

namespace kvscope {

QString keyName(const QKeyEvent& event) {
  switch (event.key()) {
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
    case Qt::Key_Shift:
    case Qt::Key_Control:
    case Qt::Key_Alt:
    case Qt::Key_Meta:
    case Qt::Key_AltGr:
    case Qt::Key_CapsLock:
    case Qt::Key_unknown:
    case 0:
      return {};
    default:
      break;
  }
  QString name;
  switch (event.key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      name = "Enter";
      break;
    case Qt::Key_Escape:
      name = "Escape";
      break;
    case Qt::Key_PageUp:
      name = "PageUp";
      break;
    case Qt::Key_PageDown:
      name = "PageDown";
      break;
    case Qt::Key_Space:
      name = "Space";
      break;
    case Qt::Key_Delete:  // not "Del", as Qt writes it
      name = "Delete";
      break;
    case Qt::Key_Plus:
      return "+";  // with whatever modifiers the keyboard needs for it
    case Qt::Key_Minus:
      return "-";
    default:
      name = QKeySequence(event.key()).toString(QKeySequence::PortableText);
      break;
  }
  QString modifiers;
  if (event.modifiers() & Qt::ControlModifier) modifiers += "Ctrl+";
  if (event.modifiers() & Qt::AltModifier) modifiers += "Alt+";
  if (event.modifiers() & Qt::ShiftModifier) modifiers += "Shift+";
  return modifiers + name;
}

}  // namespace kvscope
