// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/characters.h"
#include "viz/reduce/slot.h"
#include "viz/views/inspector/slot_buttons.h"

namespace kvscope::viz {

constexpr float kCardHead = 30;     // height of a card's title
constexpr float kCardPadding = 12;  // left and right of what it holds

/// Title and facts of a card, a line under them; the rest of `area` is returned, padded.
Rect draw_card_head(Painter& p, Rect area, std::string_view title, std::string_view facts);

/// One line: the head's name, what it does, and how that was measured, as far as there is room.
void draw_habit(Painter& p, const Rect& area, const HabitCaption& caption);

/// The slot (or the token that has none): its text, what it stands for, its numbers, and what can be done with it by hand, where the policy
/// has a budget and there is room.
void draw_slot_card(Painter& p, Rect area, const Snapshot& snapshot, const HeadPick& pick, const SlotFacts& facts, SlotButtons& buttons);

}  // namespace kvscope::viz
