// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  /// All pictures get this size; without it, that of the first.
  void setSize(const QSize& size) { m_size = size; }
  /// The next picture. False: `error` says why.
  bool add(const QImage& picture, QString* error);
  /// Writes the film, `per_second` pictures a second and the last one for two seconds more. False: `error` says why, and no file has
  /// changed.
  bool write(double per_second, QString* error) const;

 private:
  QString frame(int i) const;

  QString m_path, m_ffmpeg;
  QTemporaryDir m_folder;
  QSize m_size;
  int m_n_frames = 0;
};

}  // namespace kvscope
