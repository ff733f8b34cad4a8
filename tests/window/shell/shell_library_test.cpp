// SPDX-License-Identifier: Apache-2.0
// The library lists what there is, opens it, renames it, compares it, and says what is missing.
#include <fstream>

#include <QApplication>
#include <QFile>
#include <QFileInfo>
#include <QPushButton>
#include <QSet>
#include <QTemporaryDir>
#include <QTreeWidget>

#include "app/window/files/library_dialog.h"
#include "app/window/session/bookmarks.h"
#include "app/window/session/session_file.h"
#include "paths.h"
#include "policy/catalog.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using Kind = LibraryDialog::Kind;

class LibraryTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    ASSERT_TRUE(window->document().save(session));
    window->files().dialog().show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window->files().dialog()));
  }
  LibraryDialog& library() { return window->files().dialog(); }
  QList<QTreeWidgetItem*> rows(Kind kind) {
    QApplication::processEvents();
    return library().rows(kind);
  }
  QTreeWidgetItem* row(Kind kind, int i = 0) { return rows(kind).value(i); }
  void choose(const QList<QTreeWidgetItem*>& items) {
    library().tree().clearSelection();
    for (QTreeWidgetItem* item : items) item->setSelected(true);
  }
  static QImage pictureOf(QTreeWidgetItem* item) { return item->icon(0).pixmap(96, 54).toImage(); }
  static int colours(const QImage& image) {
    QSet<QRgb> seen;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) seen.insert(image.pixel(x, y));
    return static_cast<int>(seen.size());
  }

  QTemporaryDir folder;
  QString session = QFileInfo(folder.path()).absoluteFilePath() + "/first.kvscope";
};

TEST_F(LibraryTest, ListsFilesRunsAndBookmarksWithTheirPictures) {
  window->bookmarkActions().add();
  EXPECT_EQ(rows(Kind::run).size(), static_cast<int>(snapshot().lanes.size()));
  ASSERT_EQ(rows(Kind::session).size(), 1);
  ASSERT_EQ(rows(Kind::bookmark).size(), 1);
  EXPECT_EQ(row(Kind::session)->text(0), "first");
  EXPECT_TRUE(row(Kind::session)->text(1).contains("5 runs")) << row(Kind::session)->text(1).toStdString();
  EXPECT_TRUE(row(Kind::session)->text(1).contains("house number"));
  for (QTreeWidgetItem* item : {row(Kind::session), row(Kind::run, 2), row(Kind::bookmark)})
    EXPECT_GE(colours(pictureOf(item)), 3) << item->text(0).toStdString() << ": the categories of a cache";
  EXPECT_NE(pictureOf(row(Kind::run, 0)), pictureOf(row(Kind::run, 2))) << "runs look different";
}

TEST_F(LibraryTest, OpensWhatIsChosen) {
  window->bookmarkActions().add();
  window->showPage(MainWindow::Page::compare);
  choose({row(Kind::run, 1)});
  library().openButton()->click();
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
  EXPECT_EQ(window->workspace().selection().lane, 1);
  choose({row(Kind::bookmark)});
  library().openButton()->click();
  EXPECT_EQ(window->workspace().selection().lane, window->model().bookmarks.all()[0].selection.lane);
  window->controller().setPrompt("Another text.");
  ASSERT_TRUE(settle());
  choose({row(Kind::session)});
  QTest::keyClick(&library().tree(), Qt::Key_Return);
  library().openButton()->click();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(snapshot().prompt.find("house number") != std::string::npos);
}

