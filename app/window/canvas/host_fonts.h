// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <imgui.h>

#include <QRawFont>

#include "app/window/canvas/gl_device.h"
#include "viz/canvas.h"

namespace kvscope {

/// The fonts of all canvases for one device pixel ratio and type scale: rasterised at size x scale x ratio by FreeType, measured in logical
/// pixels.
class CanvasFonts {
 public:
  /// The device must be current.
  CanvasFonts(GlDevice& device, qreal device_pixel_ratio, double type_scale = 1);
  ~CanvasFonts();
  CanvasFonts(const CanvasFonts&) = delete;
  CanvasFonts& operator=(const CanvasFonts&) = delete;

  ImFontAtlas& atlas() { return *m_atlas; }
  const viz::Fonts& fonts() const { return m_fonts; }

 private:
  struct Face {
    ImFont* font = nullptr;
    std::vector<QRawFont> sources;  // in the order of preference
    double em = 0;                  // device pixels
  };
  ImFont* add(const char* file, const char* fallback, double em);

  GlDevice& m_device;
  std::unique_ptr<ImFontAtlas> m_atlas;
  viz::Fonts m_fonts;
  std::vector<Face> m_faces;  // while they are built
  unsigned m_texture = 0;
};

}  // namespace kvscope
