// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <QImage>
#include <QPixmap>
#include <QString>

class QPdfWriter;

namespace kvscope {

class CanvasWidget;
class Workspace;

/// Canvases as one SVG page, each where it stands in `window`, with its title and facts above it and the settings below all.
std::string canvasesAsSvg(const std::vector<CanvasWidget*>& canvases, const QWidget& window, const Workspace& workspace);

/// One canvas with title, facts and settings, `scale` pixels per logical pixel.
QImage canvasAsImage(CanvasWidget& canvas, const Workspace& workspace, qreal scale);

/// A window as it stands, once its layouts have followed what its parts say: on screen they do so a turn of the event loop later.
QPixmap windowAsPixmap(QWidget& window);

/// Writes one canvas as its name's ending says: .svg, .png (at `scale`) or .csv (the numbers behind it). False: `error` says why and what
/// to do.
bool exportCanvas(CanvasWidget& canvas, const QWidget& window, const Workspace& workspace, const QString& path, qreal scale,
                  QString* error);

/// Writes a PDF that `draw` fills, all or nothing.
bool writePdf(const QString& path, const QString& title, const std::function<void(QPdfWriter&)>& draw, QString* error);

/// Writes bytes to a file, all or nothing.
bool writeFile(const QString& path, const std::string& bytes, QString* error);
bool writePng(const QString& path, const QImage& image, QString* error);

}  // namespace kvscope
