// SPDX-License-Identifier: Apache-2.0
// What a policy is made of for one model, prompt and budget.
#include "policy/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/place.h"
#include "policy/budget_share.h"
#include "policy/rules.h"

namespace kvscope {
namespace {

GroupReduce group_reduce(std::string_view text) {
  return text == "max" ? GroupReduce::max : text == "sum" ? GroupReduce::sum : GroupReduce::mean;
}

/// What `share` of the bytes of the prompt is in a head, with what rounding takes from a share like 0.29 of 100.
double room_of(double share, const Policy::Setup& setup) {
  return share * (1 + 1e-12) * setup.n_prompt * 2 * setup.model->head_dim * setup.number_bytes;
}

/// The value of the storage's key with which the prompt takes this share of its bytes. Throws UsageError where none does.
std::string stored_within(const Storage& storage, double share, const Policy::Setup& setup) {
  const std::optional<double> value = storage.fitting(room_of(share, setup), setup.n_prompt, setup.model->head_dim, setup.number_bytes);
  if (value) return fmt::format("{}", *value);
  const double least = storage.least_bytes(setup.n_prompt, setup.model->head_dim, setup.number_bytes) / room_of(1, setup);
  throw UsageError(fmt::format("run {}: bytes: expected at least {:.3f} of the prompt's {} tokens for this storage, got {:g}",
                               quoted(setup.spec.text), std::ceil(1000 * least) / 1000, setup.n_prompt, share));
}

/// The most slots of a head that take `share` of the bytes of the prompt in full precision.
int slots_within(double share, const Storage* storage, const FeatureMaps* maps, const Policy::Setup& setup) {
  const int head_dim = setup.model->head_dim;
  const double number = setup.number_bytes, of_sums = maps ? number * maps->width * (head_dim + 1) : 0;
  const auto bytes = [&](int n) {
    if (storage) return storage->bytes(storage->of_prompt(n), head_dim, number);
    return 2 * number * head_dim * n + (n < setup.n_prompt ? of_sums : 0);
  };
  const double room = room_of(share, setup);
  int c = setup.n_prompt;  // not by halves: a slot more may take fewer bytes, when a group of keys becomes full with it
  while (c > 0 && bytes(c) > room) --c;
  return c;
}

}  // namespace

Policy::Policy(const Setup& setup)
    : lane_(resolve_lane(setup.spec)), files_(setup.files), n_kv_heads_(setup.model->n_kv_heads), group_(setup.model->group()) {
  const PolicyRow& row = *lane_.parts.row;
  const PolicyRow& selecting = *lane_.parts.selecting;
  const std::string& seed = lane_.params.text("seed");
  seed_ = seed.empty() ? setup.seed : static_cast<std::uint64_t>(lane_.params.count("seed", 0));
  const auto parts_with = [&](const Params& params) {
    return PartSetup{.params = params,
                     .slots = slots_,
                     .observed = observed_,
                     .group = group_,
                     .observes = selecting.observes,
                     .seed = seed_,
                     .files = setup.files,
                     .model = *setup.model};
  };
  if (row.maps) maps_ = row.maps(parts_with(lane_.params));
  const bool fills = row.storage && !row.has_budget && lane_.params.has("bytes");
  if (fills) lane_.params.set(row.key_of_bytes, "0");  // whatever its default: that need not suit the other keys
  if (row.storage) storage_ = row.storage(parts_with(lane_.params));
  if (fills) {
    lane_.params.set(row.key_of_bytes, stored_within(*storage_, lane_.params.number("bytes"), setup));
    storage_ = row.storage(parts_with(lane_.params));
  }
  resolve_budget(setup);  // maps and storage say how many slots there is room for
  const KeptFile* const kept = row.from_file ? setup.files.kept.get() : nullptr;
  const KeptFile::Run* const said = kept ? kept->run(lane_.params.text("run")) : nullptr;
  const std::string& positions = said ? said->positions : lane_.params.text("positions");
  positions_ = positions.empty()        ? row.positions
               : positions == "cache"   ? Positions::cache
               : positions == "ceiling" ? Positions::ceiling
                                        : Positions::original;
  const std::string& refresh = lane_.params.text("refresh");
  refresh_ = refresh.empty() ? (setup.mode == PromptMode::stream ? 1 : 0) : count_or_fraction(refresh, slots_);

  if (lane_.params.has("every")) every_ = lane_.params.count("every", slots_);
  compresses_prompt_ = lane_.params.text("after_prompt") != "0";
  first_step_ = setup.mode == PromptMode::stream ? 1 : 0;

  const PartSetup parts = parts_with(lane_.params);
  ranking_ = selecting.ranking(parts);
  selection_ = (row.selection ? row.selection : selecting.selection)(parts);
  allocation_ = selecting.allocation(parts);
  if (row.reading) reading_ = row.reading(parts);
  const auto merger_with = [&](const Params& params) { return row.merger(parts_with(params)); };
  merger_.emplace(lane_, *setup.model, merger_with, "run " + quoted(setup.spec.text));
  needs_.group = group_reduce(lane_.params.text("group"));
  ranking_->require(needs_);
  selection_->require(needs_);
  merger_->run().require(needs_);
  allocation_->require(needs_);
  if (storage_) storage_->require(needs_);

  if (setup.mode == PromptMode::stream &&
      (allocation_->needs_prompt() || ranking_->needs_prompt() || merger_->run().needs_prompt() || (storage_ && storage_->needs_prompt())))
    throw UsageError(
        fmt::format("run {}: expected prompt mode prefill (it looks at the whole prompt at once), got stream", quoted(setup.spec.text)));
  shape_ = {setup.model->n_layers, n_kv_heads_, slots_, std::min(observed_, protection(slots_).recent), setup.n_prompt};
  allocated_ = nothing_to_distribute() ? UniformAllocation().budgets(shape_) : raised(allocation_->budgets(shape_));
  budgets_ = allocated_;
  for (int l = 0; l < shape_.n_layers; ++l) {
    layer_needs_.push_back(needs_);
    ranking_->require_in_layer(layer_needs_.back(), recent(l, 0));
  }
  for (const StatNeeds& layer : layer_needs_) needs_.rows = std::max(needs_.rows, layer.rows);
  read_edits(setup);
  override_budgets();
  first_budgets_ = budgets_;
  if (ranking_->reads_centers()) centers_.resize(budgets_.size());
}

/// C and w (POLICIES.md sections 2 and 8): fractions are taken of C first, then C is raised to its minimum.
void Policy::resolve_budget(const Setup& setup) {
  if (!lane_.parts.row->has_budget) return;
  const Params& params = lane_.params;
  const int n_prompt = setup.n_prompt;
  const bool by_bytes = params.has("bytes");
  if (!by_bytes && lane_.parts.row->budget_may_lack && !params.has("slots") && !params.has("ratio")) {
    slots_ = n_prompt;  // what shares are of
    return;
  }
  int c = by_bytes              ? slots_within(params.number("bytes"), storage_.get(), maps_.get(), setup)
          : params.has("slots") ? params.count("slots", 0)
                                : slots_of_ratio(params.number("ratio"), n_prompt, params.is("round", "down"));
  requested_ = c;
  c = std::max(c, 1);
  if (lane_.parts.selecting->observes) {
    const bool whole = params.is("whole_window", "1");
    c = std::max(c, whole ? params.count("sinks", c) + 1 : 2);
    const int most = whole ? n_prompt - 1 : lane_.parts.selecting->observes_more ? c - 1 : c / 2;
    observed_ = std::clamp(params.count("window", c), 0, std::max(most, 0));
    whole_window_ = whole;
  }
  slots_ = with_minimum(c);
}

/// The protected slots, and those that the policy needs beside them, must have room.
int Policy::with_minimum(int c) const {
  const Protection p = protection(c);
  c = std::max(c, p.sinks + p.recent + least_free());
  if (lane_.parts.row->least_free) c = std::max(c, p.sinks + p.recent + lane_.parts.row->least_free(lane_.params, c));
  return c;
}

void Policy::read_edits(const Setup& setup) {
  const LaneEdits& edits = setup.spec.edits;
  check_edits(edits, *setup.model, "run " + quoted(setup.spec.text));
  for (const BudgetOverride& b : edits.budgets)
    if (b.on) overrides_.push_back(b);
  if (!overrides_.empty() && !limits())
    throw UsageError(
        fmt::format("run {}: expected a policy with a budget, got {}, which never compresses", quoted(setup.spec.text), name()));
}

const BudgetOverride* Policy::override_of(int layer, int kv_head) const {
  for (auto it = overrides_.rbegin(); it != overrides_.rend(); ++it)
    if (it->heads.has(layer, kv_head)) return &*it;
  return nullptr;
}

std::optional<int> Policy::overriding(int layer, int kv_head, std::optional<int> allocated) const {
  const BudgetOverride* by_hand = override_of(layer, kv_head);
  const std::optional<int> c = by_hand ? by_hand->of(allocated) : allocated;
  return by_hand && c ? with_minimum(*c) : c;
}

void Policy::override_budgets() {
  for (int l = 0; l < shape_.n_layers; ++l)
    for (int h = 0; h < n_kv_heads_; ++h) budgets_[at(l * n_kv_heads_ + h)] = overriding(l, h, allocated_[at(l * n_kv_heads_ + h)]);
}

/// A share below its minimum is raised to it; the sum then exceeds the total.
std::vector<std::optional<int>> Policy::raised(std::vector<std::optional<int>> budgets) const {
  if (!allocation_->raises_small_shares()) return budgets;
  const auto least_free = lane_.parts.row->least_free;
  const auto least = [&](int c) {
    return protection(c).sinks + protection(c).recent + (least_free ? least_free(lane_.params, slots_) : this->least_free());
  };
  for (std::optional<int>& c : budgets) {
    if (!c) continue;
    c = std::max(*c, least(*c));
    // areas beside the protected slots, of which a larger share has more
    while (least_free && *c < shape_.n_prompt && *c < least(*c)) c = least(*c);
  }
  return budgets;
}

void Policy::after_prompt(std::span<const HeadView> heads) {
  if (!compresses() || nothing_to_distribute()) return;
  allocate(allocation_->after_prompt(shape_, heads));
}

void Policy::allocate(std::vector<std::optional<int>> budgets) {
  if (budgets.empty()) return;
  KVSCOPE_ASSERT(budgets.size() == budgets_.size());
  allocated_ = raised(std::move(budgets));
  override_budgets();
}

std::vector<ResolvedParam> Policy::params() const {
  std::vector<ResolvedParam> out;
  const auto add_count = [&](const std::string& key, int n) {
    out.push_back({.key = key, .number = static_cast<double>(n), .is_count = true});
  };
  const auto add_text = [&](const std::string& key, const std::string& text) {
    out.push_back({.key = key, .is_text = true, .text = text});
  };
  if (half_) {  // the numbers of the two are theirs
    out = half_->pair;
    add_text("group", "mean");
    return out;
  }
  const Protection p = protection(slots_);
  for (const ParamInfo& param : lane_.parts.params) {
    const std::string& value = lane_.params.text(param.key);
    if (param.key == "refresh" || param.key == "group" || (param.key == "reload" && reload() == 0)) continue;
    if (param.key == "sinks")
      add_count(param.key, p.sinks);
    else if (param.key == "recent")
      add_count(param.key, p.recent);
    else if (param.key == "seed")
      out.push_back({.key = param.key, .number = static_cast<double>(seed_), .is_count = true});
    else if (param.key == "window" && lane_.parts.selecting->observes)
      add_count(param.key, observed_);
    else if (param.kind == ParamInfo::Kind::count_or_fraction || param.kind == ParamInfo::Kind::count)
      add_count(param.key, std::max(static_cast<int>(param.min), lane_.params.count(param.key, slots_)));
    else if (param.kind == ParamInfo::Kind::number)
      out.push_back({.key = param.key, .number = lane_.params.number(param.key)});
    else
      add_text(param.key, value);
  }
  if (lane_.parts.row->from_file && positions_ == Positions::cache) add_text("positions", "cache");  // a file says it
  add_text("group", lane_.parts.row->takes_group ? lane_.params.text("group") : "mean");
  if (lane_.parts.row->has_budget && requested_ >= 0) add_count("slots", slots_);
  if (cadence() == Cadence::once) add_count("refresh", refresh_);
  return out;
}

bool Policy::decides_like(const Policy& other) const {
  if (first_budgets_ != other.first_budgets_ || requested_ != other.requested_ || name() != other.name() || files_ != other.files_ ||
      !merger_->alike(*other.merger_))
    return false;
  return params() == other.params();
}

std::unique_ptr<Policy> Policy::make(const Setup& setup) {
  KVSCOPE_ASSERT(setup.model && setup.model->n_kv_heads > 0);
  try {
    if (const std::optional<PolicyPair> pair = pair_of(setup.spec)) return PairMaker::make(setup, *pair);
    return std::unique_ptr<Policy>(new Policy(setup));
  } catch (const UsageError& e) {  // a part says what is wrong, and does not know whose it is
    if (std::string_view(e.what()).starts_with("run '")) throw;
    throw UsageError(fmt::format("run {}: {}", quoted(setup.spec.text), e.what()));
  }
}

}  // namespace kvscope
