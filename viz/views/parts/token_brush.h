// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/draw/draw.h"

namespace kvscope::viz {

/// Ctrl+drag along a token axis selects the tokens under it; with Shift they join those that are selected.
class TokenBrush {
 public:
  /// Once a frame. rows: where a drag may begin; n_tokens: that may be selected. True while the drag is the brush's, its end included.
  bool react(Painter& p, const TokenAxis& axis, const Rect& rows, int n_tokens, std::vector<Intent>& intents);

 private:
  bool on_ = false;
  int from_ = 0;
};

/// The same by keys: the range that ends at `token`, with its other end moved by `by` tokens. A selection without such a range begins anew.
TokenRange moved_end(const Selection& selection, int token, int by, int n_tokens);

}  // namespace kvscope::viz
