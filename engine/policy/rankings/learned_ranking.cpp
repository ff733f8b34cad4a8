// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/learned_ranking.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/place.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

constexpr int kLongText = 32000, kNewestOfLong = 4096;  // as the authors of Fast KVzip have it

void require_scorer(StatNeeds& needs, const std::shared_ptr<const HiddenScorer>& scorer) {
  needs.learned = true;
  needs.scorer = scorer;
}

/// Of this kind, and of the model's sizes.
template <class Function>
void check_scorer(const std::shared_ptr<const HiddenScorer>& scorer, const ModelConfig& model, const char* what, const char* key) {
  if (!scorer) throw UsageError(fmt::format("{}: expected a safetensors file with the {} of this model, got none", key, what));
  if (!std::holds_alternative<Function>(scorer->function))
    throw UsageError(fmt::format("{}: {}: expected {}, got another method's scores", key, quoted(scorer->path), what));
  if (scorer->n_layers != model.n_layers || scorer->n_kv_heads != model.n_kv_heads || scorer->dim != model.dim)
    throw UsageError(fmt::format("{}: {}: expected {} [{} layers, {} KV heads, {}], got [{}, {}, {}]: they are trained for one model", key,
                                 quoted(scorer->path), what, model.n_layers, model.n_kv_heads, model.dim, scorer->n_layers,
                                 scorer->n_kv_heads, scorer->dim));
}

}  // namespace

NetworkRanking::NetworkRanking(std::shared_ptr<const HiddenScorer> scorer, const ModelConfig& model) : scorer_(std::move(scorer)) {
  check_scorer<ScorerNetworks>(scorer_, model, "networks", "file");
}

void NetworkRanking::require(StatNeeds& needs) const { require_scorer(needs, scorer_); }

std::string NetworkRanking::equation() const {
  const bool two = std::get<ScorerNetworks>(scorer_->function).hidden > 0;
  return std::string(two ? "W₂ GELU(W₁ h + b₁) + b₂" : "W h + b") + ": h the token's hidden state in the layer, W and b from the file";
}

GateRanking::GateRanking(std::shared_ptr<const HiddenScorer> scorer, const ModelConfig& model, double local)
    : scorer_(std::move(scorer)), local_(local) {
  check_scorer<ScorerGates>(scorer_, model, "gates", "file");
}

void GateRanking::require(StatNeeds& needs) const { require_scorer(needs, scorer_); }

void GateRanking::score(const HeadView& head, std::vector<double>& out) const {
  ColumnRanking::score(head, out);
  head.note("gate", out);
  if (out.empty()) return;
  const int n = head.slots->pos.back() + 1;
  const int newest = n < kLongText ? std::max(1, static_cast<int>(n * local_)) : kNewestOfLong;
  for (std::size_t i = out.size(); i-- > 0 && head.slots->pos[i] >= n - newest;) out[i] = 1;
}

std::string GateRanking::equation() const {
  return fmt::format(
      "gate, mean over the query heads of 1/(1 + Σ exp(k_s·q/√d − k·q/√d − b)): q and k of the token's hidden state, the rest from the file; "
      "1 for the newest {:g} of the text",
      local_);
}

}  // namespace kvscope
