// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>
#include <QTimer>

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace kvscope {

class Bookmarks;
class RecentFiles;
class SessionController;
class Thumbnails;
class Workspace;

/// Models, sessions and prompts used last, and the runs and bookmarks of this session, each with a picture: to open, to rename, to compare.
class LibraryDialog : public QDialog {
  Q_OBJECT

 public:
  enum class Kind { model, session, prompt, run, bookmark };
  static constexpr int kKinds = 5;

  LibraryDialog(Workspace& workspace, SessionController& controller, RecentFiles& recent, Bookmarks& bookmarks, Thumbnails& thumbnails,
                QWidget* parent);

  QTreeWidget& tree() const { return *m_tree; }
  /// Rows of one kind, as listed now.
  QList<QTreeWidgetItem*> rows(Kind kind) const;
  QPushButton* openButton() const { return m_open; }
  QPushButton* renameButton() const { return m_rename; }
  QPushButton* compareButton() const { return m_compare; }
  QPushButton* removeButton() const { return m_remove; }
  QString message() const;

 Q_SIGNALS:
  void fileRequested(const QString& path);
  void runRequested(int lane);
  void bookmarkRequested(int index);
  void comparisonRequested(const QList<int>& lanes);  // two of this session
  void sessionRenamed(const QString& from, const QString& to);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();
  void addFiles();
  void addRunsAndBookmarks();
  QTreeWidgetItem* addRow(Kind kind, const QString& name, const QString& facts, const QImage& picture);
  void refreshButtons();
  void open(QTreeWidgetItem* item);
  void rename(QTreeWidgetItem* item);
  void compare();
  void removeSelected();
  void say(const QString& text);

  Workspace& m_workspace;
  SessionController& m_controller;
  RecentFiles& m_recent;
  Bookmarks& m_bookmarks;
  Thumbnails& m_thumbnails;
  QTreeWidget* m_tree;
  QLabel* m_message;
  QPushButton *m_open, *m_rename, *m_compare, *m_remove;
  QTimer m_soon;  // rows are made anew after the event that changed them
  bool m_refreshing = false;
};

}  // namespace kvscope
