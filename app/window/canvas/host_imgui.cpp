// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/host_imgui.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <imgui_impl_opengl3.h>

#include <QOpenGLExtraFunctions>
#include <QOpenGLFramebufferObject>

namespace kvscope {

namespace {

ImGuiContext* newContext(ImFontAtlas* atlas) {
  ImGuiContext* before = ImGui::GetCurrentContext();
  ImGuiContext* context = ImGui::CreateContext(atlas);  // the first one ever stays current by itself
  ImGui::SetCurrentContext(context);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  ImGui::SetCurrentContext(before);
  return context;
}

void destroyContext(ImGuiContext* context) {
  ImGui::DestroyContext(context);
  if (ImGui::GetCurrentContext() == context) ImGui::SetCurrentContext(nullptr);
}

double msSince(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) * 1e-6; }

}  // namespace

std::unique_ptr<CanvasRenderer> CanvasRenderer::create(QString* reason) {
  std::unique_ptr<CanvasRenderer> renderer(new CanvasRenderer);
  renderer->m_device = GlDevice::create(reason);
  if (!renderer->m_device) return nullptr;
  renderer->m_backend = newContext(nullptr);
  const ImGuiScope scope(renderer->m_backend);
  if (!ImGui_ImplOpenGL3_Init("#version 330")) {
    if (reason) *reason = "The OpenGL functions of this system could not be loaded. The data table shows the same numbers.";
    return nullptr;
  }
  ImGui_ImplOpenGL3_NewFrame();  // compiles the shaders
  renderer->m_text = std::make_unique<TextAtlas>(*renderer->m_device);
  return renderer;
}

std::shared_ptr<CanvasRenderer> CanvasRenderer::shared(QString* reason) {
  static std::weak_ptr<CanvasRenderer> there;
  std::shared_ptr<CanvasRenderer> renderer = there.lock();
  if (!renderer) there = renderer = create(reason);
  return renderer;
}

CanvasRenderer::~CanvasRenderer() {
  if (m_device) m_device->makeCurrent();
  m_text.reset();
  m_fonts.clear();
  if (m_backend) {
    {
      const ImGuiScope scope(m_backend);
      if (ImGui::GetIO().BackendRendererUserData) ImGui_ImplOpenGL3_Shutdown();
    }
    destroyContext(m_backend);
  }
  if (m_device) m_device->doneCurrent();
}

CanvasFonts& CanvasRenderer::fonts(qreal device_pixel_ratio, double type_scale) {
  auto& fonts = m_fonts[{static_cast<int>(std::lround(device_pixel_ratio * 100)), static_cast<int>(std::lround(type_scale * 100))}];
  if (!fonts) fonts = std::make_unique<CanvasFonts>(*m_device, device_pixel_ratio, type_scale);
  return *fonts;
}

void CanvasRenderer::submit(ImDrawData* data) {
  const ImGuiScope scope(m_backend);
  ImGui_ImplOpenGL3_RenderDrawData(data);
}

CanvasSurface::CanvasSurface(CanvasRenderer& renderer) : m_renderer(renderer), m_textures(renderer.device()) {
  m_renderer.device().makeCurrent();
  m_context = newContext(&m_renderer.fonts(1).atlas());
  const ImGuiScope scope(m_context);
  ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  m_clock.start();
}

CanvasSurface::~CanvasSurface() {
  m_renderer.device().makeCurrent();
  m_target.reset();
  destroyContext(m_context);
}

QImage CanvasSurface::frame(const QSize& size, qreal device_pixel_ratio, viz::Rgb background, CanvasInput& input, bool& more,
                            const std::function<void(const viz::Fonts&, viz::TextureStore&, viz::TextPainter&)>& body) {
  more = false;
  if (size.isEmpty() || !m_renderer.device().makeCurrent()) return {};
  const QSize pixels(static_cast<int>(std::lround(size.width() * device_pixel_ratio)),
                     static_cast<int>(std::lround(size.height() * device_pixel_ratio)));
  auto& gl = m_renderer.device().gl();
  if (!m_target || m_target->size() != pixels)
    m_target = std::make_unique<QOpenGLFramebufferObject>(pixels, QOpenGLFramebufferObject::NoAttachment, GL_TEXTURE_2D, GL_RGBA8);
  if (!m_target->isValid() || !m_target->bind()) return {};

  QElapsedTimer timer;
  timer.start();
  CanvasFonts& fonts = m_renderer.fonts(device_pixel_ratio, m_type_scale);
  m_renderer.text().beginFrame(device_pixel_ratio);
  const ImGuiScope scope(m_context);
  ImGuiIO& io = ImGui::GetIO();
  io.Fonts = &fonts.atlas();
  io.DisplaySize = ImVec2(static_cast<float>(size.width()), static_cast<float>(size.height()));
  io.DisplayFramebufferScale = ImVec2(static_cast<float>(device_pixel_ratio), static_cast<float>(device_pixel_ratio));
  io.DeltaTime = std::clamp(static_cast<float>(m_clock.restart()) * 1e-3f, 1e-3f, 0.1f);
  more = input.apply(io);
  ImGui::NewFrame();
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(io.DisplaySize);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  ImGui::Begin("canvas", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoBringToFrontOnFocus);
  body(fonts.fonts(), m_textures, m_renderer.text());
  ImGui::End();
  ImGui::PopStyleVar(4);
  m_cursor = ImGui::GetMouseCursor();
  ImGui::Render();
  m_renderer.text().upload();
  gl.glClearColor(static_cast<float>(background.r()) / 255.f, static_cast<float>(background.g()) / 255.f,
                  static_cast<float>(background.b()) / 255.f, 1.f);
  gl.glDisable(GL_SCISSOR_TEST);
  gl.glClear(GL_COLOR_BUFFER_BIT);
  m_renderer.submit(ImGui::GetDrawData());
  m_times.submit_ms = msSince(timer);

  // OpenGL's first row is the lowest one.
  QImage flipped(pixels, QImage::Format_RGB32);
  gl.glPixelStorei(GL_PACK_ALIGNMENT, 4);
  gl.glReadPixels(0, 0, pixels.width(), pixels.height(), GL_BGRA, GL_UNSIGNED_INT_8_8_8_8_REV, flipped.bits());
  m_target->release();
  std::vector<uchar> row(static_cast<std::size_t>(flipped.bytesPerLine()));
  for (int top = 0, bottom = pixels.height() - 1; top < bottom; ++top, --bottom) {
    std::copy_n(flipped.constScanLine(top), row.size(), row.data());
    std::copy_n(flipped.constScanLine(bottom), row.size(), flipped.scanLine(top));
    std::copy_n(row.data(), row.size(), flipped.scanLine(bottom));
  }
  flipped.setDevicePixelRatio(device_pixel_ratio);
  m_times.total_ms = msSince(timer);
  return flipped;
}

}  // namespace kvscope