TEST_F(LibraryTest, RenamesSessionsOnTheDiskAndBookmarks) {
  window->bookmarkActions().add();
  row(Kind::bookmark)->setText(0, "the needle");
  EXPECT_EQ(window->model().bookmarks.all()[0].name, "the needle");
  row(Kind::session)->setText(0, "second");
  const QString renamed = folder.filePath("second.kvscope");
  EXPECT_TRUE(QFileInfo::exists(renamed));
  EXPECT_FALSE(QFileInfo::exists(session));
  EXPECT_TRUE(window->windowTitle().startsWith("second"));
  EXPECT_GE(colours(pictureOf(row(Kind::session))), 3) << "the picture goes with it";
  std::ofstream(folder.filePath("third.kvscope").toStdString()) << "taken";
  for (const char* bad : {"third", "", "a/b", ".hidden"}) {
    row(Kind::session)->setText(0, bad);
    EXPECT_FALSE(library().message().isEmpty()) << bad;
    EXPECT_TRUE(QFileInfo::exists(renamed)) << bad;
    EXPECT_EQ(row(Kind::session)->text(0), "second");
  }
  QFile taken(folder.filePath("third.kvscope"));
  ASSERT_TRUE(taken.open(QIODevice::ReadOnly));
  EXPECT_EQ(taken.readAll(), "taken");
}

TEST_F(LibraryTest, ComparesTwoRunsAndTheRunsOfASession) {
  choose({row(Kind::run, 1), row(Kind::run, 3)});
  ASSERT_TRUE(library().compareButton()->isEnabled());
  library().compareButton()->click();
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  EXPECT_EQ(window->workspace().selection().lane, 3);
  window->controller().removeLane(2);
  const std::string kept = lane(1);
  window->controller().removeLane(3);
  ASSERT_TRUE(settle());
  choose({row(Kind::session)});
  ASSERT_TRUE(library().compareButton()->isEnabled());
  library().compareButton()->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), 5u) << "what was missing came back, nothing twice";
  EXPECT_EQ(lane(1), kept);
  choose({row(Kind::run, 1)});
  EXPECT_FALSE(library().compareButton()->isEnabled()) << "one run is no comparison";
}

TEST_F(LibraryTest, GreysWhatIsMissingAndSaysSo) {
  QFile::remove(session);
  const QString bad = folder.filePath("bad.kvscope");
  std::ofstream(bad.toStdString()) << "{\"kvscope\": 7";
  window->files().recent().add(bad);
  ASSERT_EQ(rows(Kind::session).size(), 2);
  QTreeWidgetItem* broken = row(Kind::session, 0);
  QTreeWidgetItem* missing = row(Kind::session, 1);
  EXPECT_TRUE(broken->text(1).startsWith("cannot be read")) << broken->text(1).toStdString();
  EXPECT_TRUE(missing->text(1).startsWith("missing"));
  EXPECT_NE(missing->foreground(0).color(), broken->foreground(0).color());
  choose({missing});
  EXPECT_FALSE(library().openButton()->isEnabled());
  EXPECT_FALSE(library().renameButton()->isEnabled());
  library().removeButton()->click();
  ASSERT_EQ(rows(Kind::session).size(), 1);
  choose({row(Kind::session)});
  library().compareButton()->click();
  EXPECT_FALSE(library().message().isEmpty());
  EXPECT_EQ(snapshot().phase, RunPhase::idle);
}

TEST_F(LibraryTest, SaysHowManyRunsWereAddedAndReadsNothingUnasked) {
  SavedSession other = readSession(session).session;
  QTemporaryDir elsewhere;
  const QString heads = elsewhere.filePath("heads.json");
  std::ofstream(heads.toStdString()) << "[]";
  other.request.lanes = parse_lane_specs({"full", "tova:ratio=0.5", "duo:ratio=0.3,heads=" + heads.toStdString()});
  const QString path = folder.filePath("other.kvscope");
  writeSession(path, other);
  window->files().recent().add(path);
  choose({row(Kind::session)});
  ASSERT_TRUE(library().compareButton()->isEnabled());
  library().compareButton()->click();
  EXPECT_TRUE(library().message().contains(heads)) << library().message().toStdString();
  EXPECT_EQ(window->controller().request().lanes.size(), 5u);
  other.request.lanes.pop_back();
  writeSession(path, other);
  window->openFile(QString::fromStdString(in_checkout("tests/golden/tiny-gqa-prefill-keepkv1.json")));
  ASSERT_TRUE(waitFor([&] { return window->controller().viewOnly(); }, 20000));
  choose({row(Kind::session)});
  library().compareButton()->click();
  EXPECT_EQ(library().message(), "None of these runs could be added.");
}

}  // namespace
}  // namespace kvscope
