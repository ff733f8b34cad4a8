// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viz/canvas.h"
#include "viz/draw/scene.h"

namespace kvscope::viz {

/// Colours for ImGui and for texels (the same byte order: R first).
ImU32 colour(Rgb c, double alpha = 1);
Rgb mix(Rgb a, Rgb b, double t);           // t = 0: a, 1: b; in sRGB
Rgb ink_on(Rgb fill, const Theme& theme);  // the theme's dark or light ink, whichever contrasts more

/// Fill of a category in a dense cell: evicted recedes further towards the panel there, its outline being left out.
Rgb cell_fill(const Theme& theme, Category c);
/// The same where one category is meant: it is full, the others fade towards the panel.
Rgb cell_fill(const Theme& theme, Category c, const std::optional<Category>& emphasis);
const char* category_name(Category c);  // "sink", "heavy", "merged", "recent", "new", "evicted", "not yet"

/// Logical pixels of the canvas, (0, 0) top left. The cut_ functions take a strip off and leave the rest, so layouts read as rows.
struct Rect {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float width() const { return x1 - x0; }
  float height() const { return y1 - y0; }
  float middle_x() const { return 0.5f * (x0 + x1); }
  float middle_y() const { return 0.5f * (y0 + y1); }
  bool contains(ImVec2 p) const { return p.x >= x0 && p.x < x1 && p.y >= y0 && p.y < y1; }
  Rect inset(float d) const { return {x0 + d, y0 + d, x1 - d, y1 - d}; }
  Rect inset(float dx, float dy) const { return {x0 + dx, y0 + dy, x1 - dx, y1 - dy}; }
  Rect cut_top(float h);
  Rect cut_bottom(float h);
  Rect cut_left(float w);
  Rect cut_right(float w);
};

/// Type sizes at 100 %: caption 11 (axes, legends, units), body 12, strong 12 bold, mono 12 tabular figures, headline 20 bold.
enum class Face : std::uint8_t { caption, body, strong, mono, headline };
enum class Align : std::uint8_t { left, centre, right };

/// The mouse on this canvas during this frame.
struct Pointer {
  bool inside = false;
  ImVec2 at;          // logical pixels of the canvas
  ImVec2 pressed_at;  // where the button went down
  ImVec2 moved;       // since the last frame
  bool pressed = false, down = false, released = false, double_clicked = false;
  bool clicked = false;   // released without having been dragged (4 px)
  bool dragging = false;  // down and moved more than 4 px since it was pressed
  float wheel = 0;        // notches, up positive
  bool shift = false, ctrl = false;
};

/// Dashes of lines: on, off, ... in pixels. Empty: solid.
using Dash = std::span<const float>;
inline constexpr float kDashLimit[] = {5, 3};
inline constexpr float kDashPromptEnd[] = {2, 2};
/// Dash of run i (viz/README.md section 4): solid, 6-3, 2-2, 8-3-2-3, 1-3, 12-4.
Dash run_dash(int run);

/// Where things are drawn for one frame: an ImDrawList with the theme's fonts, a mark list for tests, and the mouse.
/// All coordinates are logical pixels of the canvas; type sizes and px() grow with frame.scale.
class Painter {
 public:
  /// Clears `marks` and fills the canvas with the panel colour. Must be used between NewFrame and Render, inside the canvas window.
  Painter(const Frame& frame, std::vector<Mark>& marks);
  /// Draws the dimming of an outdated picture. Call last.
  void finish();

  const Frame& frame() const { return frame_; }
  const Theme& theme() const { return *frame_.theme; }
  const Pointer& pointer() const { return pointer_; }
  Rect canvas() const { return {0, 0, frame_.size.x, frame_.size.y}; }
  float px(float logical) const { return logical * frame_.scale; }  // a length that grows in lecture

