// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <QString>

#include "app/window/canvas/canvas_widget.h"
#include "viz/canvas.h"

namespace kvscope {

/// The views of a window and the canvases that show them, with what they draw with. Widgets hold OpenGL objects and views: they have to go
/// first.
class Canvases {
 public:
  Canvases(Workspace& workspace, const std::shared_ptr<viz::TokenWindow>& zoom);

  const std::shared_ptr<viz::TokenWindow>& zoom() const { return m_zoom; }
  /// A canvas of this view, listed from now on.
  CanvasWidget& add(std::unique_ptr<viz::View> view);
  const std::vector<CanvasWidget*>& all() const { return m_all; }
  CanvasWidget* of(const std::string& id) const;  // nullptr: no such view
  /// Of the view that is registered first.
  CanvasWidget& main() const { return *m_all.front(); }
  /// Why canvases show a sentence instead of a picture; empty if they draw.
  const QString& noPictures() const { return m_no_pictures; }
  /// With what pictures are drawn, or why there are none.
  QString drawnBy() const;
  /// As after a change that they do not know of.
  void redraw();

 private:
  Workspace& m_workspace;
  std::shared_ptr<viz::TokenWindow> m_zoom;
  QString m_no_pictures;
  std::shared_ptr<CanvasRenderer> m_renderer;
  std::vector<std::unique_ptr<viz::View>> m_views;
  std::vector<CanvasWidget*> m_all;
};

}  // namespace kvscope
