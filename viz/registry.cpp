// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "viz/views.h"

namespace kvscope::viz {

namespace {

using Window = std::shared_ptr<TokenWindow>;

constexpr Place dock(Column column, int row, double share = 0, double share_beside_tabs = 0, int least_height = 0) {
  return {Place::Kind::dock, column, row, share, share_beside_tabs, least_height};
}
constexpr Place page(const char* menu, const char* key) { return {.kind = Place::Kind::page, .menu = menu, .key = key}; }

const ViewEntry kEntries[] = {
    {.make = [](const Window& w) { return make_atlas(w); },
     .place = dock(Column::middle, 0, 0, 0, 218),
     .edits_tokens = true,
     .tour = {"The whole cache",
              "One row a head, one column a token. Click a cell: all other panels follow. The wheel, or + and −, zooms."},
     .report = {"The cache of run %1", 1, [](int) { return 420; }}},
    {.make = [](const Window&) { return make_head_grid(); },
     .place = dock(Column::right, 0, 338 / kDesignColumn, 0, 240),
     .badge = RangeBadge::figures,
     .edits_heads = true},
    {.make = [](const Window& w) { return make_head_strip(w); },
     .place = dock(Column::middle, 1, 0.214, 0.17, 120),
     .commands = HeaderCommands::inspector,
     .edits_tokens = true,
     .tour =
         {"One head",
          "What this step's query reads. A hatched bar is attention that it would pay, were every token in place, to one that is gone or merged here."}},
    {.make = [](const Window&) { return make_inspector(); },
     .place = page("Head in&spector", "Alt+2"),
     .edits_tokens = true,
     .report = {"One head of run %1", 3, [](int) { return 620; }, true}},
    {.make = [](const Window&) { return make_timeline(); },
     .place = dock(Column::middle, 2, 0.240, 0.185, 156),
     .badge = RangeBadge::words,
     .commands = HeaderCommands::playback,
     .tour = {"Time", "One column a step. Space plays, Ctrl+← and Ctrl+→ step from anywhere, and everything shows the chosen step."},
     .report = {"The steps of run %1", 2, [](int) { return 240; }}},
    {.make = [](const Window&) { return make_queries(); }, .place = {.key = "Alt+Q"}},
    {.make = [](const Window&) { return make_figures(); }, .place = {.key = "Alt+G"}, .commands = HeaderCommands::add_runs},
    {.make = [](const Window& w) { return make_compare(w); },
     .place = page("&Compare", "Alt+3"),
     .badge = RangeBadge::words,
     .commands = HeaderCommands::add_runs,
     .sums_up_runs = true,
     .in_lecture = true,
     .report = {"What each run keeps", 0, [](int n_runs) { return std::clamp(200 + 90 * n_runs, 420, 640); }}},
};

}  // namespace

std::span<const ViewEntry> view_entries() { return kEntries; }

std::vector<std::unique_ptr<View>> make_views(const std::shared_ptr<TokenWindow>& shared) {
  const auto window = shared != nullptr ? shared : std::make_shared<TokenWindow>();
  std::vector<std::unique_ptr<View>> views;
  for (const ViewEntry& entry : kEntries) views.push_back(entry.make(window));
  return views;
}

}  // namespace kvscope::viz
