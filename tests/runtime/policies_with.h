// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "policy/catalog.h"
#include "runs.h"

namespace kvscope::testing {

/// Specifications of every policy that takes a budget, with `slots` slots, as far as it goes with the mode: some look at the whole prompt
/// at once, and say so when they are asked to stream. Keys that want a file get the tiny model's own.
inline std::vector<std::string> policies_with(const std::string& slots, PromptMode mode) {
  Session session = open_session(tiny_model());
  std::vector<std::string> out;
  for (const PolicyInfo& info : policies()) {
    if (!info.takes_budget) continue;
    std::string spec = info.name + ":slots=" + slots;
    for (const ParamInfo& param : info.keys_follow_choices ? params_of(parse_lane_spec(spec)) : info.params) {
      if (param.key == "scores") spec += info.name == "headkv" ? ",scores=headkv.json" : ",base=headkv,scores=headkv.json";
      if (param.key == "heads") spec += ",heads=duo.json";
      if (param.key == "maps") spec += ",maps=maps.safetensors";
      if (param.key == "file" && info.name == "qfilter") spec += ",file=q_filters.safetensors";
      if (param.key == "recent" && info.name == "dms") spec += ",recent=4";  // its 128 newest would be more than all of them
      if (param.key == "norm") spec += ",window=4";                          // a question that leaves room in a small budget
    }
    try {
      RunRequest request;
      request.prompt_ids = {1, 2};
      request.lanes = {parse_lane_spec(spec)};
      request.mode = mode;
      run(session, request);
    } catch (const UsageError& e) {
      if (std::string_view(e.what()).find("expected prompt mode prefill") == std::string_view::npos) throw;
      continue;
    }
    out.push_back(spec);
  }
  return out;
}

}  // namespace kvscope::testing
