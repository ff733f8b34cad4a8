// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QImage>
#include <QSize>
#include <QString>
#include <QTemporaryDir>

namespace kvscope {

/// Pictures one after the other as a film that ffmpeg writes, .gif or .mp4 by the name's ending.
class Film {
 public:
  /// True for a name that ends like a film.
  static bool isOne(const QString& path);

  explicit Film(const QString& path);
  /// Why none can be written here, one sentence; empty: it can.
  QString problem() const;
  /// The next picture; smaller ones get the size of the largest, its first colour around them. False: `error` says why.
  bool add(const QImage& picture, QString* error);
  /// Writes the film, `per_second` pictures a second and the last one for two seconds more. False: `error` says why, and no file has
  /// changed.
  bool write(double per_second, QString* error) const;

 private:
  QString frame(int i) const;
  bool makeEqual(QString* error) const;

  QString m_path, m_ffmpeg;
  QTemporaryDir m_folder;
  QSize m_size;  // of the largest
  std::vector<QSize> m_frames;
};

}  // namespace kvscope
