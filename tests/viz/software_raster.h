// SPDX-License-Identifier: Apache-2.0
#pragma once

// ImDrawData to pixels without a GPU, token text by FreeType, PNG without compression: enough to look at a canvas.

#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "viz/draw/format.h"
#include "viz/headless.h"

namespace kvscope::viz::testing {

struct Picture {
  int width = 0, height = 0;
  std::vector<std::array<float, 3>> rgb;
};

inline Picture rasterise(const ImDrawData& data, const Headless& canvas) {
  Picture out;
  out.width = static_cast<int>(data.DisplaySize.x);
  out.height = static_cast<int>(data.DisplaySize.y);
  const Rgb back = canvas.frame.theme->window;
  out.rgb.assign(static_cast<std::size_t>(out.width) * static_cast<std::size_t>(out.height),
                 {static_cast<float>(back.r()), static_cast<float>(back.g()), static_cast<float>(back.b())});
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    for (const ImDrawCmd& cmd : list.CmdBuffer) {
      const auto* image = static_cast<const RecordingTextures::Image*>(cmd.GetTexID());
      const bool smooth = image != nullptr && image == canvas.textures.find("fonts");
      for (unsigned i = 0; i + 2 < cmd.ElemCount; i += 3) {
        std::array<ImDrawVert, 3> v;
        for (unsigned k = 0; k < 3; ++k)
          v[k] = list.VtxBuffer[static_cast<int>(cmd.VtxOffset + list.IdxBuffer[static_cast<int>(cmd.IdxOffset + i + k)])];
        const auto edge = [](ImVec2 a, ImVec2 b, float x, float y) { return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x); };
        float area = edge(v[0].pos, v[1].pos, v[2].pos.x, v[2].pos.y);
        if (area < 0) {
          std::swap(v[1], v[2]);
          area = -area;
        }
        if (area < 1e-6f) continue;
        const auto span = [&](float a, float b, float c, float lo, float hi, int size) {
          return std::pair<int, int>{std::max({0, static_cast<int>(std::floor(std::min({a, b, c}))), static_cast<int>(lo)}),
                                     std::min({size, static_cast<int>(std::ceil(std::max({a, b, c}))), static_cast<int>(hi)})};
        };
        const auto [x0, x1] = span(v[0].pos.x, v[1].pos.x, v[2].pos.x, cmd.ClipRect.x, cmd.ClipRect.z, out.width);
        const auto [y0, y1] = span(v[0].pos.y, v[1].pos.y, v[2].pos.y, cmd.ClipRect.y, cmd.ClipRect.w, out.height);
        const auto top_left = [](ImVec2 a, ImVec2 b) { return (a.y == b.y && b.x > a.x) || b.y < a.y; };
        for (int y = y0; y < y1; ++y) {
          for (int x = x0; x < x1; ++x) {
            const float px = static_cast<float>(x) + 0.5f, py = static_cast<float>(y) + 0.5f;
            const std::array<float, 3> w = {edge(v[1].pos, v[2].pos, px, py), edge(v[2].pos, v[0].pos, px, py),
                                            edge(v[0].pos, v[1].pos, px, py)};
            bool in = true;
            for (unsigned k = 0; k < 3; ++k) in &= w[k] > 0 || (w[k] == 0 && top_left(v[(k + 1) % 3].pos, v[(k + 2) % 3].pos));
            if (!in) continue;
            std::array<float, 4> c{};
            float u = 0, tv = 0;
            for (unsigned k = 0; k < 3; ++k) {
              const float f = w[k] / area;
              for (unsigned b = 0; b < 4; ++b) c[b] += f * static_cast<float>((v[k].col >> (8 * b)) & 255);
              u += f * v[k].uv.x;
              tv += f * v[k].uv.y;
            }
            if (image != nullptr && image->width > 0) {
              const auto texel = [&](int tx, int ty, unsigned b) {
                tx = std::clamp(tx, 0, image->width - 1);
                ty = std::clamp(ty, 0, image->height - 1);
                return static_cast<float>((image->rgba[static_cast<std::size_t>(ty) * static_cast<std::size_t>(image->width) +
                                                       static_cast<std::size_t>(tx)] >>
                                           (8 * b)) &
                                          255) /
                       255;
              };
              const float fx = u * static_cast<float>(image->width), fy = tv * static_cast<float>(image->height);
              for (unsigned b = 0; b < 4; ++b) {
                if (!smooth) {
                  c[b] *= texel(static_cast<int>(std::floor(fx)), static_cast<int>(std::floor(fy)), b);
                  continue;
                }
                const float gx = fx - 0.5f, gy = fy - 0.5f;
                const int ix = static_cast<int>(std::floor(gx)), iy = static_cast<int>(std::floor(gy));
                const float ax = gx - static_cast<float>(ix), ay = gy - static_cast<float>(iy);
                c[b] *= (texel(ix, iy, b) * (1 - ax) + texel(ix + 1, iy, b) * ax) * (1 - ay) +
                        (texel(ix, iy + 1, b) * (1 - ax) + texel(ix + 1, iy + 1, b) * ax) * ay;
              }
            }
            auto& pixel = out.rgb[static_cast<std::size_t>(y) * static_cast<std::size_t>(out.width) + static_cast<std::size_t>(x)];
            for (unsigned b = 0; b < 3; ++b) pixel[b] += (c[b] - pixel[b]) * c[3] / 255;
          }
        }
      }
    }
  }
  return out;
}

