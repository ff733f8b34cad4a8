// SPDX-License-Identifier: Apache-2.0
// Files of what another program kept: their text, their model, and their runs beside the full cache, each by its own name.
#include <algorithm>
#include <cmath>

#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QProcess>
#include <QTemporaryDir>

#include "app/window/lecture/lecture_row.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel_paint.h"
#include "io/kept_file_reader.h"
#include "paths.h"
#include "window/support/file_bytes.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class KeptTest : public WindowTest {
 protected:
  /// One run that keeps tokens 0, 2 and 3 of four in every head; without scores.
  QString written(const char* model, int n_layers, int n_kv_heads) {
    const auto list = [](const QByteArray& item, int n) { return "[" + (item + ",").repeated(n).chopped(1) + "]"; };
    const QByteArray json = R"({"schema":"kvscope.kept/1","model":{"name":")" + QByteArray(model) + R"(","n_layers":)" +
                            QByteArray::number(n_layers) + R"(,"n_kv_heads":)" + QByteArray::number(n_kv_heads) +
                            R"(},"tokens":[300,301,302,303],"runs":[{"name":"my method","steps":[{"step":0,"kept":)" +
                            list(list("[0,2,3]", n_kv_heads), n_layers) + "}]}]}";
    write(folder.filePath("mine.json"), json);
    return folder.filePath("mine.json");
  }
  void drop(const QString& path) {
    QMimeData files;
    files.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window.get(), &enter);
    ASSERT_TRUE(enter.isAccepted());
    QDropEvent event(QPointF(5, 5), Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window.get(), &event);
  }
  std::string notice() const { return window->notices().text().toStdString(); }
  std::vector<std::string> titles() const {
    std::vector<std::string> out;
    for (const LaneSnapshot& lane : snapshot().lanes) out.push_back(lane.title);
    return out;
  }

  QTemporaryDir folder;
};

TEST_F(KeptTest, ADroppedFileBringsItsTextAndItsRunsByTheirNames) {
  const QString path = folder.filePath("kept, of others.json"), text = "Alice lives in Paris. Tom lives in Rome. Alice lives in";
  QProcess cli;
  cli.start(KVSCOPE_CLI, {"trace", "--prompt", text, "--generate", "3", "--lane", "snapkv:slots=6", "--lane", "h2o:slots=9@evict=3,step=1",
                          "--out", folder.filePath("t.json"), "--out-kept", path, "--quiet"});
  ASSERT_TRUE(cli.waitForFinished(60000));
  ASSERT_EQ(cli.exitCode(), 0) << cli.readAllStandardError().toStdString();
  drop(path);
  ASSERT_TRUE(settle());
  EXPECT_NE(notice().find("what another program kept"), std::string::npos) << notice();
  const RunRequest& request = window->controller().request();
  EXPECT_EQ(request.prompt, text.toStdString()) << "a text that can be edited";
  EXPECT_TRUE(request.prompt_ids.empty());
  EXPECT_EQ(request.follow, Follow::file);
  EXPECT_EQ(titles(), (std::vector<std::string>{"Full cache", "snapkv:slots=6", "h2o:slots=9@evict=3,step=1"}));
  const KeptFile file = read_kept_file(path.toStdString());
  for (std::size_t r = 0; r < file.runs.size(); ++r)
    for (const KeptFile::Step& step : file.runs[r].steps)
      for (std::size_t h = 0; h < step.kept.size(); ++h) {
        std::vector<int> held = snapshot().lanes[r + 1].steps[static_cast<std::size_t>(step.step)]->heads[h].pos;
        std::ranges::sort(held);
        EXPECT_EQ(held, step.kept[h]) << r << " " << step.step << " " << h;
      }
  EXPECT_GT(snapshot().lanes[1].steps.back()->kl, 0) << "measured, not told";
}

TEST_F(KeptTest, ARunThatSaysItselfWhatStaysHasANameAndNoLimitThatItDoesNotKeep) {
  drop(written("kvmini", 6, 4));
  ASSERT_TRUE(settle());
  viz::Selection at = window->workspace().selection();
  at.lane = 1;
  at.step = 0;
  window->workspace().setSelection(at);
  const auto says = [](QWidget& in, const QString& words) {
    const auto labels = in.findChildren<QLabel*>();
    return std::ranges::any_of(labels, [&](const QLabel* label) { return label->isVisible() && label->text().startsWith(words); });
  };
  EXPECT_TRUE(says(*window, "no budget to set · step 0: 18.0 KiB"));
  window->pages().show(Page::lecture);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says(window->lectureMode().row(), "holds 3 slots"));
  const auto boxes = window->lectureMode().row().findChildren<QComboBox*>();
  EXPECT_TRUE(std::ranges::any_of(boxes, [](const QComboBox* box) { return box->accessibleDescription() == "my method"; }));
  at.lane = 0;
  window->workspace().setSelection(at);
  EXPECT_TRUE(says(window->lectureMode().row(), "no limit · all 4 tokens"));
}

