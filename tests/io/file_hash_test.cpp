// SPDX-License-Identifier: Apache-2.0
#include "io/file_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "io/files.h"
#include "io/sha256.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using test::TempFolder;

TEST(FileHash, OfASmallFileIsThatOfItsBytes) {
  const TempFolder folder;
  const std::string path = folder.write("f", "abc");
  const FileHash got = hash_of_file(path);
  EXPECT_EQ(got.sha256, hexadecimal(sha256("abc")));
  EXPECT_EQ(got.size, 3u);
  EXPECT_TRUE(got.whole);
  EXPECT_THROW(hash_of_file(folder / "none"), Error);
  EXPECT_THROW(hash_of_file(folder / ""), Error);
}

// A file with holes: it takes no room on the disk.
TEST(FileHash, OfALargeOneSeesTheBeginningThePiecesAndTheSize) {
  const TempFolder folder;
  const std::string path = folder.write("f", "");
  const std::uintmax_t size = (std::uintmax_t(300) << 20) + 5, begin = std::uintmax_t(16) << 20, step = (size - begin) / 256;
  std::filesystem::resize_file(path, size);
  const FileHash zeros = hash_of_file(path);
  EXPECT_FALSE(zeros.whole);
  EXPECT_EQ(zeros.size, size);
  const auto with = [&](std::uintmax_t place) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(place));
    file.put('x');
    file.close();
    const std::string got = hash_of_file(path).sha256;
    std::fstream back(path, std::ios::in | std::ios::out | std::ios::binary);
    back.seekp(static_cast<std::streamoff>(place));
    back.put('\0');
    return got;
  };
  for (const std::uintmax_t seen : {std::uintmax_t(0), begin - 1, begin + 100 * step, begin + 255 * step + (64 << 10) - 1})
    EXPECT_NE(with(seen), zeros.sha256) << seen;
  EXPECT_EQ(hash_of_file(path).sha256, zeros.sha256);
  std::filesystem::resize_file(path, size + 1);
  EXPECT_NE(hash_of_file(path).sha256, zeros.sha256);
}

}  // namespace
}  // namespace kvscope
