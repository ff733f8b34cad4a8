// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QImage>
#include <QMap>
#include <QString>
#include <QStringList>

#include "snapshot/snapshot.h"

namespace kvscope {

namespace viz {
struct Theme;
}

inline constexpr QSize kThumbnail{96, 54};

/// The cache of a lane after a step in small: a row per head, tokens from left to right, by category. Null without such a lane or step.
QImage laneThumbnail(const Snapshot& snapshot, int lane, std::optional<int> step, const viz::Theme& theme, const QSize& size = kThumbnail);

/// Pictures of files as they were last seen here.
class Thumbnails {
 public:
  /// `folder` empty: kept for this run only.
  explicit Thumbnails(QString folder) : m_folder(std::move(folder)) {}

  /// Null: none is known.
  QImage of(const QString& path) const;
  /// Pictures of files that are not among `known` are thrown away.
  void keep(const QString& path, const QImage& image, const QStringList& known);

 private:
  QString fileOf(const QString& path) const;
  QString m_folder;
  QMap<QString, QImage> m_images;
};

}  // namespace kvscope
