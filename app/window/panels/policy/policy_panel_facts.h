// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QString>

#include "snapshot/snapshot.h"

namespace kvscope {

class Workspace;

/// What the policy card says, as data. Counts are of the selected head, or means and sums over all heads where none is selected.

/// How the slots of a head are used after the step.
struct BudgetFacts {
  bool known = false;  // there is a step
  double sinks = 0, heavy = 0, recent = 0;
  double asked = -1;                 // budget; -1: unlimited
  const char* heavy_name = "heavy";  // "kept" where nothing is kept because of its rank
  double used() const { return sinks + heavy + recent; }
  QString title;  // "Budget per head", "Budget of L4 · H3" where that is not every head's
  QString words;  // "4 + 30 + 8 = 42 slots"
};

/// Tokens seen = votes in slots + votes lost to eviction.
struct VotesFacts {
  bool known = false;
  long long in_slots = 0, lost = 0;
  QString title;  // "Votes, L4 · H1"
  QString words;  // "46 in slots + 123 lost = 169 seen"
  QString brief;  // "46 + 123 lost = 169"
};

struct CardFact {
  QString name, value;
  QString details;     // shown on hover; empty: none
  bool alert = false;  // to be looked at
};

BudgetFacts budgetFacts(const Workspace& workspace);
VotesFacts votesFacts(const Workspace& workspace);
/// The rows of the card: ranking, question, merge, statistic, allocation, parameters, votes of all heads.
std::vector<CardFact> cardFacts(const Workspace& workspace);
/// One sentence: what the policy is about.
QString policyIdea(const Workspace& workspace);

}  // namespace kvscope
