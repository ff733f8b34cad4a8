// SPDX-License-Identifier: Apache-2.0
#include "io/file_hash.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "core/error.h"
#include "io/sha256.h"

namespace kvscope {

namespace {

constexpr std::uintmax_t kWhole = std::uintmax_t(256) << 20, kBeginning = std::uintmax_t(16) << 20, kPiece = std::uintmax_t(64) << 10;
constexpr std::uintmax_t kPieces = 256;

class Hashed {
 public:
  explicit Hashed(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) fail();
  }

  void add(std::uintmax_t begin, std::uintmax_t n_bytes) {
    file_.seekg(static_cast<std::streamoff>(begin));
    for (std::uintmax_t left = n_bytes; left > 0;) {
      file_.read(block_.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(left, block_.size())));
      const auto n = static_cast<std::size_t>(file_.gcount());
      if (n == 0) fail();
      hash_.add(std::string_view(block_).substr(0, n));
      left -= n;
    }
  }
  void add(std::string_view text) { hash_.add(text); }
  std::string digest() { return hexadecimal(hash_.digest()); }

 private:
  [[noreturn]] void fail() const { throw Error(fmt::format("{}: cannot be read to the end, so it has no hash", path_)); }

  const std::string& path_;
  std::ifstream file_;
  std::string block_ = std::string(std::size_t(1) << 20, '\0');
  Sha256 hash_;
};

}  // namespace

FileHash hash_of_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw Error(fmt::format("{}: cannot be examined: {}", path, error.message()));
  Hashed hash(path);
  const bool whole = size <= kWhole;
  hash.add(0, whole ? size : kBeginning);
  if (!whole) {
    const std::uintmax_t step = (size - kBeginning) / kPieces;
    for (std::uintmax_t i = 0; i < kPieces; ++i) hash.add(kBeginning + i * step, kPiece);
    hash.add(std::to_string(size));
  }
  return {hash.digest(), size, whole};
}

}  // namespace kvscope
