// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <imgui.h>

#include "app/window/gl_device.h"
#include "viz/canvas.h"

namespace kvscope {

/// The fonts of all canvases for one device pixel ratio: rasterised at size x ratio by FreeType, measured in logical pixels.
class CanvasFonts {
 public:
  /// The device must be current.
  CanvasFonts(GlDevice& device, qreal device_pixel_ratio);
  ~CanvasFonts();
  CanvasFonts(const CanvasFonts&) = delete;
  CanvasFonts& operator=(const CanvasFonts&) = delete;

  ImFontAtlas& atlas() { return *m_atlas; }
  const viz::Fonts& fonts() const { return m_fonts; }

 private:
  ImFont* add(const char* file, const char* fallback, float px, qreal ratio);

  GlDevice& m_device;
  std::unique_ptr<ImFontAtlas> m_atlas;
  viz::Fonts m_fonts;
  unsigned m_texture = 0;
};

}  // namespace kvscope
