// SPDX-License-Identifier: Apache-2.0
#include "app/window/host_fonts.h"

#include <imgui_freetype.h>

#include <QOpenGLExtraFunctions>

#include "app/window/style.h"
#include "viz/draw.h"

namespace kvscope {

namespace {

/// Glyph metrics from raster pixels to logical ones, so that views never meet the ratio.
void toLogical(ImFont& font, float ratio) {
  for (ImFontGlyph& glyph : font.Glyphs) {
    glyph.X0 /= ratio;
    glyph.X1 /= ratio;
    glyph.Y0 /= ratio;
    glyph.Y1 /= ratio;
    glyph.AdvanceX /= ratio;
  }
  for (float& advance : font.IndexAdvanceX) advance /= ratio;
  font.FallbackAdvanceX /= ratio;
  font.FontSize /= ratio;
  font.Ascent /= ratio;
  font.Descent /= ratio;
}

}  // namespace

CanvasFonts::CanvasFonts(GlDevice& device, qreal device_pixel_ratio) : m_device(device), m_atlas(std::make_unique<ImFontAtlas>()) {
  m_atlas->FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  m_atlas->FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
  m_atlas->Flags |= ImFontAtlasFlags_NoMouseCursors;
  m_fonts.normal = add("NotoSans-Regular.ttf", "DejaVuSans.ttf", 12, device_pixel_ratio);  // first: the default
  m_fonts.small = add("NotoSans-Regular.ttf", "DejaVuSans.ttf", 11, device_pixel_ratio);
  m_fonts.bold = add("NotoSans-Bold.ttf", "DejaVuSans-Bold.ttf", 12, device_pixel_ratio);
  m_fonts.mono = add("NotoSansMono-Regular.ttf", "DejaVuSansMono.ttf", 12, device_pixel_ratio);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  m_atlas->GetTexDataAsRGBA32(&pixels, &width, &height);
  if (device_pixel_ratio != 1)
    for (ImFont* font : m_atlas->Fonts) toLogical(*font, static_cast<float>(device_pixel_ratio));
  auto& gl = m_device.gl();
  gl.glGenTextures(1, &m_texture);
  gl.glBindTexture(GL_TEXTURE_2D, m_texture);
  gl.glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  m_atlas->SetTexID(reinterpret_cast<ImTextureID>(static_cast<std::intptr_t>(m_texture)));
}

CanvasFonts::~CanvasFonts() {
  if (m_texture && m_device.makeCurrent()) m_device.gl().glDeleteTextures(1, &m_texture);
}

ImFont* CanvasFonts::add(const char* file, const char* fallback, float px, qreal ratio) {
  const float size = static_cast<float>(px * ratio);
  ImFontConfig config;
  ImFont* font = nullptr;
  for (const char* name : {file, fallback}) {  // the second one brings the arrows and marks that the first lacks
    const QString path = findFontFile(name);
    if (path.isEmpty()) continue;
    config.MergeMode = font != nullptr;
    ImFont* added = m_atlas->AddFontFromFileTTF(path.toUtf8().constData(), size, &config, viz::canvas_glyph_ranges());
    if (!font) font = added;
  }
  if (font) return font;
  ImFontConfig plain;  // no font installed: ImGui's own
  plain.SizePixels = size;
  return m_atlas->AddFontDefault(&plain);
}

}  // namespace kvscope
