// SPDX-License-Identifier: Apache-2.0
#include "io/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "io/result_files.h"
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
  EXPECT_THAT(message_of<Error>([&] { read_text("/dev/zero", 1000, ReadFrom::file_or_pipe); }),
              HasSubstr("expected at most 1000 bytes, got more"));
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

TEST(WriteAtomically, ANameThatIsTooLongSaysHowLongOneMayBe) {
  const TempFolder folder;
  for (const std::size_t bytes : {250u, 255u, 300u}) {
    const std::string name(bytes, 'x');
    EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / name, "x"); }),
                HasSubstr("cannot be created: expected a name of at most 228 bytes, got " + std::to_string(bytes)));
  }
  write_atomically(folder / std::string(228, 'x'), "x");
  EXPECT_EQ(n_files(folder), 1u);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(200, 'd') + "/";
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / deep + "x", "x"); }), HasSubstr("a path of so many bytes is too long"));
}

TEST(ReadText, RefusesAPipeWithoutWaitingUnlessOneMakesSense) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of<Error>([&] { read_text(folder / "pipe"); }), HasSubstr("expected a regular file, got a pipe"));
  std::thread writer([&] { std::ofstream(folder / "pipe") << "through the pipe"; });
  EXPECT_EQ(read_text(folder / "pipe", 100, ReadFrom::file_or_pipe), "through the pipe");
  writer.join();
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(WriteAtomically, NobodyElseReadsWhatIsUnfinishedOrPrivate) {
  const TempFolder folder;
  write_atomically(folder / "private", "secret", Readable::by_user_only);
  EXPECT_EQ(mode_of(folder / "private"), 0600u);
  write_atomically(folder / "usual", "all may see");
  std::ofstream(folder / "other") << "x";
  EXPECT_EQ(mode_of(folder / "usual"), mode_of(folder / "other")) << "as the user's mask has it";
  ::chmod((folder / "usual").c_str(), 0640);
  write_atomically(folder / "usual", "again");
  EXPECT_EQ(mode_of(folder / "usual"), 0640u);
}

TEST(WriteAtomically, WhatAKilledWriterLeftGoesWithTheNextWriteAndNothingElse) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);  // its number is free now
  const std::string dead = folder.write("f." + std::to_string(child) + "-0.part", "half"),
                    alive = folder.write("f." + std::to_string(::getppid()) + "-0.part", "half"),
                    other = folder.write("g." + std::to_string(child) + "-0.part", "half"), mine = folder.write("f.notes.part", "mine");
  write_atomically(folder / "f", "whole");
  EXPECT_FALSE(std::filesystem::exists(dead));
  for (const std::string& stays : {alive, other, mine}) EXPECT_TRUE(std::filesystem::exists(stays)) << stays;
}

TEST(WriteAtomically, ANameThatAnotherWriterOfOurNumberHasTakenIsLeftToIt) {
  const TempFolder folder;
  std::vector<std::string> taken;
  for (int i = 0; i < 40; ++i)
    taken.push_back(folder.write("f." + std::to_string(::getpid()) + "-" + std::to_string(i) + ".part", "theirs"));
  write_atomically(folder / "f", "whole");
  EXPECT_EQ(read_text(folder / "f"), "whole");
  for (const std::string& path : taken) EXPECT_EQ(read_text(path), "theirs");
}

/// What f() returns in a process of its own.
template <class F>
int status_of(const F& f) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(f());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(WriteAtomically, NothingGoesOverAFileThatTheUserHasProtected) {
  const TempFolder folder;
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder.write("mine", "old"), fs::perms::owner_read | fs::perms::others_read);
  EXPECT_EQ(status_of([&] {
              if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 9;  // who may all is asked nothing
              const std::string said = message_of<Error>([&] { write_atomically(folder / "mine", "new"); });
              return said.find("mine: cannot be written over: Permission denied") != std::string::npos ? 7 : 8;
            }),
            7);
  EXPECT_EQ(read_text(folder / "mine"), "old");
}

TEST(Files, ADescriptorThatIsClosedAtTheStartIsNoFileThatIsOpenedLater) {
  const TempFolder folder;
  const std::string path = folder.write("f", "something");
  EXPECT_EQ(status_of([&] {
              ::close(0);
              prepare_for_files();
              char byte = 0;
              return ::open(path.c_str(), O_RDONLY) > 2 && ::read(0, &byte, 1) == 0 ? 7 : 8;
            }),
            7);
}

TEST(ResultFiles, AModelsFilesAreKnownByTheirNamesAlsoThroughALink) {
  const TempFolder folder;
  for (const std::string name : {"model.safetensors", "x.gguf", "config.json", "tokenizer.model"}) {
    folder.write(name, "weights");
    const std::string link = folder / (name + ".png");
    fs::create_symlink(folder / name, link);
    EXPECT_THAT(message_of<Error>([&] { check_no_model_file(folder / name); }), HasSubstr("a file of a model by its name")) << name;
    EXPECT_THAT(message_of<Error>([&] { check_no_model_file(link); }), HasSubstr("a file of a model by its name")) << name;
  }
  check_no_model_file(folder / "new.safetensors");  // nothing is there
  check_no_model_file(folder.write("old.png", ""));
}

TEST(WriteAtomically, AFullDiskALimitAndALinkToNowhereAreSentences) {
  const TempFolder folder;
  EXPECT_THAT(message_of<Error>([] { write_atomically("/dev/full", "x"); }),
              HasSubstr("/dev/full: cannot be written: No space left on device"));
  std::filesystem::create_symlink(folder / "nowhere", folder / "link");
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / "link", "x"); }), HasSubstr("a link that leads nowhere"));
  EXPECT_FALSE(std::filesystem::exists(folder / "nowhere"));
  folder.write("old", "old");
  EXPECT_EQ(status_of([&] {
              prepare_for_files();
              const struct rlimit limit { 10, 10 };
              ::setrlimit(RLIMIT_FSIZE, &limit);
              const std::string said = message_of<Error>([&] { write_atomically(folder / "old", std::string(100, 'x')); });
              return said.find("File too large") != std::string::npos ? 7 : 8;
            }),
            7);
  EXPECT_EQ(read_text(folder / "old"), "old");
}

}  // namespace
}  // namespace kvscope
