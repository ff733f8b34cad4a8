// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QObject>
#include <QPixmap>

#include "app/window/files/file_writer.h"
#include "app/window/files/report.h"
#include "app/window/files/write_path.h"

class QAction;
class QMenu;

namespace kvscope {

class Canvases;
class CanvasWidget;
class Commands;
class Document;
class InspectPage;
class LectureMode;
class Pages;
class SweepPage;
class TablePanel;
class WindowRows;
struct WindowModel;

/// Pictures and numbers out of the window: into files, onto the clipboard, into the table beside it, into a report and a web page.
class ExportActions : public QObject {
  Q_OBJECT

 public:
  /// Where pictures and numbers come from.
  struct Parts {
    QWidget& window;
    WindowModel& model;
    WindowRows& rows;
    Pages& pages;
    Canvases& canvases;
    InspectPage& inspect;
    LectureMode& lecture;
    SweepPage& sweep;
    TablePanel& table;
    Document& document;
  };
  explicit ExportActions(const Parts& parts);

  /// The canvas that an export means: with the focus, else maximised, else the first of the page; nullptr: none.
  CanvasWidget* canvas() const;
  QPixmap picture() const;
  /// Of everything that is on screen now, pictures in the light theme.
  Report report() const;
  /// Commands that are about one view: export, copies, table.
  const std::vector<QAction*>& ofView() const { return m_of_view; }
  void fillEditMenu(Commands& commands, QMenu* menu);
  void fillFileMenu(Commands& commands, QMenu* menu);

 private:
  void savePicture();
  void copyPicture();
  void copyNumbers();
  void showNumbers();
  /// What is shown was computed with other settings than those that would be written beside it: said.
  bool refuses();
  void writeReportAs();
  void shareAsPage();
  void writeTraceAs();
  /// Why it was not; empty: it was.
  QString writeSweep(const QString& path, const QString& ending, double scale) const;
  /// Asks for it, in the folder of the last one, as askWhereToWrite() does; empty: none.
  QString pathFor(const QString& title, const QString& name, const QString& kinds, QString* kind = nullptr, const NameOf& named = {});
  bool ofSweep(const CanvasWidget* chosen) const;

  Parts m;
  FileWriter m_writer;
  QString m_trace;   // the last one that was to be written
  QString m_said;    // of the last one, where there is more to say than that it is there
  QString m_folder;  // of the last file that was written; empty: none yet
  std::vector<QAction*> m_of_view;
};

}  // namespace kvscope
