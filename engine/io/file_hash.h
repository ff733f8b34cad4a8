// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kvscope {

struct FileHash {
  std::string sha256;       // 64 lower-case digits
  std::uintmax_t size = 0;  // of the file, bytes
  bool whole = true;        // false: of the parts that hash_of_file() names
};

/// SHA-256 of a file. Of one above 256 MiB: of its first 16 MiB, of 256 pieces of 64 KiB at even distances through the rest, and of its
/// size in decimal digits, in this order; checkpoints of one shape begin alike and differ in every matrix. Throws Error (file, why).
FileHash hash_of_file(const std::string& path);

/// In place of the hash of what was read from a file that is another one by now: nobody can tell it any more.
inline constexpr const char* kChangedSinceRead = "changed since it was read";

}  // namespace kvscope
