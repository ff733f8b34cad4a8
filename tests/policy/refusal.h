// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "policy/catalog.h"

namespace kvscope {

/// Why a run cannot be read; empty: it can.
inline std::string refusal(std::string_view spec) {
  try {
    parse_lane_spec(spec);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace kvscope
