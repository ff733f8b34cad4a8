// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "viz/draw/draw.h"
#include "viz/reduce/head.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// What can be done by hand with a slot, at the foot of its card.
class SlotButtons {
 public:
  static constexpr float kHeight = 36;  // logical pixels, room around them included

  void clear() { buttons_.clear(); }
  /// The token has a slot of its own in the head. In another one's it can only come back: evicting or merging that would be of the other
  /// one. What the step on screen merges had its own slot for that step's query, and edits are made before it.
  static bool has_slot(const SlotFacts& facts, int step) {
    return facts.pos >= 0 && (facts.pos == facts.token || facts.removal.step == step);
  }
  /// token: whose slot it is. Where several are selected, it among them, they are meant as by key. pinned: by hand in this head, ascending;
  /// where all that are meant are, the button takes that back.
  void draw(Painter& p, const Rect& area, bool has_slot, int token, std::span<const int> pinned);
  static bool means_selection(const Selection& selection, int token) { return n_tokens(selection) > 1 && has_token(selection, token); }
  /// "Evict · this head"; `scope`: Frame::edit_scope.
  static std::string label(EditTokens::What what, std::string_view scope);
  /// The same by key, for who cannot see them: "P: pin, E: evict, M: merge".
  static std::string keys(bool has_slot, bool pinned) {
    return fmt::format("{}P: {}{}", has_slot ? "" : "R: restore, ", pinned ? "unpin" : "pin", has_slot ? ", E: evict, M: merge" : "");
  }
  /// What is under the mouse; nullopt: nothing.
  std::optional<EditTokens> at(const Pointer& mouse) const;
  /// The button under the mouse was clicked. The second click of a double click is none: other buttons may stand there by then.
  bool clicked(const Pointer& mouse) {
    if (mouse.pressed) second_ = mouse.double_clicked;
    return mouse.clicked && !second_;
  }
  /// "Evict the slot, all heads, in a run beside this one (E)", of what is under the mouse; `scope`: Frame::edit_scope.
  std::string help(const Pointer& mouse, std::string_view scope) const;

 private:
  struct Button {
    EditTokens::What what;
    Rect rect;
    bool takes_back = false;
  };
  const Button* under(const Pointer& mouse) const;
  std::vector<Button> buttons_;
  bool second_ = false;  // the press is that of a double click
};

}  // namespace kvscope::viz
