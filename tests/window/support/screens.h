// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pictures of the whole window against references: tolerant of how text is drawn, strict about everything else.

#include <algorithm>
#include <vector>

#include <QImage>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QRect>
#include <QWidget>

#include "viz/colour_math.h"

namespace kvscope::testing {

/// Notes where text is painted; draws nothing.
class TextBoxes : public QPaintDevice {
 public:
  explicit TextBoxes(const QSize& size) : size_(size), engine_(boxes) {}
  QPaintEngine* paintEngine() const override { return &engine_; }
  std::vector<QRectF> boxes;

 protected:
  int metric(PaintDeviceMetric what) const override {
    constexpr int kDpi = 96;
    switch (what) {
      case PdmWidth:
        return size_.width();
      case PdmHeight:
        return size_.height();
      case PdmDepth:
        return 32;
      case PdmNumColors:
        return 1 << 24;
      case PdmWidthMM:
        return size_.width() * 254 / (10 * kDpi);
      case PdmHeightMM:
        return size_.height() * 254 / (10 * kDpi);
      case PdmDevicePixelRatio:
        return 1;
      case PdmDevicePixelRatioScaled:
        return static_cast<int>(devicePixelRatioFScale());
      default:
        return kDpi;
    }
  }

 private:
  class Engine : public QPaintEngine {
   public:
    explicit Engine(std::vector<QRectF>& boxes) : QPaintEngine(AllFeatures), boxes_(boxes) {}
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    void updateState(const QPaintEngineState& now) override {
      if (now.state() & DirtyTransform) transform_ = now.transform();
    }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
      boxes_.push_back(transform_.mapRect(QRectF(at.x(), at.y() - item.ascent(), item.width(), item.ascent() + item.descent())));
    }
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
    void drawPath(const QPainterPath&) override {}
    Type type() const override { return User; }

   private:
    std::vector<QRectF>& boxes_;
    QTransform transform_;
  };

  QSize size_;
  mutable Engine engine_;
};

/// Half the size, every pixel the mean of four; where one of them lies in a box (or a few pixels beside it), alpha is 0.
inline QImage reduced(const QImage& whole, const std::vector<QRectF>& boxes) {
  constexpr double kLoose = 3;
  QImage mask(whole.size(), QImage::Format_Grayscale8);
  mask.fill(255);
  {
    QPainter painter(&mask);
    for (const QRectF& box : boxes) painter.fillRect(box.adjusted(-kLoose, -kLoose, kLoose, kLoose).toAlignedRect(), Qt::black);
  }
  QImage out(whole.size() / 2, QImage::Format_ARGB32);
  for (int y = 0; y < out.height(); ++y)
    for (int x = 0; x < out.width(); ++x) {
      int r = 0, g = 0, b = 0;
      bool seen = true;
      for (int i = 0; i < 4; ++i) {
        const QPoint at(2 * x + i % 2, 2 * y + i / 2);
        const QRgb c = whole.pixel(at);
        r += qRed(c), g += qGreen(c), b += qBlue(c);
        seen = seen && qGray(mask.pixel(at)) == 255;
      }
      out.setPixel(x, y, seen ? qRgba((r + 2) / 4, (g + 2) / 4, (b + 2) / 4, 255) : 0u);
    }
  return out;
}

struct ScreenDifference {
  double mean = 0;     // Delta E 2000 over the pixels that count
  double far = 0;      // share of them over Delta E 10
  double counted = 0;  // share of all pixels that count: no text in either picture
  QImage picture;      // what differs, the more the lighter; text grey
  bool same() const { return mean <= 0.5 && far <= 0.001; }
};

inline ScreenDifference compare(const QImage& got, const QImage& want) {
  ScreenDifference d;
  d.picture = QImage(want.size(), QImage::Format_RGB32);
  d.picture.fill(Qt::red);
  if (got.size() != want.size()) {
    d.mean = d.far = 1e9;
    return d;
  }
  std::size_t n = 0, n_far = 0;
  const auto lab_of = [](QRgb c) { return viz::testing::lab(viz::testing::linear(viz::Rgb{c & 0xffffff})); };
  for (int y = 0; y < want.height(); ++y)
    for (int x = 0; x < want.width(); ++x) {
      const QRgb a = got.pixel(x, y), b = want.pixel(x, y);
      if (qAlpha(a) == 0 || qAlpha(b) == 0) {
        d.picture.setPixel(x, y, qRgb(70, 70, 70));
        continue;
      }
      const double e = a == b ? 0 : viz::testing::ciede2000(lab_of(a), lab_of(b));
      const int light = std::min(255, static_cast<int>(e * 12));
      d.picture.setPixel(x, y, e > 10 ? qRgb(255, 120, 90) : qRgb(light, light, light));
      ++n;
      n_far += e > 10;
      d.mean += e;
    }
  const double counted = static_cast<double>(std::max<std::size_t>(n, 1));
  d.mean /= counted;
  d.far = static_cast<double>(n_far) / counted;
  d.counted = static_cast<double>(n) / (static_cast<double>(want.width()) * want.height());
  return d;
}

}  // namespace kvscope::testing
