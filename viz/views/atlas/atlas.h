// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "viz/draw/legend.h"
#include "viz/draw/ramp_texels.h"
#include "viz/reduce/represented.h"
#include "viz/reduce/rows.h"
#include "viz/reduce/score.h"
#include "viz/views/atlas/atlas_rows.h"
#include "viz/views/parts/token_brush.h"

namespace kvscope::viz {

/// V2: the fate of every token in every head, rows = layers x KV heads, columns = tokens, at one step of one lane.
class Atlas : public View {
 public:
  explicit Atlas(std::shared_ptr<TokenWindow> window) : window_(std::move(window)) {}

  const char* id() const override { return "atlas"; }
  const char* title() const override { return "Cache atlas"; }
  std::string facts(const Frame& frame) const override;
  void draw(const Frame& frame, std::vector<Intent>& intents) override;
  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override;
  std::string cursor_text(const Frame& frame) const override;
  Table table(const Frame& frame) const override;
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override;
  std::vector<Option> options() const override;
  void choose(std::size_t option, int choice) override;

 private:
  struct Cell {
    int layer = 0, kv_head = 0, token = 0;
    bool operator==(const Cell&) const = default;
  };
  // What one frame shows; rebuilt by every draw().
  struct Scene {
    const Snapshot* snapshot = nullptr;
    const LaneSnapshot* lane = nullptr;
    const StepRecord* record = nullptr;
    int step = 0;
    int seen = 0;      // tokens seen at the step
    int n_tokens = 0;  // tokens of the whole run
    Rect axis_strip, area, minimap, legend;
    Rect categories;  // of a plain picture that stands alone: their legend, which the page has elsewhere
    TokenAxis axis;
    TokenAxis overview;  // of the minimap: all tokens
    AtlasRows rows;
    int bin = 1;          // tokens per texel
    bool binned = false;  // texels stand for several tokens
    int lines = 1;        // texel rows of a row: the layers' second one is the spread of their heads
    ScoreRange scores;    // of the step, where scores are shown
  };
  struct Texture {
    std::string name;
    std::uint64_t version = 0;
    int width = 0, height = 0;
    std::vector<std::uint32_t> rgba;
  };

  // atlas.cpp
  bool make_scene(const Painter& p, Scene& s);
  void draw_rows(Painter& p, const Scene& s);
  void draw_glyphs(Painter& p, const Scene& s);
  void draw_rare(Painter& p, const Scene& s) const;
  void draw_pins(Painter& p, const Scene& s) const;
  void draw_labels(Painter& p, const Scene& s) const;
  void draw_minimap(Painter& p, const Scene& s);
  void draw_selection(Painter& p, const Scene& s) const;
  void draw_legend(Painter& p, const Scene& s) const;
  // atlas_plain.cpp
  void draw_plain(Painter& p, const Scene& s) const;
  // atlas_ghosts.cpp
  void draw_ghosts(Painter& p, const Scene& s);
  float ghost_legend(Painter& p, const Scene& s, float x, float y) const;
  RampLegend score_legend(const Theme& theme, const Scene& s) const;
  // atlas_texture.cpp
  void fill_categories(const Frame& frame, const Scene& s);
  void fill_fractions(const Frame& frame, const Scene& s);
  void fill_scores(const Frame& frame, const Scene& s);
  void fill_minimap(const Frame& frame, const Scene& s);
  std::uint64_t scene_key(const Frame& frame, const Scene& s) const;
  // atlas_input.cpp
  void react(Painter& p, const Scene& s, std::vector<Intent>& intents);
  bool pan_and_zoom(Painter& p, const Scene& s);
  bool drag_minimap(const Pointer& m, const Scene& s);
  bool zoom_to_bin(const Frame& frame, const Cell& cell);
  void hover(const Painter& p, const Scene& s, std::vector<Intent>& intents);
  std::vector<std::string> tooltip(const Scene& s, int layer, int kv_head, int token) const;
  std::vector<std::string> tooltip_bin(const Scene& s, const AtlasRow& row, int first, int last) const;
  const AtlasRow* row_at(const Scene& s, float y) const;
  void zoom_tokens(const Scene& s, const Painter& p, float x, double factor);
  void show_token(int token, int n_tokens);
  Cell cursor_of(const Frame& frame) const;

  enum class Colour : std::uint8_t { fate, mean, max, min };  // the latter three: of the scores
  bool by_score() const { return colour_ != Colour::fate; }

  std::shared_ptr<TokenWindow> window_;
  Colour colour_ = Colour::fate;
  AtlasRowView row_view_;
  std::vector<Mark> marks_;

  Represented represented_;
  RepresentedRows counts_;  // of what shows
  RampTexelsCache ramps_;
  Texture cells_{"atlas.cells", 0, 0, 0, {}};
  Texture overview_{"atlas.heads", 0, 0, 0, {}};
  Texture ghosts_{"atlas.ghosts", 0, 0, 0, {}};

  TokenBrush brush_;
  bool in_minimap_ = false, panning_ = false;
  double grabbed_ = 0;    // tokens between the start of the window and the mouse that drags it in the minimap
  bool framing_ = false;  // the mouse draws a new window there
  bool cursor_set_ = false;
  Cell cursor_;
  Hover hovered_;
  std::uint64_t hovered_scene_ = 0;
  float last_px_ = 0;  // pixels per token of the last frame, for facts()
  int last_bin_ = 1;
  bool last_by_layer_ = false;
  float last_page_ = 20;  // tokens that the last frame showed
};

/// One line about the fate of a token: "evicted at step 3", "merged into 58 «·be» at step 101", "heavy, has its own slot".
std::string fate_text(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token);
/// Tooltip of a token in a head: what, fate, score and rank, votes, context (viz/README.md section 4).
std::vector<std::string> token_tooltip(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token);

}  // namespace kvscope::viz
