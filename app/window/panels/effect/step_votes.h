// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "snapshot/step_record.h"

namespace kvscope {

/// Votes of a head, or of all of them, after one step.
struct StepVotes {
  long long in_slots = 0, lost = 0;
};

/// position: of the step's query. Every token that was seen is in a slot or lost.
StepVotes countVotes(const HeadRecord& head, int position);
StepVotes countVotes(const StepRecord& step);

/// The same, counted once per step for as long as anybody has the step: at 32 x 32 heads of 32K tokens a count reads tens of megabytes, and
/// a drag through the steps comes by each of them again and again.
class StepVotesOnce {
 public:
  const StepVotes& of(const StepPtr& step);
  int nCounted() const { return m_counted; }
  std::size_t nKept() const { return m_kept.size(); }

 private:
  struct Kept {
    std::weak_ptr<const StepRecord> step;  // gone: another step may have its address by now
    StepVotes votes;
  };
  void forgetTheGone();

  std::map<const StepRecord*, Kept> m_kept;
  std::size_t m_room = 64;  // doubles where all of them are alive
  int m_counted = 0;
};

}  // namespace kvscope
