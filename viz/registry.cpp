// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "viz/views.h"

namespace kvscope::viz {

namespace {

using Window = std::shared_ptr<TokenWindow>;
constexpr double kColumn = 840;  // px of a column in the window that the design was drawn for

constexpr Place dock(Column column, int row, double share = 0, double share_beside_tabs = 0, int least_height = 0) {
  return {Place::Kind::dock, column, row, share, share_beside_tabs, least_height};
}
constexpr Place page(const char* menu, const char* key) { return {.kind = Place::Kind::page, .menu = menu, .key = key}; }

const ViewEntry kEntries[] = {
    {[](const Window& w) { return make_atlas(w); },
     dock(Column::middle, 0, 0, 0, 150),
     RangeBadge::none,
     true,
     {"The cache of run %1", 1, [](int) { return 420; }}},
    {[](const Window&) { return make_head_grid(); }, dock(Column::right, 0, 338 / kColumn), RangeBadge::figures},
    {[](const Window& w) { return make_head_strip(w); }, dock(Column::middle, 1, 0.214, 0.17, 120), RangeBadge::none, true},
    {[](const Window&) { return make_inspector(); },
     page("Head in&spector", "Alt+2"),
     RangeBadge::none,
     true,
     {"One head of run %1", 3, [](int) { return 620; }, true}},
    {[](const Window&) { return make_timeline(); },
     dock(Column::middle, 2, 0.240, 0.185, 156),
     RangeBadge::words,
     false,
     {"The steps of run %1", 2, [](int) { return 240; }}},
    {[](const Window& w) { return make_compare(w); },
     page("&Compare", "Alt+3"),
     RangeBadge::words,
     false,
     {"What each run keeps", 0, [](int n_runs) { return std::clamp(200 + 90 * n_runs, 420, 640); }}},
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
