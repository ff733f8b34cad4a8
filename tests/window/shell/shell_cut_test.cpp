// SPDX-License-Identifier: Apache-2.0
// A prompt that is too long for the model, and the button that mends it.
#include <QFile>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextLayout>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel.h"
#include "core/error.h"
#include "paths.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST_F(WindowTest, ATextThatIsTooLongIsCutByAButtonAndComesBackByUndo) {
  const int limit = snapshot().model.max_positions;
  ASSERT_GT(limit, 0);
  QString text;
  for (int i = 0; i < limit; ++i) text += QString("word %1, 猫🙂; ").arg(i);
  PromptEditor& editor = window->work().prompt().editor();
  editor.setExactText(text);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 10000));
  QPushButton* cut = buttonOf(window->messages(), "Cut to the first");
  ASSERT_NE(cut, nullptr) << window->messages().text().toStdString();
  EXPECT_TRUE(window->messages().text().contains("still those of the text before")) << window->messages().text().toStdString();
  EXPECT_TRUE(window->work().prompt().facts().contains("text before: ")) << window->work().prompt().facts().toStdString();
  ASSERT_TRUE(waitFor([&] { return window->workspace().dimmed(); }, 3000));
  EXPECT_GT(window->workspace().dim(), 0.5) << "clearly more than while something is computed";
  QTest::mouseClick(cut, Qt::LeftButton);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().phase, RunPhase::idle) << snapshot().failure;
  EXPECT_FALSE(window->messages().isVisible());
  EXPECT_EQ(window->workspace().dim(), 0);
  EXPECT_EQ(cut->text(), QString("Cut to the first %1 tokens").arg(snapshot().n_prompt));
  EXPECT_LE(snapshot().n_prompt, limit - options.generate) << "with room for what is generated";
  EXPECT_GT(snapshot().n_prompt, limit - options.generate - 16);
  EXPECT_TRUE(text.startsWith(editor.exactText()));
  EXPECT_EQ(snapshot().lanes[0].steps.size(), static_cast<std::size_t>(options.generate) + 1);
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(editor.exactText(), text);
  EXPECT_EQ(window->controller().request().prompt, text.toStdString());
}

TEST(StartTest, APromptThatIsTooLongLeavesTheModelOpenAndOffersTheCut) {
  Options options;
  options.picture = "unused.png";
  options.prompt.emplace();
  for (int i = 0; i < 3000; ++i) *options.prompt += "word ";
  options.lanes = {"h2o:slots=20@evict=12,step=0"};
  MainWindow window(options, startState(options));
  window.show();
  ASSERT_TRUE(waitFor([&] { return window.workspace().snapshot().phase == RunPhase::failed; }, 30000));
  ASSERT_TRUE(waitFor([&] { return window.messages().isVisible(); }, 3000));
  EXPECT_EQ(window.workspace().snapshot().model.name, "kvmini");
  EXPECT_EQ(window.work().prompt().facts(), "text not taken");
  EXPECT_EQ(window.canvas("atlas")->facts(), "Text not taken");
  EXPECT_EQ(window.rows().crumbs().findChild<ElidedLabel*>("facts")->text(), "the text was not taken: the line below says why");
  QPushButton* cut = buttonOf(window.messages(), "Cut to the first");
  ASSERT_NE(cut, nullptr) << window.messages().text().toStdString();
  QTest::mouseClick(cut, Qt::LeftButton);
  ASSERT_TRUE(waitUntilSettled(window, 60000));
  EXPECT_EQ(window.workspace().snapshot().phase, RunPhase::idle) << window.workspace().snapshot().failure;
  ASSERT_EQ(window.controller().request().lanes.size(), 2u) << "the token is there still";
  EXPECT_EQ(window.controller().request().lanes[1].text, options.lanes[0]);
}

TEST(StartTest, APromptFileThatIsNoTextIsRefused) {
  QTemporaryDir folder;
  const QString path = folder.filePath("program");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(
      "\x7f"
      "ELF\x02\0\0\xff",
      8);
  file.close();
  Options options;
  options.prompt_file = path.toStdString();
  try {
    (void)startState(options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected a text, got a program"), std::string::npos) << error.what();
  }
}

TEST(StartTest, LinesOfThePromptEndWhereTheScrollBarBeginsWhenMessagesTakeItsRoom) {
  Options options;
  options.picture = "unused.png";
  options.prompt_file = in_checkout("assets/prompts/needle.txt");
  MainWindow window(options, startState(options));
  window.show();
  ASSERT_TRUE(waitUntilSettled(window, 60000));
  PromptEditor& editor = window.work().prompt().editor();
  const auto expect_inside = [&](const char* when) {
    for (QTextBlock block = editor.document()->begin(); block.isValid(); block = block.next())
      for (int i = 0; i < block.layout()->lineCount(); ++i)
        EXPECT_LE(block.layout()->lineAt(i).naturalTextWidth(), editor.viewport()->width()) << when << ", line " << i;
  };
  for (int height = 1000; height > 500; height -= 10) {
    window.resize(1600, height);
    QTest::qWait(5);
    expect_inside(std::to_string(height).c_str());
  }
  window.resize(1600, 1000);
  QTest::qWait(50);
  for (int i = 0; i < 6; ++i) {
    MessageBar& bar = i % 2 == 0 ? window.notices() : window.messages();
    bar.show(QString(60 * (i + 1), 'x').replace("xxxxxx", "words "), {});
    QTest::qWait(50);
    expect_inside("message");
  }
  // The same while another page is shown, and while the text changes.
  for (int i = 0; i < 4; ++i) {
    window.showPage(MainWindow::Page::sweep);
    QTest::qWait(20);
    i % 2 == 0 ? window.messages().clear() : window.messages().show(QString(60 * (i + 1), 'x').replace("xxxxxx", "words "), {});
    if (i >= 2) window.controller().setPrompt(editor.exactText() + " and more");
    window.showPage(MainWindow::Page::inspect);
    QTest::qWait(50);
    expect_inside("another page");
    ASSERT_TRUE(waitUntilSettled(window, 60000));
    expect_inside("another page, computed");
  }
}

}  // namespace
}  // namespace kvscope
