// SPDX-License-Identifier: Apache-2.0
#include "viz/views/parts/token_brush.h"

#include <algorithm>

namespace kvscope::viz {

bool TokenBrush::react(Painter& p, const TokenAxis& axis, const Rect& rows, int n_tokens, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  const auto token_under = [&](float x) { return static_cast<int>(std::clamp(axis.token_at(x), 0.0, std::max(0.0, n_tokens - 1.0))); };
  if (m.pressed) {
    on_ = m.ctrl && rows.contains(m.at);
    from_ = token_under(m.at.x);
  }
  if (!on_) return false;
  if (m.released) {
    const int to = token_under(m.at.x);
    const TokenRange brushed{std::min(from_, to), std::max(from_, to)};
    Selection next = p.frame().selection;
    m.shift ? toggle_tokens(next, brushed) : next.select(brushed);
    intents.push_back(Select{next});
  } else if (m.dragging) {
    const float a = axis.x_of(from_), b = std::clamp(m.at.x, axis.x0, axis.x1);
    p.fill({std::min(a, b), rows.y0, std::max(a, b), rows.y1}, p.theme().accent, 0.16);
  }
  if (!m.down) on_ = false;
  return true;
}

TokenRange moved_end(const Selection& selection, int token, int by, int n_tokens) {
  int end = token;
  if (selection.tokens && selection.tokens->first == token) end = selection.tokens->last;
  if (selection.tokens && selection.tokens->last == token) end = selection.tokens->first;
  end = std::clamp(end + by, 0, std::max(0, n_tokens - 1));
  return {std::min(token, end), std::max(token, end)};
}

}  // namespace kvscope::viz
