// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope {

/// A file that gives a number per (layer, head), and where it is looked for.
struct HeadFile {
  std::string key;  // of the lane, for messages
  std::string name;
  std::string folder;     // the model's: second place to look, after the working directory
  bool of_model = false;  // the only place to look
};

/// True if there is such a file.
bool has_file(const HeadFile& file);

/// One number per (layer, column) from a JSON file that a key of a lane names: a list [n_layers][n_columns], or an object
/// {"layer-column": [numbers]} of which the mean counts. Layer-major.
/// Throws UsageError: not found, not JSON, larger than 16 MiB, another shape, a value that is no finite number.
std::vector<double> read_head_file(const HeadFile& file, int n_layers, int n_columns);

}  // namespace kvscope
