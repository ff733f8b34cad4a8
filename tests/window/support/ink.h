// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is legible in a window, found without looking at pixels: every text that widgets and canvases paint, where its ink stands and how
// much of it shows. Text that is shortened on purpose ends in "…" and is whole in its box; whatever else loses a part is a fault.

#include <algorithm>
#include <memory>
#include <vector>

#include <QAbstractScrollArea>
#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>
#include <QWidget>

#include "app/window/canvas/canvas_widget.h"
#include "viz/draw/scene.h"

namespace kvscope::testing {

/// One text as it was painted, in the window's coordinates.
struct Ink {
  QRectF box;     // of the glyphs, not of the line
  QRectF room;    // what of the window its painter may touch there
  QRegion shown;  // and what of that no other widget covers
  QString text, where;
  bool scrolls = false;  // its widget has scroll bars for what lies outside
  double pixels = 0;     // em
};

/// Notes the texts that are painted; draws nothing.
class InkNotes : public QPaintDevice {
 public:
  struct Note {
    QRectF box, clip;
    QString text;
    double pixels;
  };
  explicit InkNotes(const QWidget& of) : of_(of), engine_(notes) {}
  QPaintEngine* paintEngine() const override { return &engine_; }
  std::vector<Note> notes;

 protected:
  int metric(PaintDeviceMetric what) const override {
    switch (what) {
      case PdmWidth:
        return of_.width();
      case PdmHeight:
        return of_.height();
      case PdmDepth:
        return 32;
      case PdmNumColors:
        return 1 << 24;
      case PdmDevicePixelRatio:
        return 1;
      case PdmDevicePixelRatioScaled:
        return static_cast<int>(devicePixelRatioFScale());
      case PdmWidthMM:
      case PdmHeightMM:
        return 1000;
      default:
        return 96;
    }
  }

 private:
  class Engine : public QPaintEngine {
   public:
    explicit Engine(std::vector<Note>& notes) : QPaintEngine(AllFeatures), notes_(notes) {}
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    void updateState(const QPaintEngineState& now) override {
      if (now.state() & DirtyTransform) transform_ = now.transform();
    }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
      const QString text = item.text().trimmed();
      if (text.isEmpty()) return;
      const QRectF ink = QFontMetricsF(item.font()).tightBoundingRect(item.text());
      const QRectF clip = painter()->hasClipping() ? transform_.mapRect(painter()->clipBoundingRect()) : QRectF();
      notes_.push_back({transform_.mapRect(ink.translated(at)), clip, text, static_cast<double>(QFontInfo(item.font()).pixelSize())});
    }
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
    void drawPath(const QPainterPath&) override {}
    Type type() const override { return User; }

   private:
    std::vector<Note>& notes_;
    QTransform transform_;
  };

  const QWidget& of_;
  mutable Engine engine_;
};

/// What a widget is called in a failure: its nearest names.
inline QString placeOf(const QWidget* widget) {
  QStringList names;
  for (const QWidget* w = widget; w != nullptr && names.size() < 3 && !w->isWindow(); w = w->parentWidget())
    if (!w->objectName().isEmpty() || !w->accessibleName().isEmpty() || w == widget)
      names << QString(w->metaObject()->className()).remove("kvscope::") + (w->objectName().isEmpty() ? "" : "#" + w->objectName()) +
                   (w->accessibleName().isEmpty() ? "" : " (" + w->accessibleName().left(30) + ")");
  return names.join(" in ");
}

inline void addInksOfWidget(QWidget& widget, const QWidget& window, std::vector<Ink>& out) {
  InkNotes notes(widget);
  widget.render(&notes, {}, {}, QWidget::RenderFlags());
  const QPoint at = widget.mapTo(&window, QPoint());
  bool scrolls = false;
  for (const QWidget* w = &widget; w->parentWidget() != nullptr && !w->isWindow(); w = w->parentWidget()) {
    const auto* area = qobject_cast<const QAbstractScrollArea*>(w->parentWidget());
    scrolls = scrolls || (area != nullptr && area->viewport() == w);
  }
  for (const InkNotes::Note& note : notes.notes) {
    QRectF room = widget.rect();
    if (note.clip.isValid()) room = room.intersected(note.clip);
    // A line of which some words are selected is painted once for those and once for the others.
    const auto twin =
        std::ranges::find_if(out, [&](const Ink& ink) { return ink.text == note.text && ink.box == note.box.translated(at); });
    if (twin != out.end()) {
      twin->room = twin->room.united(room.translated(at));
      continue;
    }
    out.push_back({note.box.translated(at), room.translated(at), widget.visibleRegion().translated(at), note.text, placeOf(&widget),
                   scrolls, note.pixels});
  }
}