  // ---- shapes
  void fill(const Rect& r, Rgb c, double alpha = 1, float rounding = 0);
  void frame_rect(const Rect& r, Rgb c, float thickness = 1, float rounding = 0, double alpha = 1);  // line inside r
  void line(ImVec2 a, ImVec2 b, Rgb c, float thickness = 1, double alpha = 1);
  void hline(float x0, float x1, float y, Rgb c, double alpha = 1);  // crisp 1 px
  void vline(float x, float y0, float y1, Rgb c, double alpha = 1);  // crisp 1 px
  void dashed(ImVec2 a, ImVec2 b, Rgb c, Dash dash, float thickness = 1, double alpha = 1);
  void polyline(std::span<const ImVec2> points, Rgb c, float thickness = 1.8f, Dash dash = {}, double alpha = 1);
  void triangle(ImVec2 a, ImVec2 b, ImVec2 c, Rgb fill, double alpha = 1);
  void disc(ImVec2 centre, float radius, Rgb c, double alpha = 1);
  void ring(ImVec2 centre, float radius, Rgb c, float thickness = 1.5f);
  void bezier(ImVec2 a, ImVec2 b, ImVec2 c, ImVec2 d, Rgb colour, float thickness);
  void hatch(const Rect& r, Rgb c, float spacing = 5, double alpha = 1);  // 45 degrees, clipped to r
  void gradient(const Rect& r, Rgb left, Rgb right);
  /// `image` must come from the texture store.
  void image(const Rect& r, ImTextureID image, ImVec2 uv0 = {0, 0}, ImVec2 uv1 = {1, 1}, double alpha = 1);
  void clip(const Rect& r);
  void unclip();

  // ---- category cells: fill and redundant glyph (glyph from 8 px on), border where the light theme needs one
  void category(const Rect& r, Category c);
  /// Attention that the reference pays to a token that is not in this cache: hatched outline.
  void reference_only(const Rect& r);
  /// Marker of run i: ● ■ ▲ ◆ ✚ ▼
  void run_marker(ImVec2 centre, float radius, int run, Rgb c);

  // ---- text
  float size_of(Face face) const;  // logical pixels
  float width_of(Face face, std::string_view text) const;
  float line_height(Face face) const;
  /// One line, y is its vertical middle; characters the font lacks come from the TextPainter. Returns the width.
  float text(ImVec2 at, std::string_view text, Face face, Rgb c, Align align = Align::left, double alpha = 1);
  /// The same, cut in the middle with "…" to `max_width`. Returns the width drawn.
  float text_fit(ImVec2 at, std::string_view text, Face face, Rgb c, float max_width, Align align = Align::left);
  std::string elide(std::string_view text, Face face, float max_width) const;
  /// Token text (any script), `at` as for text(); vertical: at is the top middle and text runs downwards. `pill`: a rounded outline
  /// (special tokens). Returns the size drawn.
  ImVec2 token(ImVec2 at, std::string_view utf8, float px, Rgb c, bool bold = false, bool vertical = false, bool pill = false,
               Align align = Align::left);

  // ---- selection, cursor, axes
  void selection(const Rect& r, float thickness = 1.5f, float rounding = 2);  // accent outline around r
  void focus_cursor(const Rect& r);                                           // cell cursor of the keyboard
  /// Accent tag with a text in the on_accent ink ("85–88"), centred on x and kept inside `within`; its rect.
  Rect tag(float x, float y_middle, std::string_view text, const Rect& within);

  /// One sentence in the middle of an empty canvas.
  void empty(std::string_view sentence, std::string_view second = {});

  // ---- for tests and screen readers
  void mark(std::string_view kind, std::string label, const Rect& r, std::string value = {});

 private:
  ImFont* font(Face face) const;
  bool recording() const { return frame_.scene != nullptr; }
  void record(SceneCommand command) const;
  ImVec2 at_origin(ImVec2 p) const { return {p.x + origin_.x, p.y + origin_.y}; }
  float glyph_run(ImVec2 top_left, std::string_view text, Face face, ImU32 c, bool draw) const;

