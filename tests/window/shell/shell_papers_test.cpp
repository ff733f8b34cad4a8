// SPDX-License-Identifier: Apache-2.0
// What papers say, in the help: the page that the measurements wrote.
#include <QAction>
#include <QTextBrowser>

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
  for (const char* words : {"StreamingLLM", "what kvscope measures", "does not show here", "kvmini"})
    EXPECT_TRUE(text.contains(words)) << words << "\n" << text.left(500).toStdString();
}

}  // namespace
}  // namespace kvscope
