// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/group_reduce.h"
#include "slots/statistics/list.h"

namespace kvscope {

struct HeadKv;
struct KvSegment;

/// What a step did to a full cache.
struct Displaced {
  double score = 0;   // of the slot that went
  double cutoff = 0;  // the lowest of all others in Head::first ... end, once it has gone; NaN: there is none
  int pos = 0;        // of its token
  int n_nan = 0;      // scores that are no number: they are the lowest
  int into = 0;       // position of the slot that it was fused into, where slots collect what goes
  int votes = 0;      // of that one, before
};

/// The slots of full caches, one statistic of them beside, where a backend keeps account of both by itself. In every step a token comes to
/// each cache, its attention is taken into the statistic, and of the slots that may go the one of lowest score goes, of equal ones the
/// last. It is lost, or fused into one of the slots that collect: that of largest product of keys, as a mean weighted by votes, the
/// statistic as that says (unite). From the beginning on `order` of these caches is the backend's alone: the host's is not kept any more.
class SlotTable {
 public:
  struct Head {
    HeadKv* kv = nullptr;           // stays where it is
    std::span<const double> cells;  // of its slots
    std::span<const int> pos;
    int first = 0, end = 0;  // slots that may go, that of the step's token among them, but for those of `into`
    std::vector<int> into;   // slots that collect what goes, ascending; all others have one vote
    std::span<const int> votes;
  };
  struct Setup {
    StatId statistic = StatId::sum;
    StatParams params;
    GroupReduce reduce = GroupReduce::mean;
    double vote_factor = 0;       // a slot of p votes has bias factor ln p
    int position = 0;             // of the first token that comes
    std::span<const Head> heads;  // of all layers, layer-major
  };
  virtual ~SlotTable() = default;

  /// A token comes to the caches of a layer: row h of k and v.
  virtual void append(int layer, const void* k, const void* v) = 0;
  /// The slots of a head with that one, and where the attention of the step's queries to them belongs, [group, n] of dtype().
  virtual KvSegment slots(int layer, int head) const = 0;
  virtual void* attention(int head) = 0;
  /// After attend(): takes it in, then a slot of each head goes. After the last layer what went is sent on its way to the host.
  virtual void displace(int layer) = 0;
  /// What went, of all heads of a layer.
  virtual std::vector<Displaced> displaced(int layer) = 0;
};

}  // namespace kvscope
