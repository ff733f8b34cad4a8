// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "arch/config_reader.h"
#include "arch/model_files.h"
#include "arch/weights.h"
#include "core/config.h"

namespace kvscope {

/// One model family: how its config.json and its tensor names become ours. No arithmetic: every family runs through the one forward pass.
struct Family {
  std::string_view model_type;  // of config.json
  /// All fields but name and arch. Throws Error for what the forward pass does not do.
  ModelConfig (*read_config)(const ConfigReader& config);
  /// Fills embedding, final_norm, lm_head and layers of a ModelFiles whose config is set. Throws Error (Weights::get).
  void (*bind)(const Weights& weights, ModelFiles& model);
};

bool is_known(std::string_view model_type);
/// Throws Error with the reason why such models do not open, where it is known, and the families that do; `path` of the config.json is for
/// the message.
const Family& find_family(std::string_view model_type, const std::string& path);

}  // namespace kvscope
