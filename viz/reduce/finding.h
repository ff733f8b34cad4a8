// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"
#include "viz/reduce/lecture.h"

namespace kvscope::viz {

struct HeadCauses;

// What a run answers differently from the full cache, and which token, evicted or merged, explains it.

/// The first step after `after` that predicts a token after the prompt and whose most likely one is not the full cache's; -1: none.
int next_changed_step(const Snapshot& snapshot, const LaneSnapshot& lane, int after);
/// The next one from this step on or back, round at the ends; -1: there is none.
int changed_step_from(const Snapshot& snapshot, const LaneSnapshot& lane, int step, bool forward);
/// The same of all steps that count: of a streamed text those of the prompt, too.
int differing_step_from(const Snapshot& snapshot, const LaneSnapshot& lane, int step, bool forward);

/// What the question "which head?" came to, once every head is measured: in a few words, and the whole of it. Several heads may each be
/// enough, and none of them has to be the one that misses most.
struct CauseWords {
  std::string brief;  // "L4 H1 or L4 H3", "L4 H1 or 2 others"; empty: not measured, or nothing is to be brought back
  std::string all;    // "«913»: L4 H1", "all 12 steps: L4 H1": what repairs this step need not repair the others; empty: there are none
  std::string sentence;  // "With L4 H1 or L4 H3 in full this step is right."
  std::string whole;
  std::vector<int> heads;  // layer * n_kv_heads + kv_head of those that do, who gains most first
  int most = -1;           // the head that gains most, of all; -1: none gains anything
};
CauseWords cause_words(const Snapshot& snapshot, const HeadCauses& causes);
/// As many are named one by one.
inline constexpr std::size_t kNamedHeads = 6;
/// "KL 4.50 → 0.0201 nats, 12 of 12 steps right": what comes of the run with this head in full.
std::string gain_words(const HeadCauses& causes, int head);
/// How far that is: "12 of 224 heads, about 3 min left"; "224 heads, about 3 min". Empty: there is nothing to wait for.
std::string measuring_words(const HeadCauses& causes);

/// "It reads another text than the full cache since step 4: nothing is compared."; empty: it reads the same.
std::string other_text_words(const Snapshot& snapshot, const LaneSnapshot& lane);

/// What one step of a run says instead, and what it misses most there.
struct Finding {
  int step = -1;                  // -1: the choice is the full cache's, or the step predicts a token of the prompt
  std::string reference, says;    // token texts
  double kl = kNotAvailable;      // KL(full || run) of the step, nats
  double unsure = kNotAvailable;  // the full cache's own probability of its choice, where that is low or hardly above the next one's
  Loss loss;                      // step -1: no lost token would get attention worth speaking of, or attention was not captured
  int n_alike = 0;                // of the heads that bring the answer back: how many evicted that token, too, or merged it, too
};
/// The full cache's probability of its most likely token, where another is nearly as likely or none is likely: to lose that choice says
/// little. NaN: it was sure, or its probabilities are not known.
double unsure_of(const StepRecord& record);

/// Once it is measured which heads bring the answer back, or which one gains most, the loss is theirs, as far as they have one.
Finding finding_of(const Snapshot& snapshot, const LaneSnapshot& lane, int step, const CauseWords& causes = {});

/// The step of a run that was asked about last: what is said of it reads the attention of all heads.
class AskedStep {
 public:
  /// False where it is another one, which is remembered.
  bool again(const LaneSnapshot& lane, int step);

 private:
  std::weak_ptr<const StepRecord> record_;
  std::weak_ptr<const LaneFates> fates_;
};

/// The finding asked for last.
class FindingOnce {
 public:
  const Finding& of(const Snapshot& snapshot, const LaneSnapshot& lane, int step, const CauseWords& causes = {});

 private:
  AskedStep asked_;
  std::vector<int> heads_;
  int most_ = -1;
  Finding finding_;
};

struct Agreement {
  std::string same;    // "KeepKV says «8», and so all of «482», as the full cache does: KL 0.0201 nats."
  std::string misses;  // "L4 H3 evicted token 87 «8»; L4 H1, which attends to it, has it."; empty: no head misses much

  std::string words() const { return misses.empty() ? same : same + " " + misses; }
};

/// How many heads are without the token that one of them misses most, and which of those with much attention on it have it, or have merged
/// it. Empty where the choice differs, and for steps that predict the prompt.
Agreement agreement_at(const Snapshot& snapshot, const LaneSnapshot& lane, int step);

/// The agreement asked for last.
class AgreementOnce {
 public:
  const Agreement& of(const Snapshot& snapshot, const LaneSnapshot& lane, int step);

 private:
  AskedStep asked_;
  Agreement agreement_;
};

/// "KeepKV says «2», not «8». Largest loss of attention: L4 H3 evicted token 87 «8», 97.4 % of its.": what the full cache says, and what
/// that head pays to the token there. Other heads may miss enough, too: once that is known it stands there, "KeepKV says «2», not «8».
/// With L4 H1 or L4 H3 in full this step is right. Both evicted token …". Empty without a finding. `causes`: those of finding_of().
/// looked_at: the head whose share is said where several of these lost the token alike and it is one of them; -1: none.
std::string finding_sentence(const Snapshot& snapshot, const LaneSnapshot& lane, const Finding& finding, const CauseWords& causes = {},
                             int looked_at = -1);
/// As long as it may become by an answer to "which head?": room for it.
std::string longest_finding_sentence(const Snapshot& snapshot, const LaneSnapshot& lane, const Finding& finding);

}  // namespace kvscope::viz
