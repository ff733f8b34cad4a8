// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/file_writer.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include <gtest/gtest.h>

#include "app/share/page.h"
#include "viz/synthetic.h"

namespace kvscope {
namespace {

QString written(const SnapshotPtr& snapshot, const QString& path) {
  FileWriter pages;
  QSignalSpy spy(&pages, &FileWriter::written);
  pages.write([snapshot] { return share::replay_page(*snapshot, {}); }, path);
  EXPECT_TRUE(spy.count() > 0 || spy.wait(60000));
  EXPECT_EQ(spy.at(0).at(0).toString(), path);
  return spy.at(0).at(1).toString();
}

TEST(FileWriter, WritesTheRunsThatItWasGiven) {
  const auto snapshot = std::make_shared<const Snapshot>(synthetic::make_snapshot({.n_prompt = 40, .n_generated = 3, .slots = 12}));
  QTemporaryDir folder;
  const QString path = folder.filePath("run.html");
  EXPECT_EQ(written(snapshot, path), "");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll().toStdString(), share::replay_page(*snapshot, {}));
}

TEST(FileWriter, SaysWhyThereIsNone) {
  QTemporaryDir folder;
  EXPECT_TRUE(written(std::make_shared<const Snapshot>(), folder.filePath("run.html")).contains("compute a prompt first"));
  const auto snapshot = std::make_shared<const Snapshot>(synthetic::make_snapshot({.n_prompt = 40, .n_generated = 1, .slots = 12}));
  EXPECT_TRUE(written(snapshot, folder.filePath("none/run.html")).contains("none/run.html"));
}

}  // namespace
}  // namespace kvscope
