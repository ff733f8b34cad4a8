// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <QElapsedTimer>
#include <QImage>

#include "app/window/canvas/gl_device.h"
#include "app/window/canvas/gl_textures.h"
#include "app/window/canvas/host_fonts.h"
#include "app/window/canvas/host_input.h"
#include "app/window/canvas/text_atlas.h"

class QOpenGLFramebufferObject;

namespace kvscope {

/// Makes one ImGui context current for a scope; the one before comes back afterwards.
class ImGuiScope {
 public:
  explicit ImGuiScope(ImGuiContext* context) : m_before(ImGui::GetCurrentContext()) { ImGui::SetCurrentContext(context); }
  ~ImGuiScope() { ImGui::SetCurrentContext(m_before); }
  ImGuiScope(const ImGuiScope&) = delete;
  ImGuiScope& operator=(const ImGuiScope&) = delete;

 private:
  ImGuiContext* m_before;
};

/// What all canvases share: the GL device, ImGui's OpenGL backend (once, in a context of its own), fonts per pixel ratio, token text.
class CanvasRenderer {
 public:
  /// nullptr when the pictures cannot be drawn on this system; `reason` says why and what to do.
  static std::unique_ptr<CanvasRenderer> create(QString* reason);
  /// The one of this program, as long as somebody has it: shaders and fonts are made once for all windows.
  static std::shared_ptr<CanvasRenderer> shared(QString* reason);
  ~CanvasRenderer();
  CanvasRenderer(const CanvasRenderer&) = delete;
  CanvasRenderer& operator=(const CanvasRenderer&) = delete;

  GlDevice& device() { return *m_device; }
  TextAtlas& text() { return *m_text; }
  CanvasFonts& fonts(qreal device_pixel_ratio, double type_scale = 1);
  void submit(ImDrawData* data);

 private:
  CanvasRenderer() = default;
  std::unique_ptr<GlDevice> m_device;
  std::unique_ptr<TextAtlas> m_text;
  std::map<std::pair<int, int>, std::unique_ptr<CanvasFonts>> m_fonts;  // by ratio and type scale, both in percent
  ImGuiContext* m_backend = nullptr;
};

/// Where one canvas is drawn: an ImGui context and a framebuffer; the picture comes back as an image.
class CanvasSurface {
 public:
  explicit CanvasSurface(CanvasRenderer& renderer);
  ~CanvasSurface();
  CanvasSurface(const CanvasSurface&) = delete;
  CanvasSurface& operator=(const CanvasSurface&) = delete;

  struct Times {
    double submit_ms = 0;  // the view's drawing and the OpenGL calls on this thread
    double total_ms = 0;   // with rasterising and reading back
  };
  /// One frame. `body` draws inside a borderless ImGui window of `size` logical pixels. True in `more` if input waits for another frame.
  QImage frame(const QSize& size, qreal device_pixel_ratio, viz::Rgb background, CanvasInput& input, bool& more,
               const std::function<void(const viz::Fonts&, viz::TextureStore&, viz::TextPainter&)>& body);
  /// How much larger than at 100 % the type of the next frames is.
  void setTypeScale(double scale) { m_type_scale = scale; }
  /// For calls into a view outside of a frame (keys, tables).
  ImGuiContext* context() const { return m_context; }
  const Times& times() const { return m_times; }
  ImGuiMouseCursor cursor() const { return m_cursor; }

 private:
  CanvasRenderer& m_renderer;
  ImGuiContext* m_context = nullptr;
  std::unique_ptr<QOpenGLFramebufferObject> m_target;
  GlTextures m_textures;
  QElapsedTimer m_clock;
  Times m_times;
  double m_type_scale = 1;
  ImGuiMouseCursor m_cursor = ImGuiMouseCursor_Arrow;
};

}  // namespace kvscope
