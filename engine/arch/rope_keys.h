// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "arch/config_reader.h"
#include "core/config.h"

namespace kvscope {

/// What the keys of a rotation leave open.
struct RopeShape {
  int head_dim = 0;
  int max_positions = 0;
  double theta = 10000;         // where no key says it
  bool may_be_partial = false;  // the family's arithmetic rotates a part of a head where partial_rotary_factor says so
};

/// The tables that `rope_theta` and `rope_scaling`, or `rope_parameters` (transformers 5), ask for; kinds of scaling as in transformers'
/// modeling_rope_utils.py. One table, or two where long texts have one of their own (longrope). Throws Error.
std::vector<Rope> read_ropes(const ConfigReader& config, const RopeShape& shape);
/// The same from one object that holds all keys. config: for what stands beside it.
std::vector<Rope> read_ropes(const ConfigReader& config, const std::optional<ConfigReader>& rope, const RopeShape& shape);

}  // namespace kvscope
