// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// What can be done by hand with a slot, at the foot of its card.
class SlotButtons {
 public:
  static constexpr float kHeight = 36;  // logical pixels, room around them included

  void clear() { buttons_.clear(); }
  /// has_slot false: of a token that has none any more, which can come back.
  void draw(Painter& p, const Rect& area, bool has_slot);
  /// "Evict · this head"; `scope`: Frame::edit_scope.
  static std::string label(EditTokens::What what, std::string_view scope);
  /// The same by key, for who cannot see them: "P: pin, E: evict, M: merge".
  static const char* keys(bool has_slot) { return has_slot ? "P: pin, E: evict, M: merge" : "R: restore"; }
  /// What is under the mouse; nullopt: nothing.
  std::optional<EditTokens> at(const Pointer& mouse) const;
  /// "Evict the slot, all heads, in a run beside this one (E)"; `scope`: Frame::edit_scope.
  static std::string help(EditTokens::What what, std::string_view scope);

 private:
  struct Button {
    EditTokens::What what;
    Rect rect;
  };
  std::vector<Button> buttons_;
};

}  // namespace kvscope::viz
