// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope::viz {
namespace {

using Drawn = SceneCommand::Kind;

constexpr float kDragThreshold = 4;  // pixels that a press may move and still be a click

Pointer read_pointer(const Frame& frame, ImVec2 origin) {
  const ImGuiIO& io = ImGui::GetIO();
  Pointer p;
  const auto local = [origin](ImVec2 v) { return ImVec2(v.x - origin.x, v.y - origin.y); };
  p.at = local(io.MousePos);
  p.inside = ImGui::IsMousePosValid(&io.MousePos) && Rect{0, 0, frame.size.x, frame.size.y}.contains(p.at);
  p.down = io.MouseDown[0];
  p.pressed = p.inside && io.MouseClicked[0];
  p.released = io.MouseReleased[0];
  p.double_clicked = p.inside && io.MouseDoubleClicked[0];
  p.pressed_at = local(io.MouseClickedPos[0]);
  p.moved = io.MouseDelta;
  const bool moved_far = io.MouseDragMaxDistanceSqr[0] > kDragThreshold * kDragThreshold;
  const bool began_here = Rect{0, 0, frame.size.x, frame.size.y}.contains(p.pressed_at);
  p.clicked = p.released && p.inside && began_here && !moved_far;
  p.dragging = p.down && began_here && moved_far;
  p.wheel = p.inside ? io.MouseWheel : 0;
  p.shift = io.KeyShift;
  p.ctrl = io.KeyCtrl;
  return p;
}

constexpr float kDashB[] = {6, 3}, kDashC[] = {2, 2}, kDashD[] = {8, 3, 2, 3}, kDashE[] = {1, 3}, kDashF[] = {12, 4};

}  // namespace

ImU32 colour(Rgb c, double alpha) { return IM_COL32(c.r(), c.g(), c.b(), std::lround(255 * std::clamp(alpha, 0.0, 1.0))); }

Rect Rect::cut_top(float h) {
  const Rect cut{x0, y0, x1, std::min(y0 + h, y1)};
  y0 = cut.y1;
  return cut;
}

Rect Rect::cut_bottom(float h) {
  const Rect cut{x0, std::max(y1 - h, y0), x1, y1};
  y1 = cut.y0;
  return cut;
}

Rect Rect::cut_left(float w) {
  const Rect cut{x0, y0, std::min(x0 + w, x1), y1};
  x0 = cut.x1;
  return cut;
}

Rect Rect::cut_right(float w) {
  const Rect cut{std::max(x1 - w, x0), y0, x1, y1};
  x1 = cut.x0;
  return cut;
}

Dash run_dash(int run) {
  switch (run % 6) {
    case 1:
      return kDashB;
    case 2:
      return kDashC;
    case 3:
      return kDashD;
    case 4:
      return kDashE;
    case 5:
      return kDashF;
    default:
      return {};
  }
}

Painter::Painter(const Frame& frame, std::vector<Mark>& marks)
    : frame_(frame),
      marks_(marks),
      list_(ImGui::GetWindowDrawList()),
      origin_(ImGui::GetWindowPos()),
      pointer_(read_pointer(frame, origin_)) {
  marks_.clear();
  if (frame_.scene != nullptr) *frame_.scene = {frame_.size, theme().panel, {}, std::move(frame_.scene->images)};
  fill(canvas(), theme().panel);
}

void Painter::record(SceneCommand command) const { frame_.scene->commands.push_back(std::move(command)); }

void Painter::finish() {
  if (frame_.dim > 0) fill(canvas(), theme().panel, frame_.dim);
}

void Painter::fill(const Rect& r, Rgb c, double alpha, float rounding) {
  if (r.x1 <= r.x0 || r.y1 <= r.y0) return;
  if (recording()) record({.kind = Drawn::rect, .points = {{r.x0, r.y0}, {r.x1, r.y1}}, .colour = c, .alpha = alpha, .radius = rounding});
  list_->AddRectFilled(at_origin({r.x0, r.y0}), at_origin({r.x1, r.y1}), colour(c, alpha), rounding);
}

