// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config.h"
#include "policy/plan.h"
#include "slots/slot_state.h"

namespace kvscope {

enum class PromptMode : std::uint8_t { prefill, stream };

/// The slot of most similar key, and that cosine.
struct Nearest {
  int target = -1;
  double cos = kNone;
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
};

/// The prompt's queries of one KV head's group, for policies that look at all of them (StatNeeds::prompt_queries). Implemented by the
/// runtime.
class PromptQueries {
 public:
  virtual ~PromptQueries() = default;
  /// Of every token of the prompt, [n, group, head_dim]: rotated to its position, or as it was before.
  virtual std::vector<double> rows(bool rotated) const = 0;
  /// Mean over the positions first .. first + n - 1 of the rotation to them, [head_dim]: cosine of every frequency, then sine of every one.
  virtual std::vector<double> mean_rotation(int first, int n) const = 0;
};

/// What a policy sees of one (layer, KV head) when it decides. Nothing else.
struct HeadView {
  const SlotState* slots = nullptr;
  const KeyGeometry* keys = nullptr;
  int layer = 0;
  int kv_head = 0;
  int slots_at_most = 0;                 // budget of the head, where it has one
  std::span<const int> pinned = {};      // original positions that must not be selected for removal (ascending); slots or not
  const Hindsight* hindsight = nullptr;  // where the policy needs coming queries
  const PromptQueries* queries = nullptr;  // right after the prompt, where the policy needs its queries
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

struct PolicyInfo;
struct LayerDecision;  // decision.h

/// One resolved parameter, for the trace, the policy card and the window's form.
struct ResolvedParam {
  std::string key;
  bool is_text = false;
  std::string text;   // when is_text
  double number = 0;  // otherwise; counts are whole numbers
  bool is_count = false;
};

/// A policy with its parameters resolved for one model, prompt length and prompt mode. Immutable but for allocations made on the way.
class Policy {
 public:
  struct Setup {
    std::string spec;  // name:key=value,...@edit...: its budget overrides hold, its what-ifs are the runtime's work
    const ModelConfig* model = nullptr;
    int n_prompt = 0;  // L
    PromptMode mode = PromptMode::prefill;
    std::uint64_t seed = 0;
    std::string folder = {};  // the model's: files that keys name are looked up in the working directory, then here
  };
  /// Throws UsageError: unknown policy or key (lists the known ones), value out of range, budget missing or double, mode not possible.
  static std::unique_ptr<Policy> make(const Setup& setup);
  virtual ~Policy() = default;

  virtual const std::string& name() const = 0;
  /// The catalog's words for it; where the keys choose the parts, those of this choice.
  virtual const PolicyInfo& info() const = 0;
  virtual bool compresses() const = 0;  // false: full
  virtual Positions positions() const = 0;
  /// positions=ceiling: after the first removal of a head, its sinks are never seen from farther away than this (in tokens).
  virtual int ceiling(int layer, int kv_head) const = 0;
  virtual Bias bias() const = 0;
  virtual const StatNeeds& needs() const = 0;                           // of all layers together: what the prompt has to be asked for
  virtual const StatNeeds& needs(int layer) const = 0;                  // what the slots of this layer keep
  virtual std::optional<int> budget(int layer, int kv_head) const = 0;  // slots, overrides applied; nullopt: unlimited
  virtual int slots_requested() const = 0;                    // C as asked for, before it was raised to its minimum; -1: no budget
  virtual bool overridden(int layer, int kv_head) const = 0;  // the budget was set by hand
  virtual int sinks() const = 0;                              // slots with pos < sinks are protected (0 where none)
  virtual int recent(int layer,
                     int kv_head) const = 0;  // this many slots of highest pos are protected; by-position policies: what they keep
  virtual std::vector<ResolvedParam> params() const = 0;  // as resolved: slots, sinks, recent, window as counts
  virtual bool evict_only() const = 0;                    // never merges: a kept slot is its token, unchanged
  /// True if a compression can happen at all in a step other than the prompt's.
  virtual bool every_step() const = 0;

  /// Every so many steps the cache is rebuilt from the uncompressed history, with the statistics that a prefill of these tokens would have
  /// left, and compressed again (KeepKV: periodic lossless compression); 0: never.
  virtual int reload() const = 0;

  /// Called once after a prefill, before the first plan(): allocators that look at the whole prompt set all budgets here. heads: of all
  /// layers, layer-major, without keys.
  virtual void after_prompt(std::span<const HeadView> heads) = 0;

  /// Decides for all KV heads of one layer after a step (statistics are up to date). step: the trace's step number (randomness);
  /// after_prompt: this is the one compression after a prefill, or after the cache was rebuilt. One plan per head; an empty plan where
  /// nothing is due.
  virtual std::vector<Plan> plan(std::span<const HeadView> heads, int step, bool after_prompt) = 0;
  /// plan() in two halves, for several layers at once and each on any thread: decide() ranks, selects and tells the keys what merge() is
  /// going to ask them. All that the views point to must last until then.
  virtual std::unique_ptr<LayerDecision> decide(std::span<const HeadView> heads, int step, bool after_prompt) = 0;
  virtual std::vector<Plan> merge(LayerDecision& decision, int step) = 0;

  /// The policy's own statistic of every slot, as PolicyInfo::statistic names it (KeepKV: share mu_i of POLICIES.md section 5; H2O:
  /// accumulated attention; WeightedKV: mean; SnapKV: mean over the window): what the inspector's second row shows. Empty: none.
  virtual std::vector<double> statistic(const SlotState& slots) const = 0;

  /// lshat of POLICIES.md section 5: what it expects z + extra of every slot to be for the next query, [n, group], entry [i * group + g];
  /// not finite for a slot that was never scored. Empty: it predicts nothing.
  virtual std::vector<double> predicted_log_scores(const SlotState& slots) const = 0;

  /// NaN scores met so far; they rank as -inf.
  virtual int nan_scores() const = 0;

  /// True if a run under `other` would have made every decision this one made: the same parameters, and the same budgets at the start
  /// (a ratio may give the same slots for a longer prompt). Both of the same specification.
  virtual bool decides_like(const Policy& other) const = 0;

  /// A copy with the same allocations and counters (checkpoints, forks).
  virtual std::unique_ptr<Policy> clone() const = 0;
};

}  // namespace kvscope
