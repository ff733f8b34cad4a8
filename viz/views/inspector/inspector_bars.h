// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/head.h"

namespace kvscope::viz {

/// One token's bar in a row of values.
struct TokenBar {
  enum class Style : std::uint8_t { none, filled, outline, hatched, dash };
  Style style = Style::none;
  double value = kNotAvailable;
  Rgb fill;
  bool bordered = false;  // categories too faint on white get an edge
};

/// The bars of a row: how high every token's is, and how those look that are drawn.
struct TokenBars {
  std::vector<double> values;  // NaN: none, or one without a height
  std::function<TokenBar(int token)> look;
};

/// Rows shared by head strip and inspector. Every row stands on the same token axis.
struct TokenRows {
  Painter& p;
  const TokenAxis& axis;
  std::string place;  // "L3 H0", for marks

  /// Grid lines and tick labels of a value axis, right-aligned before the token axis. `brief`: ".5" for 0.5. Returns the middle of the
  /// widest gap between labels, where the row's name finds room.
  float value_axis(const Rect& row, const ValueScale& scale, float min_label_gap, bool brief = false) const;
  /// Name of a row in the label column, its middle at y, the unit below it. A name wider than the column left of the ticks takes two lines.
  /// room: height that there is for it; the unit goes first.
  void row_label(float y, std::string_view name, std::string_view unit, float right = -1, float room = 1e9f) const;
  /// Bars over the baseline row.y1. Below 1 px per token a pixel shows its highest bar. `kind`: of the marks.
  void bars(const Rect& row, const ValueScale& scale, const TokenBars& bars, std::string_view kind) const;
  /// A recurrent state that stands for what was evicted is one more slot of the softmax: its bar behind the last token's; nothing where the
  /// head has none.
  void state(const Rect& row, const ValueScale& scale, const HeadRecord& head) const;
  /// Category cells; below 1 px per token the category that is rarest to the eye wins: one with a slot before merged before evicted.
  void fates(const Rect& row, std::span<const Category> categories) const;
  /// Dots for 1 to 5 votes (one only if `single`), a bar with the number above. Below 1 px per token a column as high as the dots of the
  /// token with the most votes in that pixel.
  void votes(const Rect& row, std::span<const int> votes, bool single) const;
  /// Accent lines at both sides of a range of tokens.
  void range(float y0, float y1, const TokenRange& tokens) const;
  /// A tick over every place that the search found.
  void found(float y, std::span<const TokenRange> places) const;

  Rect column(int token, const Rect& row) const;
  float votes_number_at(std::span<const int> list, int token, float x, float half) const;
  bool fine_marks() const { return p.frame().fine_marks || axis.last_visible() - axis.first_visible() < kManyTokens; }
  float bar_width() const;
  /// The last token, up to `last`, in the pixel column of `token`; of columns of a pixel or more: the token itself.
  int pixel_end(int token, int last) const;

 private:
  static constexpr int kManyTokens = 64;  // more than a reader would go through one by one
};

/// Bars of the attention row: solid for slots the query saw, hatched for what only the reference could see. The columns must outlive these.
TokenBars attention_bars(const Theme& theme, const HeadColumns& columns);
/// Of these and of the head's state: a full unit where anything comes near it, so that strips of different heads can be compared; else as
/// far as the bars reach. highest: of the bars.
ValueScale attention_scale(double highest, const HeadRecord& head);
/// Bars of the probe's attention: solid and hatched likewise.
TokenBars probed_bars(const Theme& theme, const HeadColumns& columns);
/// Bars of the agreement: how many query heads rank the token inside the budget; solid and hatched likewise.
TokenBars agreement_bars(const Theme& theme, const HeadColumns& columns);
/// Bars of the ranking score: filled for slots, outlined for scores at an earlier removal, a dash for slots that are not ranked.
TokenBars score_bars(const Theme& theme, const HeadColumns& columns);
TokenBars statistic_bars(const Theme& theme, const HeadColumns& columns);

/// Publishes what is under the mouse once per change, and that nothing is when the mouse leaves.
class HoverPublisher {
 public:
  void at(Hover hover, std::vector<std::string> tooltip, std::vector<Intent>& intents);
  void none(std::vector<Intent>& intents);

 private:
  bool active_ = false;
};

}  // namespace kvscope::viz