void Painter::frame_rect(const Rect& r, Rgb c, float thickness, float rounding, double alpha) {
  if (r.x1 <= r.x0 || r.y1 <= r.y0) return;
  if (recording()) {
    record({.kind = Drawn::outline,
            .points = {{r.x0, r.y0}, {r.x1, r.y1}},
            .colour = c,
            .alpha = alpha,
            .width = thickness,
            .radius = rounding});
  }
  if (rounding <= 0) {  // four filled strips: crisp at every device pixel ratio, no overlap in the corners
    const ImU32 col = colour(c, alpha);
    const float t = std::min({thickness, r.width() / 2, r.height() / 2});
    const auto strip = [&](float x0, float y0, float x1, float y1) { list_->AddRectFilled(at_origin({x0, y0}), at_origin({x1, y1}), col); };
    strip(r.x0, r.y0, r.x1, r.y0 + t);
    strip(r.x0, r.y1 - t, r.x1, r.y1);
    strip(r.x0, r.y0 + t, r.x0 + t, r.y1 - t);
    strip(r.x1 - t, r.y0 + t, r.x1, r.y1 - t);
    return;
  }
  const float half = (thickness - 1) / 2;  // AddRect centres a line of 1 px on the inside already
  list_->AddRect(at_origin({r.x0 + half, r.y0 + half}), at_origin({r.x1 - half, r.y1 - half}), colour(c, alpha), rounding, 0, thickness);
}

void Painter::line(ImVec2 a, ImVec2 b, Rgb c, float thickness, double alpha) {
  if (recording()) record({.kind = Drawn::polyline, .points = {a, b}, .colour = c, .alpha = alpha, .width = thickness});
  // AddLine moves by half a pixel; take it back so that coordinates mean what they say.
  list_->AddLine(at_origin({a.x - 0.5f, a.y - 0.5f}), at_origin({b.x - 0.5f, b.y - 0.5f}), colour(c, alpha), thickness);
}

void Painter::hline(float x0, float x1, float y, Rgb c, double alpha) { fill({x0, std::floor(y), x1, std::floor(y) + 1}, c, alpha); }

void Painter::vline(float x, float y0, float y1, Rgb c, double alpha) { fill({std::floor(x), y0, std::floor(x) + 1, y1}, c, alpha); }

void Painter::dashed(ImVec2 a, ImVec2 b, Rgb c, Dash dash, float thickness, double alpha) {
  const std::array<ImVec2, 2> ends = {a, b};
  polyline(ends, c, thickness, dash, alpha);
}

void Painter::polyline(std::span<const ImVec2> points, Rgb c, float thickness, Dash dash, double alpha) {
  if (points.size() < 2) return;
  if (recording()) {
    record({.kind = Drawn::polyline,
            .points = {points.begin(), points.end()},
            .colour = c,
            .alpha = alpha,
            .width = thickness,
            .dash = {dash.begin(), dash.end()}});
  }
  const ImU32 col = colour(c, alpha);
  if (dash.empty()) {
    std::vector<ImVec2> moved(points.size());
    std::transform(points.begin(), points.end(), moved.begin(), [this](ImVec2 p) { return at_origin(p); });
    list_->AddPolyline(moved.data(), static_cast<int>(moved.size()), col, 0, thickness);
    return;
  }
  std::size_t piece = 0;  // the pattern runs on from one segment to the next
  float left = dash[0];
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const ImVec2 a = points[i], b = points[i + 1];
    const float dx = b.x - a.x, dy = b.y - a.y, length = std::hypot(dx, dy);
    const bool axis_aligned = std::abs(dx) < 0.01f || std::abs(dy) < 0.01f;
    for (float at = 0; at < length;) {
      const float end = std::min(at + left, length);
      if (piece % 2 == 0) {
        const ImVec2 p = at_origin({a.x + dx * at / length, a.y + dy * at / length});
        const ImVec2 q = at_origin({a.x + dx * end / length, a.y + dy * end / length});
        if (axis_aligned && thickness <= 1.01f) {  // crisp
          const bool horizontal = std::abs(dy) < 0.01f;
          const ImVec2 lo(std::floor(std::min(p.x, q.x)), std::floor(std::min(p.y, q.y)));
          list_->AddRectFilled(
              lo, horizontal ? ImVec2(std::ceil(std::max(p.x, q.x)), lo.y + 1) : ImVec2(lo.x + 1, std::ceil(std::max(p.y, q.y))), col);
        } else {
          list_->AddLine({p.x - 0.5f, p.y - 0.5f}, {q.x - 0.5f, q.y - 0.5f}, col, thickness);
        }
      }
      left -= end - at;
      at = end;
      if (left <= 1e-4f) left = dash[++piece % dash.size()];
    }
  }
}

