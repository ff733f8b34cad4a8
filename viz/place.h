// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kvscope::viz {

inline constexpr double kDesignColumn = 840;  // px of a column in the window that the design was drawn for
enum class Column : std::uint8_t { left, middle, right };

/// Where a panel stands in a window. Views say it where they are registered (views.h).
struct Place {
  enum class Kind : std::uint8_t {
    dock,  // in a column, always there
    tab,   // opened now and then: all of them share the place below the middle column
    page   // has all the room, instead of the columns
  };
  Kind kind = Kind::tab;
  Column column = Column::middle;
  int row = 0;                   // of a dock, from above
  double share = 0;              // of the column's height; 0: what the others leave it
  double share_beside_tabs = 0;  // the same while a tab stands below
  int least_height = 0;          // px with the header: below, words would stand on words
  const char* menu = "";         // of a page: its line in the menu of pages, "Head in&spector"
  const char* key = "";          // shows a page, or a tab: "Alt+2"
};

}  // namespace kvscope::viz
