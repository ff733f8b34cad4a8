// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QString>
#include <QWidget>

#include "app/window/look/style.h"
#include "snapshot/snapshot.h"
#include "viz/draw/format.h"
#include "viz/draw/theme.h"

namespace kvscope {

// What the painted Qt panels share: type sizes, tints and the swatches of the legends.

QColor mix(const QColor& a, const QColor& b, double t);  // t = 0: a, 1: b; in sRGB
/// WCAG contrast of two opaque colours, 1..21.
double contrast(const QColor& a, const QColor& b);

inline QString qs(std::string_view utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }
/// "1 run", "12 345 runs".
inline QString counted(std::int64_t n, std::string_view one, std::string_view many) { return qs(viz::count_of(n, one, many)); }

/// How much larger than at 100 % (13 px text) this widget's type is.
double typeScale(const QWidget& widget);
/// A length of the design in this widget's scale.
inline int px(const QWidget& widget, double length) { return static_cast<int>(length * typeScale(widget) + 0.5); }

enum class Type { caption = 11, body = 12, control = 13, text = 14, changed = 20, headline = 26 };
enum class TypeFace { proportional, tabular };
QFont typeFont(const QWidget& widget, Type type, bool bold = false, TypeFace face = TypeFace::proportional);

/// Colour of a lane's lines and bars: lane 0, the reference, is neutral.
QColor laneColour(const viz::Theme& theme, int lane);
/// The ramp's colour as a fill behind text: it fades into the panel towards 0.
QColor rampTint(const viz::Theme& theme, double t);
/// The category's colour as a tint behind text; invalid where no fill is drawn (evicted, unseen).
QColor categoryTint(const viz::Theme& theme, Category category);

/// Text colour that can be read on a fill: the theme's, else its opposite, at last black or white.
QColor inkOn(const viz::Theme& theme, const QColor& fill);

/// The legend's square of a category with its glyph, which says the same without colour.
void paintSwatch(QPainter& painter, const QRectF& square, const viz::Theme& theme, Category category);
void paintHorizontalLine(QPainter& painter, const viz::Theme& theme, int x1, int x2, int y);
/// The first of `words` that is at most `width` pixels wide; else the last, the briefest.
QString fitting(const QFontMetrics& metrics, int width, std::initializer_list<QString> words);
/// Of facts "a · b · c" as many of the first as fit, whole; where even one is too long, its first words and "…". Nothing is ever cut within
/// a word or number.
QString factsThatFit(const QFontMetrics& metrics, int width, QString facts);
/// Text in one line inside `rect`, cut with … at the end if it is too long.
void paintLine(QPainter& painter, const QRect& rect, Qt::Alignment alignment, const QString& text);

/// Index (layer-major) of a selected head; nullopt where none is selected or the model has no such head.
std::optional<int> selectedHead(const Snapshot& snapshot, std::optional<int> layer, std::optional<int> kvHead);

}  // namespace kvscope
