// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/tensor_file.h"

namespace kvscope {

/// All numbers of the tensor `name` of a file, which is not quantised. Throws Error: one that is not finite.
std::vector<double> finite_numbers(const TensorFile& file, const std::string& path, const std::string& name, const TensorView& tensor);

}  // namespace kvscope
