// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/file_handle.h"

namespace kvscope {

/// Bytes put aside on disk until they are wanted: a file that has no name any more, so nothing is left of it however the program ends.
class SpillFile {
 public:
  /// folder: where there is room for what comes. Throws Error.
  explicit SpillFile(const std::string& folder);
  void append(std::string_view text);
  /// Hands everything out, in order, in pieces of at most 1 MiB.
  void read(const std::function<void(std::string_view piece)>& take) const;

 private:
  std::string name_;  // for messages
  FileHandle file_;
};

}  // namespace kvscope