/// A run that says itself what stays has no budget to lift: its tokens are pinned instead.
TEST_F(KeptTest, WhichHeadIsAskedOfAFilesRunAsOfOurOwn) {
  const QString path = folder.filePath("kept.json");
  QProcess cli;
  cli.start(KVSCOPE_CLI, {"trace", "--prompt-file", qs(in_checkout("assets/prompts/needle.txt")), "--generate", "3", "--lane",
                          "h2o:slots=17", "--out", folder.filePath("t.json"), "--out-kept", path, "--quiet"});
  ASSERT_TRUE(cli.waitForFinished(60000));
  ASSERT_EQ(cli.exitCode(), 0) << cli.readAllStandardError().toStdString();
  drop(path);
  ASSERT_TRUE(settle());
  viz::Selection at = window->workspace().selection();
  at.lane = 1;
  window->workspace().setSelection(at);
  window->model().causes.want(true);
  const auto& causes = window->workspace().causes();
  ASSERT_TRUE(waitFor([&] { return window->workspace().causes().n_measured == 24; }, 60000));
  int n_known = 0;
  for (const double kl : causes.kl) n_known += std::isfinite(kl) ? 1 : 0;
  EXPECT_EQ(n_known, 24);
  EXPECT_LT(std::ranges::min(causes.kl), causes.kl_without) << "one head alone brings some of it back";
}

TEST_F(KeptTest, WhatTheFileDoesNotSayIsNotAvailable) {
  drop(written("kvmini", 6, 4));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt_ids, (std::vector<int>{300, 301, 302, 303})) << "without a start token it is no text";
  EXPECT_EQ(window->work().prompt().editor().exactText().toStdString(), snapshot().prompt) << "which people can read nevertheless";
  EXPECT_FALSE(snapshot().prompt.empty());
  EXPECT_EQ(window->controller().request().n_generate, 4) << "as before: nothing is said of what followed";
  ASSERT_EQ(snapshot().lanes.size(), 2u);
  EXPECT_EQ(snapshot().lanes[1].title, "my method");
  const HeadRecord& head = snapshot().lanes[1].steps.front()->heads.front();
  EXPECT_EQ(head.n_slots, 3);
  EXPECT_TRUE(std::ranges::all_of(head.score, [](double x) { return std::isnan(x); }));
}

TEST_F(KeptTest, AnotherModelIsTakenOnlyWhenSomebodySaysSo) {
  const std::string before = window->controller().request().prompt;
  drop(written("other", 6, 4));
  ASSERT_TRUE(settle());
  EXPECT_NE(notice().find("it is about 'other', 6 layers of 4 KV heads; it was not found here, and kvmini has the same shape"),
            std::string::npos)
      << notice();
  EXPECT_EQ(window->controller().request().prompt, before);
  QPushButton* const button = buttonOf(window->notices(), "Open it with kvmini");
  ASSERT_NE(button, nullptr);
  QTest::mouseClick(button, Qt::LeftButton);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 2u);
  EXPECT_EQ(snapshot().lanes[1].title, "my method");
}

TEST_F(KeptTest, WhatFitsNoModelHereIsRefusedWithTheWayOn) {
  const std::string before = window->controller().request().prompt;
  drop(written("kvmini", 2, 2));
  ASSERT_TRUE(settle());
  EXPECT_NE(notice().find("has 6 layers of 4 KV heads; open its model (Ctrl+O)"), std::string::npos) << notice();
  write(folder.filePath("cut.json"), R"({"schema":"kvscope.kept/1","model":{"n_layers":6,"n_kv_heads":4},"tokens":[1)");
  drop(folder.filePath("cut.json"));
  ASSERT_TRUE(settle());
  EXPECT_NE(notice().find("cut.json"), std::string::npos) << notice();
  EXPECT_EQ(window->controller().request().prompt, before);
  EXPECT_EQ(window->controller().request().lanes.size(), 5u);
}

}  // namespace
}  // namespace kvscope
