// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

class QMenu;

namespace kvscope {

class BookmarkPanel;
class Commands;
class Pages;
class Panels;
class WindowRows;
struct WindowModel;

/// Bookmarks: their panel, and the commands that make them and go to them.
class BookmarkActions : public QObject {
  Q_OBJECT

 public:
  BookmarkActions(WindowModel& model, WindowRows& rows, Pages& pages, Panels& panels);
  void fillMenu(Commands& commands, QMenu* menu);

 public Q_SLOTS:
  void add();
  void goTo(int index);

 Q_SIGNALS:
  void panelRequested();

 private:
  void goToBeside(int direction);

  WindowModel& m_model;
  WindowRows& m_rows;
  Pages& m_pages;
  BookmarkPanel* m_panel;
};

}  // namespace kvscope
