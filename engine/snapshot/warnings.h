// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "snapshot/step_record.h"

namespace kvscope {

/// Something about a lane that people take for a result when it is an accident (POLICIES.md section 10).
struct LaneWarning {
  enum class Kind : std::uint8_t {
    nothing_removed,   // the budget never was reached: `asked` slots, `got` tokens
    only_newest_left,  // `count` heads hold nothing but their newest token
    frozen,            // in `count` heads every token that came went again, for up to `got` steps in a row
    not_finite,        // `count` infinite scores, or merge weights that are not finite
    nan_scores,        // `count` scores were not a number and ranked below all others
    fallback,          // `count` merges done in another form than the one asked for
    budget_raised,     // `asked` slots were too few for what is protected: `got` slots
    budget_missed,     // `asked` slots per head, `got` slots per head on average, `count` tokens after the last removal
    figures_only,      // the first `count` steps keep no slots: recorded results reached `got` bytes
    as_if_stored,      // errors and bytes are those of keys and values that are stored otherwise; `got` bytes if they were, `asked` in full
    edits_idle,        // `count` of `asked` edits by hand changed nothing up to step `got`
    window_decides,    // in `count` of `asked` layers for which something was set by hand the model's own window decides what stays
  };
  Kind kind = Kind::nothing_removed;
  double count = 0, asked = 0, got = 0;
  int n_heads = 0;  // of the model
  bool operator==(const LaneWarning&) const = default;
};

/// One sentence without a full stop, numbers included.
std::string text_of(const LaneWarning& warning);
/// The one of this kind; nullptr: there is none.
const LaneWarning* warning_of(std::span<const LaneWarning> warnings, LaneWarning::Kind kind);
/// Name of the kind, as traces write it.
std::string name_of(LaneWarning::Kind kind);
/// False where there is no such kind.
bool parse_kind(const std::string& name, LaneWarning::Kind& kind);

/// What the steps of a lane cannot say about it.
struct WarningFacts {
  int slots_requested = -1;  // before the budget was raised to its minimum; -1: none
  int slots_asked = -1;      // after it; -1: unlimited
  int nan_scores = 0, infinite_scores = 0;
  double bytes_as_if_stored = kNotAvailable;  // of the keys and values now, where they are stored otherwise
  double bytes_in_full = 0;                   // of the same, as they would be
  int edits = 0, edits_idle = 0;              // by hand: those that are on, and of them those that changed nothing
  int layers_set = 0,
      layers_with_window = 0;  // for which budgets, keys or pins were set by hand, and of them those in which no policy decides
};

/// Watches the steps of one lane as they come. Copyable (checkpoints).
class WarningWatch {
 public:
  static constexpr int kFreeze = 16;  // steps in a row from which a kept set counts as frozen

  int n_steps() const { return n_steps_; }
  void add(const StepRecord& step);
  int step() const { return step_; }          // the last one, as traces count; -1: none
  int position() const { return position_; }  // of the last token that came; -1: none
  /// What was done by hand to a head after the compression of a step: kind, position and target of each event. Kept here, for records
  /// may be written to a file and let go.
  struct ByHand {
    int layer = 0, kv_head = 0;
    std::vector<Event> events;
  };
  /// The heads of a step of which there is any.
  std::span<const ByHand> by_hand(int step) const;
  std::vector<LaneWarning> warnings(const WarningFacts& facts) const;

 private:
  struct Head {
    std::vector<int> old_pos, old_votes;  // of the slots that are not protected as recent
    int frozen = 0;                       // removals in a row that left them as they were
    int slots = 0;
  };
  std::vector<Head> heads_;
  std::map<int, std::vector<ByHand>> by_hand_;                       // by step
  int n_steps_ = 0, step_ = -1, position_ = -1, last_removal_ = -1;  // the last two: positions
  double removals_ = 0, fallbacks_ = 0, bad_weights_ = 0;
};

}  // namespace kvscope
