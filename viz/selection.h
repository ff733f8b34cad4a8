// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kvscope::viz {

/// Tokens [first, last], both included.
struct TokenRange {
  int first = 0, last = 0;
  bool operator==(const TokenRange&) const = default;
};

/// Steps [first, last], both included.
struct StepRange {
  int first = 0, last = 0;
  bool operator==(const StepRange&) const = default;
};

/// What all views look at together. Published by the app, the same for every view of a frame.
struct Selection {
  int lane = 0;                                   // index into Snapshot::lanes
  std::optional<int> layer;                       // nullopt: all heads
  std::optional<int> kv_head;                     // set only together with layer
  std::optional<TokenRange> tokens;               // the range looked at last
  std::vector<TokenRange> more_tokens = {};       // selected besides; ascending, none overlaps another or `tokens`
  std::optional<int> slot;                        // which of the selected tokens is looked at: never another one that stands for it
  std::optional<int> step;                        // nullopt: the latest step
  std::optional<StepRange> steps = std::nullopt;  // statistics count these only; nullopt: all
  bool operator==(const Selection&) const = default;
  /// This range and nothing besides.
  void select(const TokenRange& range) {
    tokens = range;
    more_tokens.clear();
    if (slot && (*slot < range.first || *slot > range.last)) slot.reset();
  }
};

/// All selected ranges, ascending.
std::vector<TokenRange> all_tokens(const Selection& selection);
bool has_token(const Selection& selection, int token);
int n_tokens(const Selection& selection);
/// The range joins those that are selected and becomes the one looked at; if all of it is selected, it is taken away instead.
void toggle_tokens(Selection& selection, const TokenRange& range);

/// Under the mouse right now; never triggers computing.
struct Hover {
  std::optional<int> layer, kv_head, token, lane, step;
  bool operator==(const Hover&) const = default;
};

// ---- what the user did in a canvas; the app decides what follows
struct Select {
  Selection selection;
};
struct HoverAt {
  Hover hover;
  std::vector<std::string> tooltip;
};  // tooltip lines: what, value, rank, context; empty: none
struct SetStep {
  std::optional<int> step;
};  // nullopt: follow the latest
struct OpenInspector {};
struct SetBudget {
  int lane = 0;
  int slots = 0, layer = 0, kv_head = 0;
};  // the cut-off of a head was dragged and let go
struct RemoveLane {
  int lane = 0;
};
struct CancelRun {
  int id = 0;
};  // of a WaitingRun
/// What is shown now needs a measure that costs something, or needs it no longer. Asked again in every frame until the snapshot agrees.
struct WantMeasure {
  enum class What {
    theta,
    of_one_head,
    history,
    causes,
    queries,
    prediction
  };  // of_one_head: MeasureSet::of_one_head(); queries, prediction: those of MeasureSet; history: the uncompressed history, for local
      // figures; once, it stays on; causes: HeadCauses
  What what = What::theta;
  bool on = false;
  bool asked = false;  // by somebody, not by a view that shows it where it can
};
/// The selected tokens are changed by hand, at the step that is shown.
struct EditTokens {
  enum class What { pin, evict, merge, restore };
  What what = What::pin;
};
/// A list opens below a place of the canvas; what is chosen goes to View::key() as its key.
struct OfferList {
  struct Choice {
    std::string words, key;
  };
  float x = 0, y = 0;
  std::vector<Choice> choices;
  int current = 0;
};
using Intent = std::variant<Select, HoverAt, SetStep, OpenInspector, SetBudget, RemoveLane, CancelRun, WantMeasure, EditTokens, OfferList>;

}  // namespace kvscope::viz
