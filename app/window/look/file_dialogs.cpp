// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/file_dialogs.h"

#include <QApplication>
#include <QEvent>
#include <QFileDialog>
#include <QFileIconProvider>
#include <QHeaderView>
#include <QTreeView>

namespace kvscope {

namespace {

constexpr const char* kWrites = "writes";  // of a dialog

/// The toolkit's own reads the beginning of every file to name its kind, in the window's thread: one on a share that answers no more, or
/// a device of the kernel's, would stop the window.
class KindsByName : public QFileIconProvider {
 public:
  QIcon icon(const QFileInfo& info) const override { return QFileIconProvider::icon(info.isDir() ? Folder : File); }
  using QFileIconProvider::icon;
  QString type(const QFileInfo& info) const override {
    if (info.isDir()) return "Folder";
    return info.suffix().isEmpty() ? QString("File") : info.suffix().toUpper() + " file";
  }
};

}  // namespace

QString folderToWriteTo(QWidget* over, const QString& title, const QString& before) {
  QFileDialog dialog(over, title, before);
  dialog.setFileMode(QFileDialog::Directory);
  dialog.setOption(QFileDialog::ShowDirsOnly);
  dialog.setProperty(kWrites, true);
  return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles().value(0) : QString();
}

FileDialogs::FileDialogs(QObject* parent) : QObject(parent), m_kinds(std::make_unique<KindsByName>()) { qApp->installEventFilter(this); }

FileDialogs::~FileDialogs() = default;

bool FileDialogs::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Show) return false;
  auto* dialog = qobject_cast<QFileDialog*>(watched);
  if (dialog && dialog->acceptMode() == QFileDialog::AcceptOpen && !dialog->property(kWrites).toBool())
    dialog->setOption(QFileDialog::ReadOnly);
  if (dialog) dialog->setIconProvider(m_kinds.get());
  auto* files = dialog ? dialog->findChild<QTreeView*>("treeView") : nullptr;
  if (files == nullptr) return false;  // one of the desktop's own
  QHeaderView& header = *files->header();
  header.setStretchLastSection(false);
  header.setSectionResizeMode(QHeaderView::ResizeToContents);
  header.setSectionResizeMode(0, QHeaderView::Stretch);
  return false;
}

}  // namespace kvscope
