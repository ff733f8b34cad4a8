// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/draw/draw.h"

namespace kvscope::viz {

/// Which tokens the inspector's strip shows: all of them, or a stretch.
class StripZoom {
 public:
  /// The strip's axis: columns are whole pixels while they fit, so that bars are equally wide.
  TokenAxis axis(const Painter& p, int n_tokens) const;
  bool on() const { return window_.count > 0; }

  void keep_in_view(int token);
  /// By keys: `token` comes to the middle. More than 0 notches: nearer.
  void around(int token, int n_tokens, float notches);
  /// By the wheel: the token under the mouse stays under it.
  void at(const Painter& p, const TokenAxis& axis, float x);
  void pan(const TokenAxis& axis, float moved);

 private:
  float column_width(const Painter& p, const TokenAxis& axis) const;
  void count(int n_tokens, float notches);

  TokenWindow window_;
};

}  // namespace kvscope::viz
