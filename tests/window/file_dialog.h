// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QComboBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QTest>
#include <QTimer>

namespace kvscope {

/// Answers the next file dialog as a user does: the kind of file whose name has `kind` in it, a path, Return. Dialogs run a loop of their own,
/// so this is called before the one is opened. answered() afterwards: there was one, with such a kind.
class FileDialogAnswer : public QObject {
 public:
  FileDialogAnswer(QString path, QString kind = {}) : m_path(std::move(path)), m_kind(std::move(kind)) {
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
    dialog->selectNameFilter(kinds.front());
    auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
    name->setFocus();
    name->selectAll();
    name->insert(m_path);
    m_answered = true;
    QTest::keyClick(name, Qt::Key_Return);
    if (dialog->isVisible()) QTimer::singleShot(200, dialog, [dialog] { dialog->reject(); });  // refused: the test sees no file
  }

  QString m_path, m_kind;
  QTimer m_timer;
  bool m_answered = false;
};

}  // namespace kvscope
