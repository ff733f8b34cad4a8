// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <nlohmann/json.hpp>

namespace kvscope::cli {

/// null: not available, or no number that JSON has.
inline nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace kvscope::cli