void Painter::triangle(ImVec2 a, ImVec2 b, ImVec2 c, Rgb fill_colour, double alpha) {
  if (recording()) record({.kind = Drawn::polygon, .points = {a, b, c}, .colour = fill_colour, .alpha = alpha});
  list_->AddTriangleFilled(at_origin(a), at_origin(b), at_origin(c), colour(fill_colour, alpha));
}

void Painter::disc(ImVec2 centre, float radius, Rgb c, double alpha) {
  if (recording()) record({.kind = Drawn::disc, .points = {centre}, .colour = c, .alpha = alpha, .radius = radius});
  list_->AddCircleFilled(at_origin(centre), radius, colour(c, alpha), radius < 3 ? 8 : 0);
}

void Painter::ring(ImVec2 centre, float radius, Rgb c, float thickness) {
  if (recording()) record({.kind = Drawn::ring, .points = {centre}, .colour = c, .width = thickness, .radius = radius});
  list_->AddCircle(at_origin(centre), radius, colour(c), 0, thickness);
}

void Painter::bezier(ImVec2 a, ImVec2 b, ImVec2 c, ImVec2 d, Rgb col, float thickness) {
  if (recording()) record({.kind = Drawn::bezier, .points = {a, b, c, d}, .colour = col, .width = thickness});
  list_->AddBezierCubic(at_origin(a), at_origin(b), at_origin(c), at_origin(d), colour(col), thickness);
}

void Painter::hatch(const Rect& r, Rgb c, float spacing, double alpha) {
  if (r.x1 <= r.x0 || r.y1 <= r.y0) return;
  const float h = r.height();
  // Lines x + y = const, each cut to the rectangle, anchored to the canvas so that neighbouring cells line up.
  const float from = std::ceil((r.x0 + r.y0) / spacing) * spacing;
  for (float sum = from; sum < r.x1 + r.y1; sum += spacing) {
    const float xa = std::max(r.x0, sum - r.y1), xb = std::min(r.x1, sum - r.y0);
    if (xb <= xa) continue;
    line({xa, sum - xa}, {xb, sum - xb}, c, 1, alpha);
    if (h <= 0) break;
  }
}

void Painter::gradient(const Rect& r, Rgb left, Rgb right) {
  if (recording()) record({.kind = Drawn::gradient, .points = {{r.x0, r.y0}, {r.x1, r.y1}}, .colour = left, .second = right});
  const ImU32 a = colour(left), b = colour(right);
  list_->AddRectFilledMultiColor(at_origin({r.x0, r.y0}), at_origin({r.x1, r.y1}), a, b, b, a);
}

