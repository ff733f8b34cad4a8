// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/scene_dump.h"

#include <cmath>

#include <QCryptographicHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/window/canvas/canvas_widget.h"

namespace kvscope {

namespace {

double rounded(float x) { return std::round(static_cast<double>(x) * 100) / 100; }

QJsonObject dumpOf(CanvasWidget& canvas) {
  const viz::Scene scene = canvas.scene();
  QJsonArray marks, images;
  for (const viz::Mark& m : canvas.view().marks()) {
    marks.append(QJsonObject{{"kind", QString::fromStdString(m.kind)},
                             {"label", QString::fromStdString(m.label)},
                             {"value", QString::fromStdString(m.value)},
                             {"rect", QJsonArray{rounded(m.min.x), rounded(m.min.y), rounded(m.max.x), rounded(m.max.y)}}});
  }
  for (const viz::SceneImage& image : scene.images) {
    const QByteArrayView bytes(reinterpret_cast<const char*>(image.rgba.data()), static_cast<qsizetype>(image.rgba.size() * 4));
    images.append(QJsonObject{
        {"size", QJsonArray{image.width, image.height}},
        {"hash", QString::fromLatin1(QCryptographicHash::hash(bytes.toByteArray(), QCryptographicHash::Sha1).toHex().left(16))}});
  }
  return {{"view", canvas.view().id()},
          {"generation", QString::number(canvas.drawnGeneration())},
          {"size", QJsonArray{canvas.width(), canvas.height()}},
          {"facts", canvas.facts()},
          {"commands", static_cast<qint64>(scene.commands.size())},
          {"marks", marks},
          {"images", images}};
}

}  // namespace

QByteArray sceneDump(const std::vector<CanvasWidget*>& canvases) {
  QJsonArray all;
  for (CanvasWidget* canvas : canvases) all.append(dumpOf(*canvas));
  return QJsonDocument(QJsonObject{{"kvscope", "scene"}, {"canvases", all}}).toJson();
}

}  // namespace kvscope
