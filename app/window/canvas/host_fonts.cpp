// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/host_fonts.h"

#include <cmath>

#include <imgui_freetype.h>

#include <QOpenGLExtraFunctions>

#include "app/window/look/style.h"
#include "viz/draw/draw.h"

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

/// ImGui's sizes are line heights; this is the line height of a font whose em is one pixel.
double lineHeight(const QRawFont& raw) { return (raw.ascent() + raw.descent()) / raw.pixelSize(); }

/// FreeType's bitmaps, but advances rounded to the nearest pixel as Qt does; ImGui's builder rounds up, which spaces small type out.
void setAdvances(ImFont& font, const std::vector<QRawFont>& sources, double em) {
  for (ImFontGlyph& glyph : font.Glyphs) {
    const char32_t c = glyph.Codepoint;
    for (const QRawFont& raw : sources) {
      if (!raw.supportsCharacter(c)) continue;
      const QList<quint32> index = raw.glyphIndexesForString(QString::fromUcs4(&c, 1));
      if (index.isEmpty()) break;
      const QPointF advance = raw.advancesForGlyphIndexes(index, QRawFont::UseDesignMetrics).front();
      glyph.AdvanceX = static_cast<float>(std::round(advance.x() / raw.pixelSize() * em));
      if (c < static_cast<char32_t>(font.IndexAdvanceX.Size)) font.IndexAdvanceX[static_cast<int>(c)] = glyph.AdvanceX;
      break;
    }
  }
}

}  // namespace

CanvasFonts::CanvasFonts(GlDevice& device, qreal device_pixel_ratio, double type_scale)
    : m_device(device), m_atlas(std::make_unique<ImFontAtlas>()) {
  m_atlas->FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  m_atlas->FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
  m_atlas->Flags |= ImFontAtlasFlags_NoMouseCursors;
  const double em = device_pixel_ratio * type_scale;
  m_fonts.normal = add("NotoSans-Regular.ttf", "DejaVuSans.ttf", 12 * em);  // first: the default
  m_fonts.small = add("NotoSans-Regular.ttf", "DejaVuSans.ttf", 11 * em);
  m_fonts.bold = add("NotoSans-Bold.ttf", "DejaVuSans-Bold.ttf", 12 * em);
  m_fonts.mono = add("NotoSansMono-Regular.ttf", "DejaVuSansMono.ttf", 12 * em);
  m_fonts.headline = add("NotoSans-Bold.ttf", "DejaVuSans-Bold.ttf", 20 * em);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  m_atlas->GetTexDataAsAlpha8(&pixels, &width, &height);  // a quarter of what the same coverage in four colours takes
  for (const Face& face : m_faces) {
    setAdvances(*face.font, face.sources, face.em);
    if (device_pixel_ratio != 1) toLogical(*face.font, static_cast<float>(device_pixel_ratio));
  }
  m_faces.clear();
  auto& gl = m_device.gl();
  gl.glGenTextures(1, &m_texture);
  gl.glBindTexture(GL_TEXTURE_2D, m_texture);
  gl.glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_R8, width, height, 0, GL_RED, GL_UNSIGNED_BYTE, pixels);
  gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  for (const auto& [channel, from] : {std::pair{GL_TEXTURE_SWIZZLE_R, GL_ONE},
                                      {GL_TEXTURE_SWIZZLE_G, GL_ONE},
                                      {GL_TEXTURE_SWIZZLE_B, GL_ONE},
                                      {GL_TEXTURE_SWIZZLE_A, GL_RED}})
    gl.glTexParameteri(GL_TEXTURE_2D, static_cast<GLenum>(channel), static_cast<GLint>(from));  // white where it covers
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  m_atlas->SetTexID(reinterpret_cast<ImTextureID>(static_cast<std::intptr_t>(m_texture)));
  m_atlas->ClearTexData();  // the texture has them, and the glyphs the files
  m_atlas->ClearInputData();
}

CanvasFonts::~CanvasFonts() {
  if (m_texture && m_device.makeCurrent()) m_device.gl().glDeleteTextures(1, &m_texture);
}

ImFont* CanvasFonts::add(const char* file, const char* fallback, double em) {
  ImFontConfig config;
  Face face{nullptr, {}, em};
  for (const char* name : {file, fallback}) {  // the second one brings the arrows and marks that the first lacks
    const QString path = findFontFile(name);
    if (path.isEmpty()) continue;
    const QRawFont raw(path, 1000);
    if (!raw.isValid()) continue;
    config.MergeMode = face.font != nullptr;
    const float size = static_cast<float>(std::round(em * lineHeight(raw)));  // the builder takes whole pixels
    ImFont* added = m_atlas->AddFontFromFileTTF(path.toUtf8().constData(), size, &config, viz::canvas_glyph_ranges());
    if (!face.font) face.font = added;
    face.sources.push_back(raw);
  }
  if (!face.font) {  // no font installed: ImGui's own
    ImFontConfig plain;
    plain.SizePixels = static_cast<float>(std::round(em * 1.2));
    face.font = m_atlas->AddFontDefault(&plain);
  }
  m_faces.push_back(face);
  return face.font;
}

}  // namespace kvscope