void Painter::image(const Rect& r, ImTextureID texture, ImVec2 uv0, ImVec2 uv1, double alpha) {
  if (recording() && frame_.scene_textures != nullptr) {
    record({.kind = Drawn::image,
            .points = {{r.x0, r.y0}, {r.x1, r.y1}},
            .alpha = alpha,
            .image = frame_.scene_textures->index_of(texture),
            .uv0 = uv0,
            .uv1 = uv1});
  }
  list_->AddImage(texture, at_origin({r.x0, r.y0}), at_origin({r.x1, r.y1}), uv0, uv1, colour({0xFFFFFF}, alpha));
}

void Painter::clip(const Rect& r) {
  if (recording()) record({.kind = Drawn::clip, .points = {{r.x0, r.y0}, {r.x1, r.y1}}});
  list_->PushClipRect(at_origin({r.x0, r.y0}), at_origin({r.x1, r.y1}), true);
}

void Painter::unclip() {
  if (recording()) record({.kind = Drawn::unclip, .points = {}});
  list_->PopClipRect();
}

void Painter::category(const Rect& r, Category c) {
  const Theme& t = theme();
  const Rgb own = t.category[static_cast<std::size_t>(c)];
  const bool glyph = std::min(r.width(), r.height()) >= 8;
  const Rgb border = mix(own, {0x000000}, 0.28);
  switch (c) {
    case Category::unseen:
      return;
    case Category::evicted:
      frame_rect(r, t.evicted_outline);
      return;
    case Category::fresh:
      fill(r, own);
      if (glyph) frame_rect(r.inset(1), t.panel);
      return;
    case Category::sink:
      fill(r, own);
      if (glyph) disc({r.middle_x(), r.middle_y()}, std::clamp(std::min(r.width(), r.height()) * 0.16f, 1.6f, 3.0f), {0xFFFFFF});
      return;
    case Category::merged:
      fill(r, own);
      if (glyph) triangle({r.x0, r.y0}, {r.x1, r.y0}, {r.x0, r.y1}, mix(own, {0x000000}, 0.33));
      if (!t.dark) frame_rect(r, border);
      return;
    case Category::recent:
      fill(r, own);
      if (!t.dark) frame_rect(r, border);
      return;
    case Category::kept:
    case Category::unread:
      fill(r, own);
      return;
  }
}

void Painter::reference_only(const Rect& r) {
  hatch(r, theme().secondary, 4, 0.9);
  frame_rect(r, theme().secondary);
}

void Painter::run_marker(ImVec2 p, float r, int run, Rgb c) {
  const auto at = [&](float dx, float dy) { return ImVec2(p.x + dx * r, p.y + dy * r); };
  const auto box = [&](float dx, float dy) { fill({p.x - dx * r, p.y - dy * r, p.x + dx * r, p.y + dy * r}, c); };
  switch (run % 6) {
    case 0:
      return disc(p, r, c);
    case 1:
      return box(0.88f, 0.88f);
    case 2:
      return triangle(at(0, -1.05f), at(1.05f, 0.9f), at(-1.05f, 0.9f), c);
    case 3:
      triangle(at(0, -1.2f), at(1.2f, 0), at(0, 1.2f), c);
      return triangle(at(0, -1.2f), at(0, 1.2f), at(-1.2f, 0), c);
    case 4:
      box(1.1f, 0.35f);
      return box(0.35f, 1.1f);
    default:
      return triangle(at(-1.05f, -0.9f), at(1.05f, -0.9f), at(0, 1.05f), c);
  }
}

void Painter::selection(const Rect& r, float thickness, float rounding) { frame_rect(r, theme().accent, thickness, rounding); }

void Painter::focus_cursor(const Rect& r) {
  const Rgb ink = theme().dark ? Rgb{0xFFFFFF} : theme().text;
  frame_rect(r.inset(-2), theme().panel, 1);
  frame_rect(r.inset(-3), ink, 1);
}

void Painter::mark(std::string_view kind, std::string label, const Rect& r, std::string value) {
  marks_.push_back({std::string(kind), std::move(label), {r.x0, r.y0}, {r.x1, r.y1}, std::move(value)});
}

}  // namespace kvscope::viz
