// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_dialogs.h"

#include <algorithm>

#include <QApplication>
#include <QDialog>
#include <QEvent>

namespace kvscope {

namespace {
constexpr const char* kScale = "lectureScale";  // property of a dialog: that of its sheet
constexpr double kMostOfWindow = 0.9;
}  // namespace

LectureDialogs::LectureDialogs(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

/// At Show a dialog has the size that it wants, but not its place yet.
bool LectureDialogs::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Show) return false;
  auto* dialog = qobject_cast<QDialog*>(watched);
  if (!dialog || dialog->styleSheet() == m_sheet) return false;
  const double before = std::max(1.0, dialog->property(kScale).toDouble());
  dialog->setProperty(kScale, m_scale);
  dialog->setStyleSheet(m_sheet);
  const QSize wanted = dialog->size() * (m_scale / before);
  const QWidget* owner = dialog->parentWidget();
  dialog->resize(owner ? wanted.boundedTo(owner->window()->size() * kMostOfWindow) : wanted);
  return false;
}

}  // namespace kvscope
