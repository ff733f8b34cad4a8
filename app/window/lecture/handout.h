// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <QImage>
#include <QObject>
#include <QString>
#include <QTimer>

namespace kvscope {

class LectureGuide;

/// A scene on paper.
struct HandoutScene {
  QString name, message, text, notes;
  QImage picture;
};

/// A4 sheets of a lesson, two scenes each: picture, caption, notes. False: `error` says why and what to do.
bool writeHandout(const QString& lesson, const std::vector<HandoutScene>& scenes, const QString& path, QString* error);

/// Goes through the scenes as paging does, takes a picture of each as it stands, and writes them. The guide is where it was afterwards.
/// UI thread only.
class Handout : public QObject {
  Q_OBJECT

 public:
  /// `picture`: of the window as it is, light or dark; null while it has not settled.
  Handout(LectureGuide& guide, std::function<QImage()> picture, QObject* parent = nullptr);
  void write(const QString& path);
  bool running() const { return m_timer.isActive(); }

 Q_SIGNALS:
  void begun();
  void ended();  // before written() or failed()
  void written(const QString& path, int nScenes);
  void failed(const QString& why);

 private:
  void take();
  void finish();

  LectureGuide& m_guide;
  std::function<QImage()> m_picture;
  QTimer m_timer;
  QString m_path;
  std::vector<HandoutScene> m_scenes;
  int m_before = 0;
};

}  // namespace kvscope
