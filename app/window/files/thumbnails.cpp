// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/thumbnails.h"

#include <algorithm>

#include <QBuffer>
#include <QCryptographicHash>
#include <QDir>
#include <QSet>

#include "core/error.h"
#include "io/files.h"
#include "viz/draw/draw.h"
#include "viz/draw/theme.h"

namespace kvscope {

QImage laneThumbnail(const Snapshot& snapshot, int lane, std::optional<int> step, const viz::Theme& theme, const QSize& size) {
  if (lane < 0 || lane >= static_cast<int>(snapshot.lanes.size())) return {};
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  const int n_heads = viz::n_heads_total(snapshot), last = static_cast<int>(run.steps.size()) - 1;
  if (last < 0 || n_heads < 1) return {};
  const int shown = std::clamp(step.value_or(last), 0, last);
  QImage image(size, QImage::Format_RGB32);
  image.fill(QRgb(0xff000000u | theme.panel.value));
  const int rows = std::min(n_heads, size.height());
  for (int row = 0; row < rows; ++row) {
    // A nearest head and token per pixel: a mean of categories would be none.
    const std::vector<Category> tokens = viz::categories_of(snapshot, run, shown, row * n_heads / rows);
    if (tokens.empty()) continue;
    const int y0 = row * size.height() / rows, y1 = (row + 1) * size.height() / rows;
    for (int x = 0; x < size.width(); ++x) {
      const auto token = static_cast<std::size_t>(x) * tokens.size() / static_cast<std::size_t>(size.width());
      const QRgb fill = 0xff000000u | viz::cell_fill(theme, tokens[token]).value;
      for (int y = y0; y < std::max(y0 + 1, y1 - (y1 - y0 > 2 ? 1 : 0)); ++y) image.setPixel(x, y, fill);
    }
  }
  return image;
}

QString Thumbnails::fileOf(const QString& path) const {
  return m_folder + '/' + QString::fromLatin1(QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha1).toHex()) + ".png";
}

QImage Thumbnails::of(const QString& path) const {
  const auto found = m_images.find(path);
  if (found != m_images.end()) return *found;
  return m_folder.isEmpty() ? QImage() : QImage(fileOf(path));
}

void Thumbnails::keep(const QString& path, const QImage& image, const QStringList& known) {
  if (image.isNull()) return;
  m_images[path] = image;
  if (m_folder.isEmpty() || !QDir().mkpath(m_folder)) return;
  QByteArray bytes;
  QBuffer buffer(&bytes);
  if (!buffer.open(QIODevice::WriteOnly) || !image.save(&buffer, "PNG")) return;
  try {  // pictures of private texts
    write_atomically(fileOf(path).toStdString(), std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())),
                     Readable::by_user_only);
  } catch (const Error&) {
    return;  // the picture of this run stays in memory
  }
  QSet<QString> kept = {QFileInfo(fileOf(path)).fileName()};
  for (const QString& file : known) kept.insert(QFileInfo(fileOf(file)).fileName());
  for (const QString& file : QDir(m_folder).entryList({"*.png"}, QDir::Files))
    if (!kept.contains(file)) QFile::remove(m_folder + '/' + file);
}

}  // namespace kvscope
