// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QObject>
#include <QStringList>

class QAction;
class QMenu;
class QSettings;

namespace kvscope {

class Commands;
class LectureGuide;
class Workspace;

/// The lessons as files: those of the program, one's own, a copy to begin one with, and how they are written.
class LessonFiles : public QObject {
  Q_OBJECT

 public:
  /// `settings` nullptr: one's own lessons are known for this run only.
  LessonFiles(const LectureGuide& guide, const Workspace& workspace, QSettings* settings, QObject* parent);
  void fillMenu(Commands& commands, QMenu* menu);
  /// Where the user's own lessons are: that of the last one, else their documents.
  QString folder() const;
  /// This one is shown now; own: it is none of the program's.
  void setShown(const QString& path);
  /// The lesson that comes after the one shown among those of the program; empty: there is none.
  QString next() const;
  /// The one before; empty: there is none, or it is about the user's own text.
  QString before() const;
  /// How a lesson is written, with every fact and its value on the screen now, as Markdown.
  QString guideText() const;

 Q_SIGNALS:
  void openRequested(const QString& path);
  void said(const QString& words);
  void failed(const QString& why);

 private:
  void open(QWidget* over);
  void saveCopy(QWidget* over);
  void showGuide(QWidget* over);
  void listOwn(QMenu* menu);
  void markShown();

  const LectureGuide& m_guide;
  const Workspace& m_workspace;
  QSettings* m_settings;
  QString m_folder;
  QStringList m_own;            // files of the user's lessons, the newest first
  QList<QAction*> m_items;      // of the program's, in their order
  QList<QAction*> m_own_items;  // in the menu, before m_own_end
  QAction* m_own_end = nullptr;
};

}  // namespace kvscope
