// SPDX-License-Identifier: Apache-2.0
// Text of the canvases: ImGui glyphs where the font has them, sprites laid out by the TextPainter for everything else.
#include <algorithm>
#include <cmath>

#include "viz/draw/draw.h"
#include "viz/draw/format.h"

namespace kvscope::viz {
namespace {

constexpr float kThinSpaceEm = 0.2f;
constexpr float kDigitEm = 0.572f;      // advance of "0" in Noto Sans
constexpr float kMonoDigitEm = 0.600f;  // and in Noto Sans Mono

struct Piece {
  enum class Kind : std::uint8_t { glyphs, thin_space, foreign } kind = Kind::glyphs;
  std::string_view text;
};

// Next run of characters that are drawn the same way, taken off the front of `text`.
Piece next_piece(const ImFont& font, std::string_view& text) {
  const auto kind_of = [&font](char32_t c) {
    if (c == 0x2009 || c == 0x202F) return Piece::Kind::thin_space;
    return c <= 0xFFFF && font.FindGlyphNoFallback(static_cast<ImWchar>(c)) != nullptr ? Piece::Kind::glyphs : Piece::Kind::foreign;
  };
  std::size_t end = 0;
  const Piece::Kind kind = kind_of(utf8_next(text, end));
  while (kind != Piece::Kind::thin_space && end < text.size()) {
    std::size_t after = end;
    if (kind_of(utf8_next(text, after)) != kind) break;
    end = after;
  }
  const Piece piece{kind, text.substr(0, end)};
  text.remove_prefix(end);
  return piece;
}

float nominal(Face face) { return face == Face::caption ? 11.0f : face == Face::headline ? 20.0f : 12.0f; }

// Size to pass to ImGui for a face of `em` pixels. ImGui's sizes are line heights, which differ from font to font for the same em; the
// advance of a digit says how large the font really is, so that columns of numbers have the same width in every font.
float imgui_size(const ImFont& font, Face face, float em) {
  const ImFontGlyph* zero = font.FindGlyphNoFallback('0');
  const float advance = zero != nullptr && zero->AdvanceX > 0 ? zero->AdvanceX : 0.42f * font.FontSize;
  const float digit = face == Face::mono ? kMonoDigitEm : kDigitEm;
  const float size = em * digit * font.FontSize / advance;
  const float rasterised = font.FontSize * ImGui::GetIO().FontGlobalScale;
  return std::abs(size - rasterised) < 0.09f * rasterised ? rasterised : size;  // advances are whole pixels: no resampling for that
}

}  // namespace

ImFont* Painter::font(Face face) const {
  ImFont* const wanted = face == Face::caption && !frame_.plain            ? frame_.fonts.small
                         : face == Face::body || face == Face::caption     ? frame_.fonts.normal
                         : face == Face::mono                              ? frame_.fonts.mono
                         : face == Face::headline && frame_.fonts.headline ? frame_.fonts.headline
                                                                           : frame_.fonts.bold;
  return wanted != nullptr ? wanted : ImGui::GetFont();
}

/// A stage has no small type: what is a caption elsewhere is read from the last row, too.
float Painter::size_of(Face face) const { return nominal(frame_.plain && face == Face::caption ? Face::body : face) * frame_.scale; }
float Painter::line_height(Face face) const { return std::ceil(size_of(face) * 1.36f); }

float Painter::glyph_run(ImVec2 top_left, std::string_view text, Face face, ImU32 c, bool draw) const {
  const ImFont& f = *font(face);
  const float em = size_of(face), size = imgui_size(f, face, em);
  float x = top_left.x;
  while (!text.empty()) {
    const Piece piece = next_piece(f, text);
    if (piece.kind == Piece::Kind::thin_space) {
      x += kThinSpaceEm * em;
      continue;
    }
    if (piece.kind == Piece::Kind::foreign && frame_.text != nullptr) {
      const auto sprite = frame_.text->sprite(piece.text, em, face == Face::strong || face == Face::headline, false);
      const float y = std::round(top_left.y + (size - sprite.size.y) / 2);
      if (draw) list_->AddImage(sprite.texture, {x, y}, {x + sprite.size.x, y + sprite.size.y}, sprite.uv0, sprite.uv1, c);
      x += sprite.size.x;
      continue;
    }
    const char* const begin = piece.text.data();
    const char* const end = begin + piece.text.size();
    if (draw) list_->AddText(&f, size, {x, top_left.y}, c, begin, end);
    x += f.CalcTextSizeA(size, FLT_MAX, 0, begin, end).x;
  }
  return x - top_left.x;
}

float Painter::width_of(Face face, std::string_view text) const { return glyph_run({0, 0}, text, face, 0, false); }

float Painter::text(ImVec2 at, std::string_view text, Face face, Rgb c, Align align, double alpha) {
  if (text.empty()) return 0;
  const float width = width_of(face, text);
  const float x = align == Align::left ? at.x : align == Align::centre ? at.x - width / 2 : at.x - width;
  const float size = imgui_size(*font(face), face, size_of(face));
  if (recording()) {
    record({.kind = SceneCommand::Kind::text,
            .points = {{std::round(x), at.y}},
            .colour = c,
            .alpha = alpha,
            .width = width,
            .text = std::string(text),
            .em = size_of(face),
            .bold = face == Face::strong || face == Face::headline,
            .mono = face == Face::mono});
  }
  const ImVec2 top_left = at_origin({std::round(x), std::round(at.y - size / 2)});
  glyph_run(top_left, text, face, colour(c, alpha), true);
  return width;
}

std::string Painter::elide(std::string_view text, Face face, float max_width) const {
  if (width_of(face, text) <= max_width) return std::string(text);
  const std::size_t n = utf8_length(text);
  const auto cut = [&](std::size_t keep) {  // `keep` characters, the middle replaced by one "…"
    std::size_t head_end = 0, tail_begin = 0;
    for (std::size_t i = 0; i < (keep + 1) / 2; ++i) utf8_next(text, head_end);
    for (std::size_t i = 0; i < n - keep / 2; ++i) utf8_next(text, tail_begin);
    return std::string(text.substr(0, head_end)) + "…" + std::string(text.substr(tail_begin));
  };
  std::size_t low = 0, high = n;  // most characters that fit
  while (low + 1 < high) {
    const std::size_t half = (low + high) / 2;
    (width_of(face, cut(half)) <= max_width ? low : high) = half;
  }
  return low == 0 ? std::string() : cut(low);
}

float Painter::text_fit(ImVec2 at, std::string_view text_utf8, Face face, Rgb c, float max_width, Align align) {
  return text(at, elide(text_utf8, face, max_width), face, c, align);
}

ImVec2 Painter::token(ImVec2 at, std::string_view utf8, float size, Rgb c, bool bold, bool vertical, bool pill, Align align) {
  if (utf8.empty()) return {0, 0};
  if (frame_.text == nullptr) {  // no text painter (tests): as far as the font goes
    const float width = text(at, utf8, bold ? Face::strong : Face::mono, c, align);
    return {width, size};
  }
  const TextPainter::Sprite sprite = frame_.text->sprite(utf8, size, bold, vertical);
  const float w = sprite.size.x, h = sprite.size.y;
  ImVec2 p(at.x, at.y - h / 2);
  if (vertical) {
    p = {at.x - w / 2, at.y};
  } else if (align != Align::left) {
    p.x -= align == Align::centre ? w / 2 : w;
  }
  p = {std::round(p.x), std::round(p.y)};
  if (recording()) {
    record({.kind = SceneCommand::Kind::text,
            .points = {vertical ? ImVec2(p.x + w / 2, p.y) : ImVec2(p.x, p.y + h / 2)},
            .colour = c,
            .width = vertical ? h : w,
            .text = std::string(utf8),
            .em = size,
            .bold = bold,
            .mono = true,
            .vertical = vertical});
  }
  const ImVec2 a = at_origin(p);
  list_->AddImage(sprite.texture, a, {a.x + w, a.y + h}, sprite.uv0, sprite.uv1, colour(c));
  if (pill) frame_rect({p.x - 3, p.y, p.x + w + 3, p.y + h}, c, 1, std::min(w, h) / 2, 0.5);
  return {w, h};
}

Rect Painter::tag(float x, float y, std::string_view label, const Rect& within) {
  const float width = std::ceil(width_of(Face::strong, label)) + px(16), height = px(17);
  const float left = std::round(std::clamp(x - width / 2, within.x0, std::max(within.x0, within.x1 - width)));
  const Rect r{left, std::round(y - height / 2), left + width, std::round(y - height / 2) + height};
  fill(r, theme().accent, 1, 3);
  text({r.middle_x(), r.middle_y()}, label, Face::strong, theme().on_accent, Align::centre);
  mark("tag", std::string(label), r);
  return r;
}

void Painter::empty(std::string_view sentence, std::string_view second) {
  const Rect all = canvas();
  const float gap = px(18);
  const float y = all.middle_y() - (second.empty() ? 0 : gap / 2);
  text_fit({all.middle_x(), y}, sentence, Face::body, theme().secondary, all.width() - 24, Align::centre);
  mark("empty", std::string(sentence), all, std::string(second));
  if (!second.empty()) text_fit({all.middle_x(), y + gap}, second, Face::caption, theme().disabled, all.width() - 24, Align::centre);
}

const ImWchar* canvas_glyph_ranges() {
  // Latin, Greek, Cyrillic, general punctuation, sub- and superscripts, currency, arrows, mathematics, boxes and shapes, brackets, U+FFFD.
  static const ImWchar ranges[] = {0x0020, 0x024F, 0x0370, 0x052F, 0x2009, 0x205E, 0x2070, 0x209F, 0x20A0, 0x20BF, 0x2190,
                                   0x21FF, 0x2200, 0x22FF, 0x2500, 0x25FF, 0x27E8, 0x27E9, 0xFFFD, 0xFFFD, 0};
  return ranges;
}

}  // namespace kvscope::viz
