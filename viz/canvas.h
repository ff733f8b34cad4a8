// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

#include "snapshot/snapshot.h"
#include "viz/draw/theme.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// Textures live in the app (GL); views fill pixels. RGBA8, row-major, top row first.
class TextureStore {
 public:
  virtual ~TextureStore() = default;
  /// Creates or replaces the texture of `key`; nearest filtering. `version` unchanged: the pixels are not read and the old texture is
  /// returned.
  virtual ImTextureID texture(std::string_view key, std::uint64_t version, int width, int height, std::span<const std::uint32_t> rgba) = 0;
};

/// Token text is laid out by Qt (shaping, emoji, bidi) and drawn as an image.
class TextPainter {
 public:
  struct Sprite {
    ImTextureID texture = nullptr;
    ImVec2 size;  // logical pixels
    ImVec2 uv0, uv1;
    bool coloured = false;  // holds colour glyphs (emoji): tint with white
  };
  virtual ~TextPainter() = default;
  /// Text in the UI's monospace face at `px` logical pixels; white, to be tinted. `vertical`: turned by 90 degrees, reading downwards.
  virtual Sprite sprite(std::string_view utf8, float px, bool bold, bool vertical) = 0;
};

/// Fonts of the canvas (ASCII, digits, Latin, arrows), rasterised for the device pixel ratio. Sizes in logical pixels.
struct Fonts {
  ImFont* small = nullptr;     // 11
  ImFont* normal = nullptr;    // 12
  ImFont* bold = nullptr;      // 12 bold
  ImFont* mono = nullptr;      // 12 tabular figures
  ImFont* headline = nullptr;  // 20 bold; bold is enlarged where it is missing
};

/// The window of tokens that atlas, head strip and comparison show together; count 0: all.
struct TokenWindow {
  double first = 0;
  double count = 0;
  bool operator==(const TokenWindow&) const = default;
};

/// What every head of the shown run does to the answer of the shown step: the run again, once for each, with only this head keeping its
/// full cache.
struct HeadCauses {
  int n_heads = 0, n_measured = 0;       // 0 heads: nothing was asked
  bool running = false;                  // more of them come
  double kl_without = 0;                 // KL(full || run) of the run as it is, nats
  std::vector<double> kl;                // by head: of the run with this head in full; NaN: not measured
  std::vector<std::uint8_t> returns;     // by head: 1 where the top choice is then the full cache's, and is not in the run as it is
  int n_steps = 0;                       // of the run that count, the one that is shown among them
  std::vector<int> n_right;              // by head: of these, those with the full cache's top choice; as long as kl where all are measured
  std::string word;                      // the step's word or number, where it has more tokens: "«913»"
  std::vector<std::uint8_t> word_right;  // by head: 1 where all of it is right
  int n_unasked = 0;                     // heads that are measured only once somebody asks: it would take long, or was stopped
  double ms_left = -1;                   // for those that are not measured yet, as estimated; -1: unknown
  bool operator==(const HeadCauses&) const = default;
  double saved(int head) const {
    return head >= 0 && head < static_cast<int>(kl.size()) ? kl_without - kl[static_cast<std::size_t>(head)] : kNotAvailable;
  }
  /// Every head is measured: what came of it can be told.
  bool whole() const {
    return n_heads > 0 && n_measured == n_heads && std::ranges::none_of(kl, [](double x) { return std::isnan(x); });
  }
  /// Every head is measured, and none of the runs could keep its head in full.
  bool none_in_full() const {
    return n_heads > 0 && n_measured == n_heads && std::ranges::all_of(kl, [](double x) { return std::isnan(x); });
  }
  bool answer_returns(int head) const {
    return head >= 0 && head < static_cast<int>(returns.size()) && returns[static_cast<std::size_t>(head)];
  }
  /// Steps that are right with this head in full; -1: not known, or the run has one step.
  int right(int head) const {
    return n_steps > 1 && head >= 0 && head < static_cast<int>(n_right.size()) ? n_right[static_cast<std::size_t>(head)] : -1;
  }
};

struct Scene;
class SceneTextures;
/// A step that the user marked. `colour`: index into Theme::runs.
struct StepMark {
  int step = 0;
  int colour = 0;
  std::string name;
};

/// A run that is asked for and not there yet.
struct WaitingRun {
  int id = 0;
  std::string title;     // "H2O"
  std::string budget;    // "64 slots", "25 %", with what else was given
  bool running = false;  // else it waits for its turn
  double progress = 0;   // 0..1
};

