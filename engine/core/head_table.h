// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// Numbers of heads as a JSON file gives them (io/head_table_file.h), before anybody asks how many there should be. What is no number is
/// NaN.
struct HeadTable {
  enum class Kind : std::uint8_t { list, object, neither };
  std::string path;  // for messages
  Kind kind = Kind::neither;
  std::vector<std::optional<std::vector<double>>> rows;  // list: of lists; nullopt: one that is no list
  std::map<std::string, double> entries;                 // object: "layer-head"; of a list of numbers their mean
};

}  // namespace kvscope
