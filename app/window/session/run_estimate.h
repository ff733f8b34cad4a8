// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <QString>
#include <QStringList>

#include "policy/catalog.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// What runs would cost, before they start. NaN: nothing is known to estimate it from.
struct RunEstimate {
  double ms = kNotAvailable;            // one after the other
  double cache_bytes = kNotAvailable;   // keys and values
  double record_bytes = kNotAvailable;  // what the pictures read
  QString basis;                        // what the time comes from: "measured on 3 runs"
  QStringList unknown;                  // policies that have not run on this text, by title: they differ by factors of hundreds
};

/// What a run of a policy took, mean of n.
struct RunTime {
  double ms = kNotAvailable;
  int n = 0;
};

/// times: of runs of this text, by policy; of others the steps on screen tell, where the policy has a run there; of the rest those of the
/// full cache, which say the least that they take. keep: the runs become lanes; else each one's memory is given back before the next.
RunEstimate estimateRuns(const Snapshot& snapshot, const std::vector<std::string>& specs, const std::map<std::string, RunTime>& times,
                         bool keep);

/// Name of the policy of a specification.
std::string policyOf(const std::string& spec);
/// The same without budget, seed and edits: the policy with its parameters, of which a curve over budgets is.
std::string methodOf(LaneSpec spec);
std::string methodOf(const std::string& spec);
/// The specification without the name that its user gave the run: what was measured under another name is of this run, too.
std::string computedBy(const std::string& spec);
/// "H2O", "Custom · score=\"last\""
std::string methodTitle(const std::string& spec);
/// The specification of a policy with the budget of another run; where that has none, as of the full cache, a quarter of the prompt.
std::string specLike(const std::string& policy, const LaneSpec& like);
/// The runs with the budget of one of them; those that take none, or none of its kind, stay as they are.
std::vector<LaneSpec> withBudgetOf(std::size_t run, std::vector<LaneSpec> runs);
/// Slots per head that a specification asks for; -1: no limit or unreadable.
int slotsAsked(const std::string& spec, int n_prompt);
/// The budget is a share of the bytes; slotsAsked() are those that have them in full precision.
bool asksBytes(const std::string& spec);
/// "12 runs · about 0.42 s (measured on 3 runs) · caches 3.1 MiB, records 9.0 MiB"
QString estimateWords(std::size_t n_runs, const RunEstimate& estimate, bool keep);

}  // namespace kvscope
