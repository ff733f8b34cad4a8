// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/panel_paint.h"

#include <algorithm>
#include <cmath>

#include <QFontInfo>
#include <QFontMetrics>
#include <QPainterPath>

#include "viz/reduce/run_look.h"

namespace kvscope {

namespace {
constexpr double kUiPixels = 13;  // size of the controls' text at 100 %
constexpr double kFadeIn = 0.5;   // share of the ramp over which its tint appears

double luminance(const QColor& c) {
  const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}
}  // namespace

QColor mix(const QColor& a, const QColor& b, double t) {
  return QColor::fromRgbF(static_cast<float>(a.redF() + (b.redF() - a.redF()) * t),
                          static_cast<float>(a.greenF() + (b.greenF() - a.greenF()) * t),
                          static_cast<float>(a.blueF() + (b.blueF() - a.blueF()) * t));
}

double contrast(const QColor& a, const QColor& b) {
  const double la = luminance(a), lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

double typeScale(const QWidget& widget) { return std::max(0.5, QFontInfo(widget.font()).pixelSize() / kUiPixels); }

QFont typeFont(const QWidget& widget, Type type, bool bold, TypeFace face) {
  const int pixels = px(widget, static_cast<int>(type));
  return face == TypeFace::tabular ? monoFont(pixels, bold) : uiFont(pixels, bold);
}

QColor laneColour(const viz::Theme& theme, int lane) {
  if (lane < 1) return toColor(theme.secondary);
  return toColor(viz::lane_colour(theme, lane));
}

QColor rampTint(const viz::Theme& theme, double t) {
  if (!(t > 0)) return {};
  return mix(toColor(theme.panel), toColor(viz::ramp(theme.sequential, t)), std::min(1.0, t / kFadeIn));
}

QColor inkOn(const viz::Theme& theme, const QColor& fill) {
  // One light and one dark ink: two greys of nearly the same lightness would look like a change of weight.
  constexpr double kLegible = 4.5;  // WCAG AA for text of this size
  const bool light = toColor(theme.text).lightnessF() > 0.5;
  const QColor own = light ? Qt::white : Qt::black, other = light ? Qt::black : Qt::white;
  return contrast(own, fill) >= kLegible ? own : other;
}

QColor categoryTint(const viz::Theme& theme, Category category) {
  if (category == Category::evicted || category == Category::unseen) return {};
  return mix(toColor(theme.panel), toColor(theme.category[static_cast<std::size_t>(category)]), theme.text_tint);
}

void paintSwatch(QPainter& painter, const QRectF& square, const viz::Theme& theme, Category category) {
  const QColor fill = toColor(theme.category[static_cast<std::size_t>(category)]);
  const QColor panel = toColor(theme.panel);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  if (category == Category::evicted) {
    painter.setPen(QPen(toColor(theme.evicted_outline), 1));
    painter.drawRect(square.adjusted(0.5, 0.5, -0.5, -0.5));
    painter.restore();
    return;
  }
  if (category == Category::merged) {  // upper left half full, the other half darker
    painter.fillRect(square, mix(fill, panel, 0.45));
    painter.setBrush(fill);
    QPainterPath half;
    half.addPolygon(QPolygonF({square.topLeft(), square.topRight(), square.bottomLeft()}));
    painter.drawPath(half);
  } else {
    painter.fillRect(square, fill);
  }
  if (category == Category::fresh) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(panel, 1));
    painter.drawRect(square.adjusted(2.5, 2.5, -2.5, -2.5));
  } else if (category == Category::sink) {
    painter.setBrush(Qt::white);
    const double r = square.width() * 0.17;
    painter.drawEllipse(square.center(), r, r);
  }
  if (!theme.dark && contrast(fill, panel) < 3) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(fill.darker(140), 1));
    painter.drawRect(square.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  painter.restore();
}

void paintHorizontalLine(QPainter& painter, const viz::Theme& theme, int x1, int x2, int y) {
  painter.fillRect(QRect(x1, y, x2 - x1, 1), toColor(theme.line));
}

QString fitting(const QFontMetrics& metrics, int width, std::initializer_list<QString> words) {
  for (const QString& word : words)
    if (metrics.elidedText(word, Qt::ElideRight, width) == word) return word;  // an advance in whole pixels may be too small
  return *(words.end() - 1);
}

QString factsThatFit(const QFontMetrics& metrics, int width, QString facts) {
  while (metrics.horizontalAdvance(facts) > width) {
    const qsizetype end = facts.lastIndexOf(" · ");
    if (end <= 0) break;
    facts.truncate(end);
  }
  if (metrics.horizontalAdvance(facts) <= width) return facts;
  while (!facts.isEmpty() && metrics.horizontalAdvance(facts + " …") > width) {
    facts.truncate(std::max<qsizetype>(0, facts.lastIndexOf(' ')));
    while (!facts.isEmpty() && !facts.back().isLetterOrNumber()) facts.chop(1);  // "167 +" says no more than "167"
  }
  const bool says_something = std::ranges::any_of(facts, [](QChar c) { return c.isLetter(); });  // "167 …" does not
  return says_something ? facts + " …" : QString();
}

void paintLine(QPainter& painter, const QRect& rect, Qt::Alignment alignment, const QString& text) {
  painter.drawText(rect, static_cast<int>(alignment) | Qt::TextSingleLine | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(text, Qt::ElideRight, rect.width()));
}

std::optional<int> selectedHead(const Snapshot& snapshot, std::optional<int> layer, std::optional<int> kvHead) {
  if (!layer || !kvHead) return std::nullopt;
  if (*layer < 0 || *layer >= snapshot.model.n_layers || *kvHead < 0 || *kvHead >= snapshot.model.n_kv_heads) return std::nullopt;
  return *layer * snapshot.model.n_kv_heads + *kvHead;
}

}  // namespace kvscope
