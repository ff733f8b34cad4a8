// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <QImage>
#include <QObject>
#include <QSizeF>
#include <QString>
#include <QTimer>

#include "app/share/page.h"
#include "app/window/files/file_writer.h"

class QPainter;

namespace kvscope {

class LectureGuide;
struct WindowModel;

/// A scene on paper, and where it looks on a page that moves.
struct HandoutScene {
  share::PageScene scene;
  QImage picture;
};

constexpr int kHandoutDots = 150;  // an inch
/// Two scenes a sheet, each as large as its caption leaves it. sheet: in dots; next: begins another sheet.
void paintHandout(QPainter& painter, const QSizeF& sheet, const QString& lesson, const std::vector<HandoutScene>& scenes,
                  const std::function<void()>& next);
/// The same on A4. For students: nothing of it speaks of the speaker's notes. False: `error` says why and what to do.
bool writeHandout(const QString& lesson, const std::vector<HandoutScene>& scenes, const QString& path, QString* error);
/// What the speaker wants to say to each scene, which is for nobody else. `beside`: the name of the handout that they belong to.
bool writeNotes(const QString& lesson, const std::vector<HandoutScene>& scenes, const QString& beside, const QString& path, QString* error);

/// Goes through the scenes as paging does, takes a picture of each as it stands and what it is of, and writes them: on A4 sheets, or as a
/// web page with the results of every scene. The guide is where it was afterwards. UI thread only.
class Handout : public QObject {
  Q_OBJECT

 public:
  /// `picture`: of the window as it is, light or dark; null while it has not settled.
  Handout(LectureGuide& guide, WindowModel& model, std::function<QImage()> picture, QObject* parent = nullptr);
  /// path: .html is a page, whatever else sheets.
  void write(const QString& path);
  bool running() const { return m_timer.isActive(); }
  /// Where the speaker's notes go when a handout is written to `path`; empty: the lesson has none.
  QString notesBeside(const QString& path) const;
  /// The file beside the last handout that has the speaker's notes; empty: the lesson has none.
  const QString& notes() const { return m_notes; }
  /// Nothing is written; the guide goes back to where it was.
  void cancel();

 Q_SIGNALS:
  void begun();
  void reached(int scene);
  void ended();  // before written() or failed()
  /// leftOut: which scenes had nothing to show, in words; empty: none.
  void written(const QString& path, int nScenes, const QString& leftOut);
  void failed(const QString& why);

 private:
  void take();
  void finish();

  void writePage();

  LectureGuide& m_guide;
  WindowModel& m_model;
  std::function<QImage()> m_picture;
  QTimer m_timer;
  QString m_path, m_notes, m_left_out;
  std::vector<HandoutScene> m_scenes;
  std::vector<share::PagePart> m_parts;
  FileWriter m_page;
  int m_before = 0;
};

}  // namespace kvscope
