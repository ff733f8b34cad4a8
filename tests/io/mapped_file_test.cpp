// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "io/files.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

TEST(MappedFile, ShowsTheBytesOfAFileAndNothingOfAnEmptyOne) {
  const TempFolder folder;
  MappedFile file(folder.write("f", "xyz"));
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(std::to_integer<char>(file.bytes()[2]), 'z');
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
  MappedFile moved = std::move(file);
  EXPECT_EQ(std::to_integer<char>(moved.bytes()[0]), 'x');
  moved = MappedFile(folder.write("g", "longer"));
  EXPECT_EQ(moved.bytes().size(), 6u);
}

TEST(MappedFile, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const TempFolder folder;
  EXPECT_THAT(message_of<Error>([&] { MappedFile(folder.path()); }), HasSubstr("expected a regular file, got a folder"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of<Error>([&] { MappedFile(folder / "pipe"); }), HasSubstr("got a pipe"));
  EXPECT_THAT(message_of<Error>([&] { MappedFile(folder / "none"); }), HasSubstr("cannot be opened"));
}

TEST(MappedFile, AFileThatIsCutShortIsSaidAndDoesNotEndTheProcess) {
  const TempFolder folder;
  const std::string path = folder.write("f", std::string(1 << 20, 'x'));
  const MappedFile map(path);
  EXPECT_NO_THROW(map.check());
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  int sum = 0;
  for (std::size_t i = 0; i < map.bytes().size(); i += 4096) sum += std::to_integer<int>(map.bytes()[i]);
  EXPECT_EQ(sum, 'x') << "the first page is there, zeros follow";
  EXPECT_THAT(message_of<Error>([&] { map.check(); }), AllOf(HasSubstr(path), HasSubstr("was cut short")));
}

TEST(MappedFile, AFileThatIsWrittenOverIsSaid) {
  const TempFolder folder;
  const std::string path = folder.write("f", std::string(10'000, 'x'));
  const MappedFile map(path);
  std::ofstream(path, std::ios::in | std::ios::out) << "other weights";
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(3));
  EXPECT_THAT(message_of<Error>([&] { map.check(); }), HasSubstr("was written to"));
  const std::string replaced = folder.write("g", "old");
  const MappedFile old(replaced);
  write_atomically(replaced, "new");
  EXPECT_NO_THROW(old.check()) << "the map has what was opened";
  std::filesystem::remove(path);
  EXPECT_THAT(message_of<Error>([&] { map.check(); }), HasSubstr("was written to")) << "and is what was written, whatever its name";
}

}  // namespace
}  // namespace kvscope
