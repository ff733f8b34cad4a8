// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

#include "app/window/files/recent_files.h"
#include "app/window/files/thumbnails.h"

class QMenu;
class QWidget;

namespace kvscope {

class Commands;
class LibraryDialog;
struct WindowModel;

/// Which files were used last, with a picture of what was in each: as a menu and as a dialog.
class Library : public QObject {
  Q_OBJECT

 public:
  Library(WindowModel& model, QWidget& window);

  RecentFiles& recent() { return m_recent; }
  LibraryDialog& dialog() { return *m_dialog; }
  /// A file was opened or written; the first result after that is its picture.
  void use(const QString& path);
  /// A model that is being opened: it may be refused.
  void useOnceOpen(const QString& path) { m_asked = path; }
  void keepPicture();
  void fillMenu(Commands& commands, QMenu* menu);

 private:
  WindowModel& m_model;
  RecentFiles m_recent;
  Thumbnails m_thumbnails;
  LibraryDialog* m_dialog;
  QString m_asked;   // a model that was asked for and has not answered yet
  QString m_unseen;  // a file that was opened and has no picture of its result yet
};

}  // namespace kvscope
