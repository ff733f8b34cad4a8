// SPDX-License-Identifier: Apache-2.0
#include "io/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/error.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

std::size_t n_files(const TempFolder& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

TEST(ReadText, GivesEveryByteIncludingZeros) {
  const TempFolder folder;
  const std::string bytes("a\0b\r\n\xff", 6);
  EXPECT_EQ(read_text(folder.write("f", bytes)), bytes);
  EXPECT_EQ(read_text(folder.write("empty", "")), "");
}

TEST(ReadText, NamesTheFileThatIsMissingAFolderOrTooLarge) {
  const TempFolder folder;
  EXPECT_THAT(message_of<Error>([&] { read_text(folder / "none"); }), HasSubstr((folder / "none") + ": cannot be opened"));
  EXPECT_THAT(message_of<Error>([&] { read_text(folder.path()); }), HasSubstr("cannot be read"));
  const std::string five = folder.write("f", "12345");
  EXPECT_EQ(read_text(five, 5), "12345");
  EXPECT_THAT(message_of<Error>([&] { read_text(five, 4); }), HasSubstr("expected at most 4 bytes, got 5"));
  EXPECT_THAT(message_of<Error>([&] { read_text("/dev/zero", 1000); }), HasSubstr("expected at most 1000 bytes, got more"));
}

TEST(WriteAtomically, ReplacesTheWholeFileKeepsItsModeAndLeavesNothingBeside) {
  const TempFolder folder;
  const std::string path = folder.write("f", "old and longer");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_atomically(path, "new");
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  EXPECT_EQ(n_files(folder), 1u);
}

TEST(WriteAtomically, WritesThroughALinkAndToADevice) {
  const TempFolder folder;
  const std::string target = folder.write("target", "old");
  fs::create_symlink(target, folder / "link");
  write_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(target), "new");
  write_atomically("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WriteAtomically, FailsWithoutTouchingAnything) {
  const TempFolder folder;
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / "none/f", "x"); }), HasSubstr("cannot be created"));
  fs::create_directory(folder / "d");
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / "d", "x"); }), HasSubstr("got a folder"));
  EXPECT_EQ(n_files(folder), 1u);
}

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

TEST(ParseJson, SaysWhereTheTextStopsBeingJson) {
  EXPECT_EQ(parse_json("{\"a\": [1, 2]}", "f")["a"][1], 2);
  EXPECT_THAT(message_of<Error>([] { parse_json("{\"a\": }", "f.json"); }),
              HasSubstr("f.json: expected JSON, got something else at byte 7 of 7"));
  EXPECT_THAT(message_of<Error>([] { parse_json("", "f.json"); }), HasSubstr("f.json: expected JSON"));
  EXPECT_THAT(message_of<Error>([] { parse_json("\"\xff\"", "f.json"); }), HasSubstr("expected JSON"));
  EXPECT_THAT(message_of<Error>([] { parse_json("[1e999]", "f.json"); }), HasSubstr("range of a double"));
}

TEST(ParseJson, RefusesDepthBeyond64AndSurvivesAMillion) {
  EXPECT_NO_THROW(parse_json(std::string(64, '[') + std::string(64, ']'), "f"));
  EXPECT_THAT(message_of<Error>([] { parse_json(std::string(65, '[') + std::string(65, ']'), "f"); }), HasSubstr("deeper than 64"));
  EXPECT_THAT(message_of<Error>([] { parse_json(std::string(1'000'000, '['), "f"); }), HasSubstr("deeper than 64"));
}

}  // namespace
}  // namespace kvscope