  const Frame& frame_;
  std::vector<Mark>& marks_;
  ImDrawList* list_;
  ImVec2 origin_;
  Pointer pointer_;
};

/// ImGui's font sizes are line heights, type sizes are ems: rasterise a face of `em` pixels at em * kLineHeightPerEm * frame scale * device
/// pixel ratio. Other sizes work, the Painter normalises them by the width of a digit, but are resampled and so less sharp.
inline constexpr float kLineHeightPerEm = 1.362f;
/// Code points that canvas labels use: what the fonts of Frame::fonts should be built with. Pairs first, last, ..., 0.
const ImWchar* canvas_glyph_ranges();

/// Tokens on the x axis. Whole pixels per token while they fit, so that cells are crisp.
struct TokenAxis {
  float x0 = 0, x1 = 0;  // pixels of the axis
  float px = 4;          // pixels per token
  double first = 0;      // token at x0
  int n_tokens = 0;      // of the whole text

  float x_of(double token) const { return x0 + static_cast<float>((token - first) * px); }
  double token_at(float x) const { return first + static_cast<double>(x - x0) / px; }
  int index_at(float x) const;  // token under x, -1 outside
  int first_visible() const;
  int last_visible() const;  // inclusive; -1 if there is none
  float x_end() const;       // where the last token or the axis ends
};

/// Tokens per texel at `px` pixels per token: 1 from 3 px on, else the smallest power of two, from 2 on, that is at least 2 px wide, so
/// that shades can be told apart.
int tokens_per_bin(float px);

/// Left edge of token axes: label column of 84 px; right margin 12.
inline constexpr float kLabelColumn = 84;
/// In plain pictures: only layers are named, and a short text may have wide columns.
inline constexpr float kPlainLabelColumn = 34;
inline constexpr int kPlainMaxPx = 40;
TokenAxis make_token_axis(const Painter& painter, const TokenWindow& window, int n_tokens, int max_px = 14);
/// Tick positions with a step of 1, 2, 5, 25, ... tokens such that labels are at least `min_gap` px apart.
std::vector<int> token_ticks(const TokenAxis& axis, float min_gap = 70);
/// Labels and ticks of the axis in `strip`, title on the left ("key (past)"), the selected range as an accent tag.
void draw_token_axis(Painter& painter, const Rect& strip, const TokenAxis& axis, std::string_view title,
                     const std::optional<TokenRange>& selected);

/// 1-2-5 ticks that cover [lo, hi], at most max_count.
std::vector<double> nice_ticks(double lo, double hi, int max_count);
/// True where positive values span more than two decades: such scales are square roots, and say so.
bool spans_two_decades(double lowest_positive, double highest);

// ---- what of the snapshot a frame shows
/// Lane of the selection, or nullptr.
const LaneSnapshot* lane_of(const Frame& frame);
/// Index of the step shown in a lane (the selected one, clamped; the latest by default); -1: the lane has no steps.
int step_of(const LaneSnapshot& lane, const Selection& selection);
/// Record of that step, or nullptr.
const StepRecord* record_of(const Frame& frame);
/// The lane-independent "prefill step" rule: step 0 of prefill mode.
inline bool is_prefill_step(const Snapshot& s, int step) { return s.prefill_mode && step == 0; }
int head_index(const Snapshot& s, int layer, int kv_head);
int n_heads_total(const Snapshot& s);
/// Tokens a step has seen: its position + 1.
inline int tokens_seen(const StepRecord& r) { return r.position + 1; }
/// Category of the tokens of a head at a step of a lane.
std::vector<Category> categories_of(const Snapshot& s, const LaneSnapshot& lane, int step, int head);
/// Tokens from first to last that were pinned by hand and have a slot of their own in this head: a pin on one that left does nothing.
std::vector<int> pins_done(const HeadRecord& head, int first, int last);
/// Selected head as layer-major index, -1: none.
int selected_head(const Frame& frame);

}  // namespace kvscope::viz
