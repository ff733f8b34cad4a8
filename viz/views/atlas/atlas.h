// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "viz/views/atlas/atlas_cursor.h"
#include "viz/views/atlas/atlas_ghosts.h"
#include "viz/views/atlas/atlas_map.h"
#include "viz/views/atlas/atlas_minimap.h"
#include "viz/views/atlas/atlas_zoom.h"
#include "viz/views/parts/token_brush.h"

namespace kvscope::viz {

/// V2: the fate of every token in every head, rows = layers x KV heads, columns = tokens, at one step of one lane.
class Atlas : public View {
 public:
  explicit Atlas(std::shared_ptr<TokenWindow> window) : zoom_(std::move(window)) {}

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
  void draw_cells(Painter& p, const AtlasScene& s);

  // atlas_input.cpp
  void react(Painter& p, const AtlasScene& s, std::vector<Intent>& intents);
  void click(const Painter& p, const AtlasScene& s, const AtlasRow& row, int token, std::vector<Intent>& intents);
  void hover(const Painter& p, const AtlasScene& s, std::vector<Intent>& intents);
  std::vector<std::string> tooltip(const AtlasScene& s, const AtlasRow* row, int token) const;
  bool edit_at_cursor(const Frame& frame, std::string_view key, const AtlasCell& at, std::vector<Intent>& intents);
  void enter(const Frame& frame, const AtlasCell& cell, std::vector<Intent>& intents);

  AtlasColour colour_ = AtlasColour::fate;
  std::vector<Mark> marks_;
  Represented represented_;  // after the step that is shown
  AtlasMap map_;
  AtlasGhosts ghosts_;
  AtlasMinimap minimap_;
  AtlasZoom zoom_;
  TokenBrush brush_;
  AtlasCursor cursor_;
  Hover hovered_;
  std::uint64_t hovered_version_ = 0;  // of the scene
};

}  // namespace kvscope::viz
