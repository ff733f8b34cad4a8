// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/cancel.h"
#include "core/dtype.h"
#include "found/found_model.h"

namespace kvscope {

/// How much is looked through at most, in all places together. What is beyond becomes a row that says so.
struct ListLimits {
  int depth = 6;          // folders below a place
  int entries = 200'000;  // files and folders
  std::size_t models = 1'000;
};

struct ListOptions {
  DType precision = DType::f32;  // of keys and values
  double memory = 0;             // bytes that a run may fill; 0: machine_memory()
  ListLimits limits;
  const CancelToken* cancel = nullptr;
  /// Told of every model when all is known of it, in the order of the result; `all`: how many there are.
  std::function<void(const FoundModel& model, std::size_t done, std::size_t all)> on_model;
};

/// The models in these places, in their order, each file once. Of weights only headers are read. Nothing there is trusted: what cannot be
/// read, leads nowhere or says nonsense is a row with the reason in `problem`. A place that is not there is passed over. Throws Cancelled.
std::vector<FoundModel> list_models(const std::vector<ModelPlace>& places, const ListOptions& options = {});

}  // namespace kvscope
