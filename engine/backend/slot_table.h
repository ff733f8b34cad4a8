// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/group_reduce.h"
#include "slots/statistics/list.h"

namespace kvscope {

struct HeadKv;
struct KvSegment;
struct SlotState;

/// What a step did to a full cache.
struct Displaced {
  double score = 0;                    // of the slot that went
  double cutoff = 0;                   // the lowest of the others that may go; NaN: there is none
  double cosine = 0;                   // of its key and the one that it was joined to, or would have been; NaN: nobody asked for it
  double w_removed = 0, w_target = 0;  // with which weights
  int pos = 0;                         // of its token
  int votes = 0;                       // it had
  int into = 0;                        // position of the slot that it was joined to; -1: it is lost
  int n_nan = 0;                       // scores that are no number: they are the lowest
};

/// The slots of full caches, what is known of them beside, where a backend keeps account of both by itself. In every step a token comes to
/// each cache, its attention is taken in, and of the slots that may go the one of lowest score goes, of equal ones the last. From the
/// beginning on `order` of these caches is the backend's alone: the host's is not kept any more.
class SlotTable {
 public:
  /// What becomes of a slot that goes.
  enum class Fate : std::uint8_t {
    lost,
    collected,  // by that of Head::into with the largest product of keys, as a mean weighted by votes, the statistic as it says (unite)
    merged,     // with the slot of most similar key, as slots/mass_merge.h says; lost below a cosine
  };
  struct Head {
    HeadKv* kv = nullptr;  // stays where it is
    const SlotState* slots = nullptr;
    int first = 0, end = 0;  // slots that may go, that of the step's token among them, but for those of `into`
    std::vector<int> into;   // slots that collect what goes, ascending; all others have one vote
    double threshold = 0;    // cosine below which it is not merged
  };
  struct Setup {
    std::optional<StatId> statistic;  // that is the score; nullopt: the weighted mean of the last rows (slots/weighted_rows.h)
    int n_rows = 0;                   // so many of them
    StatParams params;
    GroupReduce reduce = GroupReduce::mean;
    Fate fate = Fate::lost;
    double vote_factor = 0;       // a slot of p votes has bias factor ln p, beside its extra
    double ema_alpha = 0;         // where slots are merged: of the log-scores by which
    bool fills_mass = false;      // and what of the mass the merged key does not have by itself, its extra brings
    int position = 0;             // of the first token that comes
    std::span<const Head> heads;  // of all layers, layer-major
  };
  virtual ~SlotTable() = default;

  /// A token comes to the caches of a layer: row h of k and v.
  virtual void append(int layer, const void* k, const void* v) = 0;
  /// The slots of a head with that one, and where the attention of the step's queries to them belongs, [group, n] of dtype().
  virtual KvSegment slots(int layer, int head) const = 0;
  virtual void* attention(int head) = 0;
  /// The same for their logits; nullptr: nothing reads them.
  virtual void* logits(int head) = 0;
  /// After attend(): takes it in, then a slot of each head goes. After the last layer what went is sent on its way to the host.
  virtual void displace(int layer) = 0;
  /// What went, of all heads of a layer.
  virtual std::vector<Displaced> displaced(int layer) = 0;
};

}  // namespace kvscope
