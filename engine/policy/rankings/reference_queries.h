// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/config.h"
#include "policy/head_view.h"

namespace kvscope {

/// The queries that a compressed head is to answer as the whole one did (POLICIES.md section 4.4, refit): those of the prompt's tokens.
struct ReferenceQueries {
  /// again: each as if the token that comes next asked it, over all slots. whole: each at its own place, over all slots, later ones too.
  /// observed: each as it was, over the slots up to its own.
  enum class Asked { again, whole, observed };
  Asked asked = Asked::again;
  std::vector<LogitRule> logits = {};  // of every layer; none: a product over sqrt(head_dim)
  int most = 1024;                     // tokens of the prompt whose queries count; of a longer one those that are evenly spaced

  struct Rows {
    std::size_t n = 0;              // slots
    std::vector<double> exp_logit;  // [rows, n]: exp(logit) over the row's largest; 0 where the query does not see the slot
    std::vector<double> mass;       // [rows] sum of each
  };
  Rows over(const HeadView& head) const;
};

}  // namespace kvscope
