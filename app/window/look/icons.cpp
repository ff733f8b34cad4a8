// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

#include "app/window/look/style.h"

namespace kvscope {

namespace {

constexpr int kSize = 16;

void polygon(QPainterPath& path, std::initializer_list<QPointF> points, bool closed) {
  auto it = points.begin();
  path.moveTo(*it++);
  for (; it != points.end(); ++it) path.lineTo(*it);
  if (closed) path.closeSubpath();
}

/// Strokes of 1.4 px on a grid of 16 x 16; `solid` shapes are filled instead.
void hatchedSquare(QPainterPath& p) {
  p.addRect(3, 3, 10, 10);
  for (const double at : {0.0, 5.0}) {
    polygon(p, {{3, 8 + at}, {8 + at, 3}}, false);
    polygon(p, {{3 + at, 13}, {13, 3 + at}}, false);
  }
}

void strokes(QPainterPath& p, std::initializer_list<std::initializer_list<QPointF>> lines) {
  for (const auto& line : lines) polygon(p, line, false);
}

QPainterPath shape(Icon which, bool& solid) {
  QPainterPath p;
  solid = false;
  switch (which) {
    case Icon::open:
      polygon(p, {{2, 12.5}, {2, 3.5}, {6, 3.5}, {7.5, 5.5}, {14, 5.5}, {14, 12.5}}, true);
      break;
    case Icon::save:
      polygon(p, {{2.5, 2.5}, {11.5, 2.5}, {13.5, 4.5}, {13.5, 13.5}, {2.5, 13.5}}, true);
      polygon(p, {{5, 13.5}, {5, 9}, {11, 9}, {11, 13.5}}, false);
      polygon(p, {{5.5, 2.5}, {5.5, 5.5}, {10, 5.5}, {10, 2.5}}, false);
      break;
    case Icon::play:
      polygon(p, {{4, 2.5}, {13, 8}, {4, 13.5}}, true);
      solid = true;
      break;
    case Icon::stop:
      p.addRect(4, 4, 8, 8);
      solid = true;
      break;
    case Icon::next:
      polygon(p, {{4, 3}, {10.5, 8}, {4, 13}}, true);
      polygon(p, {{12.5, 3}, {12.5, 13}}, false);
      break;
    case Icon::add:
      strokes(p, {{{8, 3}, {8, 13}}, {{3, 8}, {13, 8}}});
      break;
    case Icon::compare:
      p.addRect(2.5, 3, 4.5, 10);
      p.addRect(9.5, 3, 4.5, 10);
      break;
    case Icon::maximise:
      strokes(p, {{{9.5, 3.5}, {12.5, 3.5}, {12.5, 6.5}}, {{6.5, 12.5}, {3.5, 12.5}, {3.5, 9.5}}});
      break;
    case Icon::restore:
      strokes(p, {{{13, 6.5}, {9.5, 6.5}, {9.5, 3}}, {{3, 9.5}, {6.5, 9.5}, {6.5, 13}}});
      break;
    case Icon::close:
      strokes(p, {{{4.5, 4.5}, {11.5, 11.5}}, {{11.5, 4.5}, {4.5, 11.5}}});
      break;
    case Icon::find:
      p.addEllipse(QPointF(7, 7), 4.2, 4.2);
      polygon(p, {{10.2, 10.2}, {13.5, 13.5}}, false);
      break;
    case Icon::left:
      polygon(p, {{10, 3.5}, {5.5, 8}, {10, 12.5}}, false);
      break;
    case Icon::right:
      polygon(p, {{6, 3.5}, {10.5, 8}, {6, 12.5}}, false);
      break;
    case Icon::first:
      polygon(p, {{11.5, 4}, {7.5, 8}, {11.5, 12}}, false);
      polygon(p, {{4.5, 4}, {4.5, 12}}, false);
      break;
    case Icon::last:
      polygon(p, {{4.5, 4}, {8.5, 8}, {4.5, 12}}, false);
      polygon(p, {{11.5, 4}, {11.5, 12}}, false);
      break;
    case Icon::playLine:
      polygon(p, {{5, 3.5}, {12, 8}, {5, 12.5}}, true);
      break;
    case Icon::bookmark:
      polygon(p, {{4, 2.5}, {4, 13.5}}, false);
      polygon(p, {{4, 3}, {12.5, 6}, {4, 9}}, false);
      break;
    case Icon::menu:
      for (const double y : {4.0, 8.0, 12.0}) polygon(p, {{3, y}, {13, y}}, false);
      break;
    case Icon::ghosts:
      hatchedSquare(p);
      break;
    case Icon::pause:
      polygon(p, {{6, 4}, {6, 12}}, false);
      polygon(p, {{10, 4}, {10, 12}}, false);
      break;
  }
  return p;
}

/// Drawn in the size that is asked for: of the toolbar, of a lecture on a large screen.
class LineIcon final : public QIconEngine {
 public:
  LineIcon(Icon which, const QColor& colour, const QColor& disabled) : m_which(which), m_colour(colour), m_disabled(disabled) {}
  QIconEngine* clone() const override { return new LineIcon(*this); }
  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->translate(rect.topLeft());
    painter->scale(rect.width() / static_cast<double>(kSize), rect.height() / static_cast<double>(kSize));
    const QColor& colour = mode == QIcon::Disabled ? m_disabled : m_colour;
    bool solid = false;
    const QPainterPath path = shape(m_which, solid);
    solid ? painter->fillPath(path, colour) : painter->strokePath(path, QPen(colour, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter->restore();
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap out(size);
    out.fill(Qt::transparent);
    QPainter painter(&out);
    paint(&painter, QRect(QPoint(), size), mode, state);
    return out;
  }

 private:
  Icon m_which;
  QColor m_colour, m_disabled;
};

}  // namespace

// Made once: what draws a widget may keep what it knows of every icon that was shown, although nobody has it any more.
QIcon icon(Icon which, const QColor& colour, const QColor& disabled) {
  static auto& made = *new std::map<std::tuple<Icon, QRgb, QRgb>, QIcon>;  // never destroyed: after the application nobody may
  QIcon& result = made[{which, colour.rgba(), disabled.rgba()}];
  if (result.isNull()) result = QIcon(new LineIcon(which, colour, disabled));
  return result;
}

}  // namespace kvscope
