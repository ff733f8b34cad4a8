// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/model/model.h"

namespace kvscope {

/// Shapes of published models that can be measured without their files. Throws UsageError listing the known names.
ModelConfig shape_of(const std::string& name);
std::vector<std::string> known_shapes();

/// Types that the weights of such a model can have.
inline constexpr DType kSyntheticWeights[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q6_k, DType::q4_k};

/// A model of that shape with weights made by the backend (Backend::synthetic_weight): its text means nothing, its speed is that of the
/// real one.
Model synthetic_model(const ModelConfig& config, DType weights, Backend& backend);

/// Bytes of the weights that a step reads: all but the embedding, of which it reads one row.
double bytes_read_per_step(const Model& model);
/// Multiply-adds of the weights for one token, the output layer not counted (a prompt needs it once).
double products_per_token(const ModelConfig& config);

}  // namespace kvscope
