// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/policy.h"
#include "policy/tiny_lane.h"

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

/// Of a model with two layers and a prompt of 24 tokens.
inline void expect_refused(const std::string& spec, PromptMode mode, const char* reason) {
  const ModelConfig model = test::tiny_model(2, 2, 1);
  try {
    Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 24, .mode = mode});
    ADD_FAILURE() << spec << " was accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string_view(e.what()).find(reason), std::string_view::npos) << e.what();
  }
}

}  // namespace kvscope
