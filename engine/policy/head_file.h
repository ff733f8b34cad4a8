// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope {

/// One number per (layer, column) from a JSON file that a key of a lane names: a list [n_layers][n_columns], or an object
/// {"layer-column": [numbers]} of which the mean counts. Layer-major.
/// The name is looked up in the working directory, then in `folder`. key: for messages ("scores").
/// Throws UsageError: not found, not JSON, larger than 16 MiB, another shape, a value that is no finite number.
std::vector<double> read_head_file(const std::string& key, const std::string& name, const std::string& folder, int n_layers, int n_columns);

}  // namespace kvscope