/// Stand-in for the Qt text painter: one glyph after the other from the first font that has it. No shaping.
class FreeTypeText : public TextPainter {
 public:
  explicit FreeTypeText(RecordingTextures& textures) : textures_(textures) {
    FT_Init_FreeType(&library_);
    for (const char* file :
         {"truetype/noto/NotoSansMono-Regular.ttf", "truetype/noto/NotoSansMono-Bold.ttf", "opentype/noto/NotoSansCJK-Regular.ttc",
          "truetype/noto/NotoSansArabic-Regular.ttf", "truetype/noto/NotoSansMath-Regular.ttf", "truetype/dejavu/DejaVuSans.ttf"}) {
      FT_Face face = nullptr;
      if (FT_New_Face(library_, (std::string("/usr/share/fonts/") + file).c_str(), 0, &face) == 0) faces_.push_back(face);
    }
  }
  ~FreeTypeText() override { FT_Done_FreeType(library_); }

  Sprite sprite(std::string_view utf8, float px, bool bold, bool vertical) override {
    const int height = static_cast<int>(std::ceil(px * 1.36f)), base = static_cast<int>(std::round(px * 1.05f));
    std::vector<std::vector<std::uint8_t>> rows(static_cast<std::size_t>(height));
    int width = 0;
    for (std::size_t at = 0; at < utf8.size();) {
      const char32_t c = utf8_next(utf8, at);
      FT_Face face = nullptr;
      for (std::size_t f = 0; f < faces_.size() && face == nullptr; ++f) {
        if (f == (bold ? 0u : 1u)) continue;
        if (FT_Get_Char_Index(faces_[f], c) != 0) face = faces_[f];
      }
      if (face == nullptr) {
        width += static_cast<int>(px);
        continue;
      }
      FT_Set_Pixel_Sizes(face, 0, static_cast<unsigned>(std::lround(px)));
      FT_Load_Char(face, c, FT_LOAD_RENDER);
      const FT_GlyphSlot g = face->glyph;
      const int advance = static_cast<int>((g->advance.x + 32) >> 6);
      const int end = width + std::max(advance, g->bitmap_left + static_cast<int>(g->bitmap.width));
      for (auto& row : rows) row.resize(static_cast<std::size_t>(std::max<int>(end, static_cast<int>(row.size()))));
      for (int y = 0; y < static_cast<int>(g->bitmap.rows); ++y) {
        const int ty = base - g->bitmap_top + y;
        if (ty < 0 || ty >= height) continue;
        for (int x = 0; x < static_cast<int>(g->bitmap.width); ++x) {
          const int tx = width + g->bitmap_left + x;
          if (tx >= 0) rows[static_cast<std::size_t>(ty)][static_cast<std::size_t>(tx)] = g->bitmap.buffer[y * g->bitmap.pitch + x];
        }
      }
      width += advance;
    }
    width = std::max(width, 1);
    for (auto& row : rows) row.resize(static_cast<std::size_t>(width));
    const int w = vertical ? height : width, h = vertical ? width : height;
    std::vector<std::uint32_t> rgba(static_cast<std::size_t>(w) * static_cast<std::size_t>(h));
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int tx = vertical ? height - 1 - y : x, ty = vertical ? x : y;
        rgba[static_cast<std::size_t>(ty) * static_cast<std::size_t>(w) + static_cast<std::size_t>(tx)] =
            0x00FFFFFFu | static_cast<std::uint32_t>(rows[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)]) << 24;
      }
    }
    const std::string key = "text:" + std::to_string(px) + (bold ? "b" : "") + (vertical ? "v" : "") + std::string(utf8);
    return {textures_.texture(key, 1, w, h, rgba), {static_cast<float>(w), static_cast<float>(h)}, {0, 0}, {1, 1}};
  }

 private:
  RecordingTextures& textures_;
  FT_Library library_ = nullptr;
  std::vector<FT_Face> faces_;
};

/// PNG with stored (uncompressed) blocks.
inline bool write_png(const Picture& picture, const std::string& path) {
  std::string raw;
  for (int y = 0; y < picture.height; ++y) {
    raw += '\0';
    for (int x = 0; x < picture.width; ++x) {
      for (float v : picture.rgb[static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) + static_cast<std::size_t>(x)])
        raw += static_cast<char>(std::lround(std::clamp(v, 0.f, 255.f)));
    }
  }
  const auto be32 = [](std::uint32_t v) {
    return std::string{static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
  };
  std::string z = "\x78\x01";
  std::uint32_t a = 1, b = 0;
  for (char c : raw) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  for (std::size_t at = 0; at < raw.size(); at += 65535) {
    const std::size_t n = std::min<std::size_t>(65535, raw.size() - at);
    z += static_cast<char>(at + n == raw.size());
    for (std::size_t v : {n, ~n}) {
      z += static_cast<char>(v & 255);
      z += static_cast<char>(v >> 8 & 255);
    }
    z += raw.substr(at, n);
  }
  z += be32(b << 16 | a);
  const auto chunk = [&](const std::string& type, const std::string& body) {
    std::uint32_t crc = 0xFFFFFFFFu;
    for (char c : type + body) {
      crc ^= static_cast<unsigned char>(c);
      for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return be32(static_cast<std::uint32_t>(body.size())) + type + body + be32(~crc);
  };
  const std::string head =
      be32(static_cast<std::uint32_t>(picture.width)) + be32(static_cast<std::uint32_t>(picture.height)) + std::string("\x08\x02\0\0\0", 5);
  std::ofstream out(path, std::ios::binary);
  out << std::string("\x89PNG\r\n\x1a\n", 8) << chunk("IHDR", head) << chunk("IDAT", z) << chunk("IEND", "");
  return static_cast<bool>(out);
}

}  // namespace kvscope::viz::testing
