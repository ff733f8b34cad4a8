// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <QImage>
#include <QWidget>

#include "app/window/canvas/host_imgui.h"
#include "viz/canvas.h"
#include "viz/draw/scene.h"

namespace kvscope {

class Workspace;

/// Shows one view and gives it mouse, keys and focus; what the user does there goes to the workspace (selection, hover, step) or out as a
/// signal. Draws only when something changed, and two frames more until ImGui has settled.
class CanvasWidget : public QWidget {
  Q_OBJECT

 public:
  /// `renderer` may be nullptr: the canvas then shows `reason` instead of a picture. Both view and renderer outlive the widget.
  CanvasWidget(viz::View& view, Workspace& workspace, CanvasRenderer* renderer, QString reason, QWidget* parent = nullptr);
  ~CanvasWidget() override;

  viz::View& view() const { return m_view; }
  /// As the mouse does it.
  void click(const QPoint& at);
  QString facts() const;
  viz::Table table() const;
  QString cursorText() const;
  /// The cell under the cursor, and what the whole picture shows.
  QString description() const;
  /// What the word at a place of the canvas means (Shift+F1).
  QString whatIsAt(const QPoint& at) const;
  int framesDrawn() const { return m_frames_drawn; }
  int paints() const { return m_paints; }
  /// Of the snapshot that the last frame drew.
  std::uint64_t drawnGeneration() const { return m_drawn_generation; }
  const CanvasSurface::Times& times() const;
  /// True when nothing waits to be drawn.
  bool settled() const { return m_to_draw == 0 || !m_surface; }
  /// The canvas as it is now, without mouse, focus and dimming: as drawing commands, and with `scale` pixels per logical one.
  /// `alone`: to leave the page, with what is explained beside the canvas there, and higher where it needs that to say all.
  viz::Scene scene(bool alone = false);
  QImage picture(qreal scale, bool alone = false) { return still(scale, nullptr, size(), frameTheme(), alone); }
  /// The same at another size (of a canvas that is not on screen) and in another theme.
  QImage picture(qreal scale, const QSize& size, const viz::Theme& theme);
  /// Type and hit targets this much larger than at 100 %; `plain`: one thought a picture. The lecture has both.
  void setLook(double scale, bool plain);
  double scale() const { return m_scale; }
  /// The next paint draws anew.
  void invalidate();
  /// Gives the view a key by its name ("0": all of it). False: it has no use for it.
  bool takeKey(const std::string& key);
  QSize sizeHint() const override { return {320, 160}; }
  /// Of an option of its view, as the list in its panel's header does.
  void choose(std::size_t option, int choice);
  QSize minimumSizeHint() const override { return {120, 60}; }

 Q_SIGNALS:
  void factsChanged();
  void openInspectorRequested();
  void budgetRequested(int lane, int layer, int kvHead, int nSlots);
  void contextMenuRequested(const QPoint& globalPosition);
  void removeLaneRequested(int lane);
  void cancelRunRequested(int id);
  void editRequested(kvscope::viz::EditTokens::What what);
  void measureWanted(const kvscope::viz::WantMeasure& wanted);
  void focused();
  /// At the end of a paint that drew: when it began, and its CPU time up to the last OpenGL call.
  void painted(std::chrono::steady_clock::time_point begin, double submitMs);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  viz::Frame frame() const;
  const viz::Theme& frameTheme() const;
  QImage still(qreal scale, viz::Scene* scene, const QSize& size, const viz::Theme& theme, bool alone);
  QImage rendered(qreal scale, viz::Scene* scene, const QSize& size, const viz::Theme& theme, bool alone);
  void draw();
  void drawFrames(int frames);
  void handle(const std::vector<viz::Intent>& intents);
  void handleOne(const viz::Intent& intent);
  void mouseButton(QMouseEvent* event, bool down);
  void announce();
  void offer(const viz::OfferList& list);

  viz::View& m_view;
  Workspace& m_workspace;
  CanvasRenderer* m_renderer;
  QString m_reason;
  std::unique_ptr<CanvasSurface> m_surface;
  CanvasInput m_input;
  QImage m_picture;
  double m_scale = 1;
  bool m_plain = false;
  int m_to_draw = 1;  // frames until nothing changes any more
  int m_frames_drawn = 0;
  int m_paints = 0;
  std::uint64_t m_drawn_generation = 0;
  bool m_leaving = false;
  bool m_by_key = false;                   // the keyboard is in use here: its cursor and the ring show
  std::vector<viz::WantMeasure> m_wanted;  // what this canvas asked for; taken back when it is hidden
  QPoint m_mouse;
  QString m_tooltip;
  QString m_announced;
  QString m_drawn_facts;
};

/// "Shift+Right", "Enter", "+": how views name keys. Empty for keys no view gets (Tab, modifiers alone).
QString keyName(const QKeyEvent& event);

}  // namespace kvscope