/// What a view may read during one frame. All views of one frame see the same snapshot and selection.
struct Frame {
  const Snapshot* snapshot = nullptr;  // may have no tokens and no lanes
  Selection selection;
  Hover hover;
  std::span<const StepMark> step_marks;
  std::span<const WaitingRun> waiting;
  std::span<const TokenRange> found;  // places of the search, all of them
  const Theme* theme = nullptr;
  Fonts fonts;
  TextureStore* textures = nullptr;
  TextPainter* text = nullptr;
  ImVec2 size;                       // logical pixels of the canvas
  float scale = 1;                   // of type and hit targets (lecture 1.6)
  bool plain = false;                // one thought per picture (lecture): what only experts read is left out
  std::optional<Category> emphasis;  // the other categories step back; nullopt: all are equal
  bool alone = false;                // drawn for a file or the clipboard: what the page explains beside the canvas must be in the picture
  int ghost_steps = 0;               // hatch what will have left within so many steps; 0: nothing
  std::string_view edit_scope = "all heads";  // which heads an edit by hand would change, in words
  const HeadCauses* causes = nullptr;         // nullptr: nobody measures them
  bool has_focus = false;                     // keyboard focus: draw the cell cursor
  double dim = 0;                             // 0..1: the picture is of an older generation and is dimmed by this much
  bool fine_marks = true;  // false: no marks of single tokens or heads where there are more than a reader would go through
  Scene* scene = nullptr;  // records what is drawn (viz/draw/scene.h); needs `textures` to be these
  const SceneTextures* scene_textures = nullptr;
};

/// A mark as tests and screen readers see it: what is drawn where.
struct Mark {
  std::string kind;   // "cell", "bar", "tick", "label", ...
  std::string label;  // "L2 H1 t17"
  ImVec2 min, max;    // logical pixels
  std::string value;  // as printed
};

/// The numbers behind a canvas: what the data table (V14) and the CSV show.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // what was cut, aggregated or is missing; empty: nothing
};

/// A choice of a view that its panel's header offers as a list ("colour": "fate", "heads").
struct Option {
  std::string name;
  std::vector<std::string> choices;
  int current = 0;
  bool kept = false;   // with a session; by the choice's words
  bool listed = true;  // in the header; else it is chosen in the view itself
};

/// What of a view is on or off: a line in the window's menus.
struct Switch {
  std::string text;  // "Sort the head &grid by its metric\tS": & marks its key in the menu, what is behind the tab the view's own key
  std::string help;
  bool on = false;
};

/// One canvas. draw() is called inside an ImGui frame with one borderless window of frame.size; it uses ImGui's draw list and input state
/// only. A view keeps its zoom and drag state, nothing of the snapshot.
class View {
 public:
  virtual ~View() = default;
  virtual const char* id() const = 0;     // "atlas"
  virtual const char* title() const = 0;  // "Cache atlas"
  /// The title over what is selected: "Head L2 H1".
  virtual std::string heading(const Selection&) const { return title(); }
  /// Facts for the panel's header line: "step 2 · position 168 · 24 heads x 169 tokens".
  virtual std::string facts(const Frame& frame) const = 0;
  /// Draws and reacts; appends what the user did.
  virtual void draw(const Frame& frame, std::vector<Intent>& intents) = 0;
  /// Keys the app forwards when the canvas has focus ("Left", "Shift+Right", "Enter", "Home", "+", "-", "0", "P", ...). True if used.
  virtual bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) = 0;
  /// What the picture shows, in a sentence, for screen readers.
  virtual std::string summary(const Frame& frame) const { return facts(frame); }
  /// Text of the cell under the keyboard cursor, for screen readers.
  virtual std::string cursor_text(const Frame& frame) const = 0;
  virtual Table table(const Frame& frame) const = 0;
  /// What the last draw() put where.
  virtual const std::vector<Mark>& marks() const = 0;
  /// Height the view would like for this frame, in logical pixels; 0: any.
  virtual float preferred_height(const Frame&) const { return 0; }
  /// Of the last draw() for a file: so much higher (logical pixels) the picture must be to have all of what is scrolled to on screen.
  virtual float lacking_height() const { return 0; }
  /// Choices for the panel's header, and what the user chose there: index into `choices` of options()[option].
  virtual std::vector<Option> options() const { return {}; }
  virtual void choose(std::size_t option, int choice) { (void)option, (void)choice; }
  virtual std::vector<Switch> switches() const { return {}; }
  virtual void flip(std::size_t) {}
};

/// All canvases, in the order of the menu (views.h says what belongs to each).
/// `window`: the tokens that those with a token axis show, for the app to keep and restore.
std::vector<std::unique_ptr<View>> make_views(const std::shared_ptr<TokenWindow>& window = nullptr);

}  // namespace kvscope::viz
