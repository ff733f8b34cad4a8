// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/export.h"

#include <algorithm>
#include <cmath>

#include <QBuffer>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QPdfWriter>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/look/style.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "io/files.h"
#include "io/result_files.h"
#include "viz/draw/svg.h"

namespace kvscope {

namespace {

std::vector<std::string> stampOf(const Workspace& workspace) {
  viz::Frame frame;
  frame.snapshot = &workspace.snapshot();
  frame.selection = workspace.selection();
  return viz::picture_stamp(frame, KVSCOPE_VERSION);
}

}  // namespace

std::string canvasesAsSvg(const std::vector<CanvasWidget*>& canvases, const QWidget& window, const Workspace& workspace) {
  std::vector<viz::Scene> scenes;
  std::vector<QPoint> places;
  for (CanvasWidget* canvas : canvases) {
    scenes.push_back(canvas->scene(/*alone=*/true));
    places.push_back(canvas->mapTo(&window, QPoint(0, 0)));
  }
  QPoint origin = places.empty() ? QPoint() : places.front();
  for (const QPoint& place : places) origin = {std::min(origin.x(), place.x()), std::min(origin.y(), place.y())};
  std::vector<viz::PicturePart> parts;
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    const QPoint at = places[i] - origin;
    parts.push_back({&scenes[i],
                     {static_cast<float>(at.x()), static_cast<float>(at.y()) + viz::kPictureTitle},
                     canvases[i]->view().title(),
                     canvases[i]->facts().toStdString()});
  }
  return viz::to_svg(parts, workspace.theme(), stampOf(workspace));
}

QImage canvasAsImage(CanvasWidget& canvas, const Workspace& workspace, qreal scale) {
  const QImage picture = canvas.picture(scale, /*alone=*/true);
  if (picture.isNull()) return {};
  const viz::Theme& theme = workspace.theme();
  const std::vector<std::string> stamp = stampOf(workspace);
  QFont font = canvas.font();
  font.setPixelSize(11);
  // Settings that are wider than the canvas go on in the next line.
  const QFontMetricsF metrics(font);
  const std::vector<std::string> lines =
      viz::stamp_lines(stamp, [&](const std::string& line) { return metrics.horizontalAdvance(qs(line)) <= canvas.width() - 24; });
  const double title = viz::kPictureTitle, foot = viz::kPictureStampLine * static_cast<double>(lines.size()) + 12;
  const double height = picture.height() / scale;
  QImage page(QSize(picture.width(), static_cast<int>(std::lround((height + title + foot) * scale))), QImage::Format_RGB32);
  page.setDevicePixelRatio(scale);
  page.fill(toColor(theme.window));
  QPainter painter(&page);
  painter.drawImage(QPointF(0, title), picture);
  QFont bold = font;
  bold.setPixelSize(13);
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(toColor(theme.text));
  const QString name = canvas.view().title();
  painter.drawText(QRectF(12, 0, canvas.width() - 24, title), Qt::AlignVCenter, name);
  const double after = 12 + QFontMetricsF(bold).horizontalAdvance(name) + 10;
  font.setPixelSize(12);
  painter.setFont(font);
  painter.setPen(toColor(theme.secondary));
  painter.drawText(QRectF(after, 0, canvas.width() - after - 12, title), Qt::AlignVCenter,
                   factsThatFit(QFontMetrics(font), static_cast<int>(canvas.width() - after - 12), canvas.facts()));
  font.setPixelSize(11);
  painter.setFont(font);
  double y = title + height + 4;
  for (const std::string& line : lines) {
    painter.drawText(QRectF(12, y, canvas.width() - 24, viz::kPictureStampLine), Qt::AlignVCenter, qs(line));
    y += viz::kPictureStampLine;
  }
  return page;
}

bool writeFile(const QString& path, const std::string& bytes, QString* error) {
  try {
    check_no_model_file(path.toStdString());
    write_atomically(path.toStdString(), bytes);
    return true;
  } catch (const Error& failure) {
    *error = QString::fromUtf8(failure.what());
    return false;
  }
}

bool writePng(const QString& path, const QImage& image, QString* error) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) {
    *error = path + " could not be written: there is no picture, or too little memory for it";
    return false;
  }
  return writeFile(path, bytes.toStdString(), error);
}

bool writePdf(const QString& path, const QString& title, const std::function<void(QPdfWriter&)>& draw, QString* error) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  {
    QPdfWriter pdf(&buffer);
    pdf.setTitle(title);
    pdf.setCreator("kvscope " KVSCOPE_VERSION);
    draw(pdf);
  }
  return writeFile(path, bytes.toStdString(), error);
}

QPixmap windowAsPixmap(QWidget& window) {
  constexpr int kNested = 8;  // widgets ask those around them one after the other
  for (int level = 0; level < kNested; ++level) QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  return window.grab();
}

bool exportCanvas(CanvasWidget& canvas, const QWidget& window, const Workspace& workspace, const QString& path, qreal scale,
                  QString* error) {
  if (path.endsWith(".svg", Qt::CaseInsensitive)) return writeFile(path, canvasesAsSvg({&canvas}, window, workspace), error);
  if (path.endsWith(".csv", Qt::CaseInsensitive)) return writeFile(path, viz::to_csv(canvas.table()), error);
  return writePng(path, canvasAsImage(canvas, workspace, scale), error);
}

}  // namespace kvscope
