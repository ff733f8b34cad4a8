// SPDX-License-Identifier: Apache-2.0
// Every call that writes a session or its journal fails once. Memory is not made to end inside Qt, whose containers do not outlive that.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

#include <QDir>
#include <QTemporaryDir>

#include "app/share/page.h"
#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"
#include "io/files.h"
#include "io/temp_folder.h"
#include "paths.h"
#include "reliability/each_fault.h"
#include "trace/sample_run.h"

namespace kvscope {
namespace {

using testing::each_fault;
using testing::Fault;

SavedSession sample() { return readSession(QString::fromStdString(in_checkout("tests/fuzz/seeds/session/sweep.kvscope"))).session; }

TEST(Sessions, OfOneFileAreOldOrNew) {
  const test::TempFolder folder;
  const QString path = QString::fromStdString(folder / "s.kvscope");
  const SavedSession session = sample();
  const std::string whole = sessionJson(session).toStdString();
  for (const Fault fault : {Fault::write, Fault::sync, Fault::rename, Fault::open}) {
    folder.write("s.kvscope", "old");
    const auto intact = [&] {
      const std::string now = read_text(path.toStdString());
      EXPECT_TRUE(now == whole || now == "old") << now.size() << " bytes";
      EXPECT_EQ(QDir(QString::fromStdString(folder.path())).entryList(QDir::Files).size(), 1);
      folder.write("s.kvscope", "old");
    };
    EXPECT_GT(each_fault(
                  fault, ENOSPC, [&] { writeSession(path, session); }, intact),
              0);
  }
}

TEST(Pages, AreMadeOrNotWithoutMemory) {
  const Snapshot run = sample_run();
  EXPECT_GT(each_fault(Fault::allocation, ENOMEM, [&] { (void)share::replay_page(run, {}); }), 100);
}

class Journal : public ::testing::Test {
 protected:
  /// A journal with one file, which `spoil` then keeps it from writing again: the file stays, and it is said in a sentence.
  void keeps_what_it_has(const std::function<void(SessionJournal& journal, bool& no_memory)>& spoil) {
    const QTemporaryDir folder;
    const QByteArray text = sessionJson(sample());
    bool no_memory = false;
    int said = 0;
    SessionJournal journal(folder.path(), [&] { return no_memory ? throw std::bad_alloc() : text; });
    QObject::connect(&journal, &SessionJournal::failed, &journal, [&](const QString& why) {
      ++said;
      EXPECT_TRUE(why.contains("Save with Ctrl+S") && !why.contains("std::")) << why.toStdString();
    });
    journal.writeNow();
    for (int i = 0; i < 2; ++i) {
      spoil(journal, no_memory);
      EXPECT_EQ(read_text(journal.path().toStdString()), text.toStdString());
      EXPECT_TRUE(QDir(folder.path()).entryList({"*.part"}, QDir::Files).isEmpty());
    }
    EXPECT_EQ(said, 1) << "once";
  }
};

TEST_F(Journal, KeepsItsFileWhateverCallOfWritingFails) {
  for (const Fault fault : {Fault::write, Fault::sync, Fault::rename})
    keeps_what_it_has([&](SessionJournal& journal, bool&) {
      testing::fail_call(fault, 1, ENOSPC);
      journal.writeNow();
      EXPECT_TRUE(testing::stop_failing());
    });
}

TEST_F(Journal, OutlivesTheEndOfMemory) {
  keeps_what_it_has([&](SessionJournal& journal, bool& no_memory) {
    no_memory = true;
    EXPECT_NO_THROW(journal.writeNow());
  });
}

TEST_F(Journal, WhatAKilledOneBeganIsRemovedByTheNextStart) {
  const test::TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);  // its number is free now
  const std::string name = "unsaved-1700000000000-" + std::to_string(child) + ".kvscope", part = "." + std::to_string(child) + "-0.part";
  folder.write(name + part, "{\"kvsc");
  folder.write("unsaved-work.kvscope" + part, "of somebody else");
  folder.write("unsaved-1700000000001-1.kvscope.lock", "");  // killed before it wrote its number
  folder.write("unsaved-1700000000002-1.kvscope.lock", "");
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(folder / "unsaved-1700000000001-1.kvscope.lock", now - std::chrono::minutes(2));
  EXPECT_TRUE(SessionJournal::left(QString::fromStdString(folder.path())).isEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder / "unsaved-1700000000001-1.kvscope.lock"));
  EXPECT_TRUE(std::filesystem::exists(folder / "unsaved-1700000000002-1.kvscope.lock")) << "perhaps of one that begins just now";
  EXPECT_FALSE(std::filesystem::exists(folder / (name + part)));
  EXPECT_TRUE(std::filesystem::exists(folder / ("unsaved-work.kvscope" + part)));
  EXPECT_FALSE(std::filesystem::exists(folder / (name + ".lock")));
}

}  // namespace
}  // namespace kvscope
