// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/canvases.h"

namespace kvscope {

Canvases::Canvases(Workspace& workspace, const std::shared_ptr<viz::TokenWindow>& zoom)
    : m_workspace(workspace), m_zoom(zoom), m_renderer(CanvasRenderer::shared(&m_no_pictures)) {}

CanvasWidget& Canvases::add(std::unique_ptr<viz::View> view) {
  m_views.push_back(std::move(view));
  m_all.push_back(new CanvasWidget(*m_views.back(), m_workspace, m_renderer.get(), m_no_pictures));
  return *m_all.back();
}

CanvasWidget* Canvases::of(const std::string& id) const {
  for (CanvasWidget* canvas : m_all)
    if (id == canvas->view().id()) return canvas;
  return nullptr;
}

QString Canvases::drawnBy() const { return m_renderer ? "Pictures: OpenGL 3.3, " + m_renderer->device().renderer() : m_no_pictures; }

void Canvases::redraw() {
  for (CanvasWidget* canvas : m_all) canvas->invalidate();
}

}  // namespace kvscope
