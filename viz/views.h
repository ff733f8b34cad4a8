// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "viz/canvas.h"
#include "viz/draw/draw.h"
#include "viz/place.h"

namespace kvscope::viz {

// One factory per canvas. Views that share the token axis share a TokenWindow, so that a bar of the strip stands below its column of the
// atlas.
std::unique_ptr<View> make_atlas(std::shared_ptr<TokenWindow> window);
std::unique_ptr<View> make_head_grid();
std::unique_ptr<View> make_head_strip(std::shared_ptr<TokenWindow> window);
std::unique_ptr<View> make_inspector();
std::unique_ptr<View> make_timeline();
std::unique_ptr<View> make_queries();
std::unique_ptr<View> make_figures();
std::unique_ptr<View> make_compare(std::shared_ptr<TokenWindow> window = std::make_shared<TokenWindow>());

/// What a window tells about the range of steps that a view's statistics count: nothing, "steps 3–9", or "3–9" where its header has no
/// room.
enum class RangeBadge : std::uint8_t { none, words, figures };

/// The picture of a view in a written report.
struct ReportPart {
  const char* title = "";  // "%1" stands for the run; empty: it is in no report
  int order = 0;
  int (*height)(int n_runs) = nullptr;  // px of a picture 1000 px wide
  bool of_head = false;                 // only where a head is selected
};

/// What a window adds to the header of a view, of its own commands.
enum class HeaderCommands : std::uint8_t { none, playback, inspector, add_runs };

/// A stop of the tour over the panels of a window, which passes them in the order of the registry.
struct TourText {
  const char* title = "";  // empty: it passes by
  const char* text = "";
};

/// One view and all that a window has to know of it: its menu entry, its key, its panel and its exports come from here.
struct ViewEntry {
  std::unique_ptr<View> (*make)(const std::shared_ptr<TokenWindow>& window);
  Place place = {};
  RangeBadge badge = RangeBadge::none;
  HeaderCommands commands = HeaderCommands::none;
  bool edits_tokens = false;  // its tokens can be pinned, evicted, merged, restored
  bool edits_heads = false;   // budgets of the heads that it shows can be set
  bool sums_up_runs = false;  // its table has a row a run: what a report says of them
  bool in_lecture = false;    // a page that a lecture shows in large type
  TourText tour = {};
  ReportPart report = {};

  std::string id() const { return make(std::make_shared<TokenWindow>())->id(); }
};

/// All views, in the order of the menus. A new view: its own folder in viz/views, and one line in registry.cpp. The first is the main one.
std::span<const ViewEntry> view_entries();

}  // namespace kvscope::viz
