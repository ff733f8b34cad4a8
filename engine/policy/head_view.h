// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/not_available.h"
#include "policy/plan.h"
#include "slots/slot_state.h"

namespace kvscope {

struct ScoreTerm;

/// The slot of most similar key, and that cosine.
struct Nearest {
  int target = -1;
  double cos = kNotAvailable;
};

/// Keys of one (layer, KV head), as far as a decision needs them. Implemented by the runtime where the keys are.
class KeyGeometry {
 public:
  virtual ~KeyGeometry() = default;
  /// cos(k_i, k_j), [from, to]; 0 with a zero vector.
  virtual std::vector<double> cosines(std::span<const int> from, std::span<const int> to) const = 0;
  /// Of every slot in `gone` the slot of most similar key among those that are not in it (there are some), of equal ones the first, and
  /// that cosine; 0 with a zero vector.
  virtual std::vector<Nearest> nearest_kept(std::span<const int> gone) const = 0;
  /// The slot of `to` with the largest k_from . k_to, of equal ones the first, and that product.
  virtual Nearest largest_product(int from, std::span<const int> to) const;
  /// True: answers come when all heads have been asked about, so that what needs none had better be done before.
  virtual bool answers_together() const { return false; }
  /// Hints: just this is going to be asked. Where the keys are on a device the questions about all
  /// heads of a layer travel together.
  virtual void expect_nearest_kept(std::span<const int> /*gone*/) const {}
  virtual void expect_largest_product(int /*from*/, std::span<const int> /*to*/) const {}
  virtual void expect_keys(std::span<const int> /*slots*/) const {}
  /// Key rows of these slots, [slots, head_dim], into `rows`, whose memory a caller may use again.
  virtual void keys(std::span<const int> slots, std::vector<double>& rows) const = 0;
  /// Value rows of all slots, [n, head_dim].
  virtual std::vector<double> values() const = 0;
  /// Key rows of all slots as they were before rotation, [n, head_dim].
  virtual std::vector<double> unrotated_keys() const = 0;
  /// Of every slot: ||v_i||_2.
  virtual std::vector<double> value_l2() const = 0;
  /// Of every slot: mean over the group's query heads g of ||v_i W_O^(g)||_1.
  virtual std::vector<double> value_norms() const = 0;
};

/// The coming queries of the full cache against one (layer, KV head), which only a reference with hindsight may ask for
/// (StatNeeds::coming_queries). Implemented by the runtime.
class Hindsight {
 public:
  struct View {
    int n_queries = 0;
    int group = 1;                // query heads per KV head
    int dim = 0;                  // width of the residual stream
    std::vector<double> logits;   // [n_queries, group, n] over the slots, bias inside; -inf for slots that are younger than the query
    std::vector<double> outputs;  // [n_queries, group, dim] o_full W_O^(g): the query over the lane's own full history
    std::vector<double> values;   // [group, n, dim] v_i W_O^(g)
  };
  virtual ~Hindsight() = default;
  virtual View look() const = 0;
  /// Throws Cancelled where nobody waits for the choice any more: of thousands of slots it takes minutes.
  virtual void check() const {}
};

/// The prompt's queries of one KV head's group, for policies that look at all of them (StatNeeds::prompt_queries). Implemented by the
/// runtime.
class PromptQueries {
 public:
  virtual ~PromptQueries() = default;
  /// Of every token of the prompt, [n, group, head_dim]: rotated to its position, or as it was before.
  virtual std::vector<double> rows(bool rotated) const = 0;
  /// The rotation to each of the positions first .. first + n - 1, [n, rotated dimensions]: cosine of every frequency, then sine of every
  /// one.
  virtual std::vector<double> rotations(int first, int n) const = 0;
};

/// What stays of a prompt's queries of one KV head's group when the prompt is gone: where they point before rotation. Number f and number
/// f + dims/2 of the first `dims` are one complex number, which a position turns by an angle of its own.
struct QueryCenters {
  std::vector<double> mean;    // [group, head_dim]
  std::vector<double> length;  // [group, dims/2] mean absolute value of the complex numbers
  std::vector<double> turn;    // [dims/2] radians per position
};

/// What a policy sees of one (layer, KV head) when it decides. Nothing else.
struct HeadView {
  const SlotState* slots = nullptr;
  const KeyGeometry* keys = nullptr;
  int layer = 0;
  int kv_head = 0;
  int slots_at_most = 0;                    // budget of the head, where it has one
  std::span<const int> pinned = {};         // original positions that must not be selected for removal (ascending); slots or not
  const Hindsight* hindsight = nullptr;     // where the policy needs coming queries
  const PromptQueries* queries = nullptr;   // right after the prompt, where the policy needs its queries
  const QueryCenters* centers = nullptr;    // from then on, where its ranking reads them; the policy fills this in
  bool explains = false;                    // what scores are made of is wanted
  std::vector<ScoreTerm>* terms = nullptr;  // where that is noted, if it is; the policy fills this in

  /// Notes a term of the slots from `first` on; nothing where none is wanted.
  void note(const char* name, std::span<const double> values, std::size_t first = 0) const;
};

/// How keys meet positions (POLICIES.md section 3).
enum class Positions : std::uint8_t { original, cache, ceiling };
/// b_i of a slot: 0 where the factor is 0, else factor ln p_i + extra_i.
struct Bias {
  double vote_factor = 0;
  static const Bias none, votes;
  bool operator==(const Bias&) const = default;
};
inline constexpr Bias Bias::none{0};
inline constexpr Bias Bias::votes{1};

}  // namespace kvscope