/// Of one recorded frame. What is filled over a text later hides it: whole texts are gone then, others are cut.
inline void addInksOfCanvas(CanvasWidget& canvas, const QWidget& window, std::vector<Ink>& out) {
  using Kind = viz::SceneCommand::Kind;
  constexpr double kCap = 0.36;    // half the height of digits, in em
  constexpr double kOpaque = 0.9;  // fills that hide what is below
  const QPointF at = canvas.mapTo(&window, QPoint());
  const viz::Scene scene = canvas.scene();
  std::vector<QRectF> clips = {QRectF(canvas.rect())};
  const std::size_t first = out.size();
  for (const viz::SceneCommand& c : scene.commands) {
    const auto rect = [&c] { return QRectF(QPointF(c.points[0].x, c.points[0].y), QPointF(c.points[1].x, c.points[1].y)); };
    if (c.kind == Kind::clip) clips.push_back(clips.back().intersected(rect()));
    if (c.kind == Kind::unclip && clips.size() > 1) clips.pop_back();
    if (c.kind == Kind::rect && c.alpha >= kOpaque) {
      const QRectF cover = rect().intersected(clips.back()).translated(at);
      for (std::size_t i = first; i < out.size(); ++i) {
        if (!cover.intersects(out[i].box)) continue;
        out[i].shown -= cover.toRect();
      }
    }
    if (c.kind != Kind::text || c.text.empty() || c.points.empty()) continue;
    const double x = c.points[0].x, y = c.points[0].y, em = c.em, w = c.width;
    const QRectF box = c.vertical ? QRectF(x - em * kCap, y, 2 * em * kCap, w) : QRectF(x, y - em * kCap, w, 2 * em * kCap);
    out.push_back({box.translated(at), clips.back().translated(at), canvas.visibleRegion().translated(at.toPoint()), qs(c.text),
                   QString("canvas ") + canvas.view().id(), false, em});
  }
  std::erase_if(out, [&](const Ink& ink) { return &ink >= out.data() + first && !ink.shown.intersects(ink.box.toRect()); });
}

/// Every text of the window.
inline std::vector<Ink> inksOf(QWidget& window) {
  std::vector<Ink> out;
  QList<QWidget*> widgets = window.findChildren<QWidget*>();
  for (QWidget* widget : widgets) {
    if (!widget->isVisible() || widget->visibleRegion().isEmpty() || widget->window() != &window) continue;
    if (auto* canvas = qobject_cast<CanvasWidget*>(widget))
      addInksOfCanvas(*canvas, window, out);
    else
      addInksOfWidget(*widget, window, out);
  }
  return out;
}

/// Why a text is not whole; empty: it is.
inline QString cutOf(const Ink& ink) {
  constexpr double kLoose = 1.5;  // px of a glyph's edge that antialiasing may spend
  const QRectF core = ink.box.adjusted(kLoose, kLoose, -kLoose, -kLoose);
  if (core.width() <= 0 || core.height() <= 0) return {};
  if (!ink.room.contains(core)) {
    // What a scroll bar brings is not lost; a line or a column that shows in part is.
    const bool outside = !ink.room.intersects(core);
    if (ink.scrolls && outside) return {};
    return QString("cut at %1")
        .arg(core.left() < ink.room.left()     ? "its left"
             : core.right() > ink.room.right() ? "its right"
             : core.top() < ink.room.top()     ? "its top"
                                               : "its bottom");
  }
  if (ink.scrolls) return {};  // scrolled to by the pixel
  return (QRegion(core.toRect()) - ink.shown).isEmpty() ? QString() : QString("covered");
}

/// Two texts on one place, unless one of them does not show there.
inline bool overlap(const Ink& a, const Ink& b) {
  constexpr double kTouch = 2;
  const QRectF both = a.box.intersected(a.room).intersected(b.box.intersected(b.room));
  if (both.width() <= kTouch || both.height() <= kTouch) return false;
  return a.shown.intersects(both.toRect()) && b.shown.intersects(both.toRect());
}

}  // namespace kvscope::testing
