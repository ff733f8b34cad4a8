// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include "window/support/mouse_menu.h"

namespace kvscope {

/// Answers the next file dialog as a user does: the kind of file whose name has `kind` in it, a path, Return (by mouse: the list of kinds
/// and the button are clicked on). Dialogs run a loop of their own, so this is called before the one is opened. answered() afterwards:
/// there was one, with such a kind.
class FileDialogAnswer : public QObject {
 public:
  enum class By { keys, mouse };
  FileDialogAnswer(QString path, QString kind = {}, By by = By::keys) : m_path(std::move(path)), m_kind(std::move(kind)), m_by(by) {
    connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
    m_timer.start(50);
  }
  bool answered() const { return m_answered; }

 private:
  void look() {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (!dialog || !dialog->isVisible()) return;
    m_timer.stop();
    const QStringList kinds = dialog->nameFilters().filter(m_kind);
    if (kinds.isEmpty()) return dialog->reject();
    auto* kinds_box = dialog->findChild<QComboBox*>("fileTypeCombo");
    if (m_by == By::mouse && kinds_box->count() > 1)
      chooseInBox(*kinds_box, static_cast<int>(dialog->nameFilters().indexOf(kinds.front())));
    else
      dialog->selectNameFilter(kinds.front());
    auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
    name->setFocus();
    name->selectAll();
    name->insert(m_path);
    m_answered = true;
    if (m_by == By::mouse)
      QTest::mouseClick(dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save), Qt::LeftButton);
    else
      QTest::keyClick(name, Qt::Key_Return);
    if (dialog->isVisible()) QTimer::singleShot(200, dialog, [dialog] { dialog->reject(); });  // refused: the test sees no file
  }

  QString m_path, m_kind;
  By m_by;
  QTimer m_timer;
  bool m_answered = false;
};

}  // namespace kvscope
