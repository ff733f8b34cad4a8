// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <QString>

class QOpenGLContext;
class QOpenGLExtraFunctions;
class QOffscreenSurface;

namespace kvscope {

/// Before there is a window. A driver (Mesa) keeps its shaders in a file that it maps: where the disk is full, the first touch ends the
/// program.
void spareShaderCache();

/// The one OpenGL context of the window, on a surface that is never shown. Canvases draw into framebuffers of it and the result is read
/// back: on software OpenGL that costs a tenth of composing a QOpenGLWidget into the window.
class GlDevice {
 public:
  /// nullptr when there is no OpenGL 3.3; `reason` then says why and what to do, in one or two sentences.
  static std::unique_ptr<GlDevice> create(QString* reason);
  ~GlDevice();
  GlDevice(const GlDevice&) = delete;
  GlDevice& operator=(const GlDevice&) = delete;

  bool makeCurrent();
  void doneCurrent();
  QOpenGLExtraFunctions& gl() const;
  const QString& renderer() const { return m_renderer; }

 private:
  GlDevice();
  std::unique_ptr<QOffscreenSurface> m_surface;
  std::unique_ptr<QOpenGLContext> m_context;
  QString m_renderer;
};

}  // namespace kvscope
