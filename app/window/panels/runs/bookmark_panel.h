// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QTableWidget;
class QToolButton;

namespace kvscope {

class Bookmarks;
class Workspace;

/// The list of bookmarks: colour, name, step, note; names and notes are edited in place, Enter or a double click goes there.
class BookmarkPanel : public QWidget {
  Q_OBJECT

 public:
  BookmarkPanel(Workspace& workspace, Bookmarks& bookmarks, QWidget* parent = nullptr);

  QTableWidget& table() { return *m_table; }
  QString facts() const;
  /// Add, go, colour, remove: above the list, unless the panel's header has them.
  QWidget* tools() { return m_tools; }

 public Q_SLOTS:
  /// Puts the cursor into the note of a bookmark.
  void editNote(int index);

 Q_SIGNALS:
  void factsChanged();
  void addRequested();
  void goRequested(int index);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void write(int row, int cell, const QString& words);
  int current() const;

  Workspace& m_workspace;
  Bookmarks& m_bookmarks;
  QTableWidget* m_table;
  QWidget* m_tools;
  QToolButton *m_add, *m_go, *m_colour, *m_remove;
};

}  // namespace kvscope
