// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/config.h"
#include "core/head_vectors.h"
#include "policy/rankings/ranking.h"

namespace kvscope {

/// -k . f of every key as it stands in the cache, f the direction of its KV head from a file: the main direction of a head's queries,
/// turned so that what points along it is little attended (Q-Filters, arXiv:2503.02812; POLICIES.md section 4.5).
class FilterRanking final : public Ranking {
 public:
  /// Throws UsageError: no file, or vectors of another model.
  FilterRanking(std::shared_ptr<const HeadVectors> filters, const ModelConfig& model);
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override { return "−k·f, f the direction of the KV head from its file"; }
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  std::shared_ptr<const HeadVectors> filters_;
};

}  // namespace kvscope
