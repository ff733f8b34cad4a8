// SPDX-License-Identifier: Apache-2.0
// What papers say, in the help: the page that the measurements wrote.
#include <QAction>
#include <QFileInfo>
#include <QLabel>
#include <QTextBrowser>
#include <QUrl>

#include "app/window/help/papers_dialog.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using PapersTest = WindowTest;

TEST_F(PapersTest, TheHelpHasThePageWithItsTable) {
  for (QAction* action : window->findChildren<QAction*>())
    if (action->text().contains("papers say")) action->trigger();
  auto* dialog = window->findChild<PapersDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(dialog->isVisible());
  const QString text = dialog->page().toPlainText();
  for (const char* words : {"StreamingLLM", "what kvscope measures", "does not show here", "kvmini", "kvscope-cli ppl --text"})
    EXPECT_TRUE(text.contains(words)) << words << "\n" << text.left(500).toStdString();
  QList<QUrl> opened;
  bool can = true;
  dialog->setOpener([&](const QUrl& url) {
    opened << url;
    return can;
  });
  const auto follow = [&](const char* link) { Q_EMIT const_cast<QTextBrowser&>(dialog->page()).anchorClicked(QUrl(link)); };
  follow("sinks.svg");
  ASSERT_EQ(opened.size(), 1);
  EXPECT_TRUE(QFileInfo::exists(opened[0].toLocalFile())) << "the picture is there";
  EXPECT_FALSE(dialog->said().isVisible());
  follow("no-such.svg");
  EXPECT_EQ(opened.size(), 1);
  EXPECT_TRUE(dialog->said().text().contains("did not come"));
  can = false;
  follow("sinks.svg");
  EXPECT_TRUE(dialog->said().text().contains("sinks.svg")) << "where it is, so that one can open it oneself";
  EXPECT_TRUE(dialog->page().toPlainText().contains("StreamingLLM")) << "the page stays";
}

}  // namespace
}  // namespace kvscope
