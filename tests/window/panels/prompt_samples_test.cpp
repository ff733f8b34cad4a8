// SPDX-License-Identifier: Apache-2.0
// The sample prompts: the list that is shipped, lists that are wrong, and what the panel says of a sample's text.
#include <fstream>

#include <QLabel>
#include <QTemporaryDir>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "core/error.h"
#include "window/panels/panel_fixture.h"

namespace kvscope {
namespace {

TEST(SamplePromptsTest, ThoseThatAreShippedAreManyAndEachSaysWhatToLookFor) {
  const QList<SamplePrompt> prompts = readSamplePrompts(builtInPrompts());
  EXPECT_GE(prompts.size(), 12);
  QStringList texts;
  for (const SamplePrompt& p : prompts) {
    EXPECT_GE(p.text.size(), 40) << p.file.toStdString();
    EXPECT_LE(p.title.size(), 50) << p.title.toStdString() << " is a line of a menu";
    EXPECT_EQ(samplePromptOf(p.text)->file, p.file);
    texts << p.text;
  }
  EXPECT_EQ(texts.removeDuplicates(), 0);
  EXPECT_EQ(samplePromptOf("a text of one's own"), nullptr);
  EXPECT_EQ(samplePromptOf(""), nullptr);
}

TEST(SamplePromptsTest, AWrongListIsRefusedWithTheReason) {
  QTemporaryDir folder;
  const std::string path = folder.filePath("prompts.json").toStdString();
  std::ofstream(folder.filePath("a.txt").toStdString()) << "some text";
  std::ofstream(folder.filePath("empty.txt").toStdString());
  const auto refusal = [&](const std::string& json) -> std::string {
    std::ofstream(path) << json;
    try {
      readSamplePrompts(QString::fromStdString(path));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto list = [](const std::string& rows) { return R"({"kvscope": "prompts", "version": 1, "prompts": [)" + rows + "]}"; };
  EXPECT_EQ(refusal(list(R"({"file": "a.txt", "title": "A", "look_for": "B", "about": "C"})")), "");
  EXPECT_NE(refusal("{").find("in line 1, column"), std::string::npos);
  EXPECT_NE(refusal(R"({"kvscope": "scenes", "version": 1})").find("list of prompts"), std::string::npos);
  EXPECT_NE(refusal(R"({"kvscope": "prompts", "version": 2})").find("version 1"), std::string::npos);
  EXPECT_NE(refusal(list("")).find("at least one prompt"), std::string::npos);
  EXPECT_NE(refusal(list("7")).find("prompts[0]"), std::string::npos);
  EXPECT_NE(refusal(list(R"({"file": "a.txt", "title": "A"})")).find("look_for"), std::string::npos);
  EXPECT_NE(refusal(list(R"({"file": "../a.txt", "title": "A", "look_for": "B", "about": "C"})")).find("beside the list"),
            std::string::npos);
  EXPECT_NE(refusal(list(R"({"file": "none.txt", "title": "A", "look_for": "B", "about": "C"})")).find("none.txt"), std::string::npos);
  EXPECT_NE(refusal(list(R"({"file": "empty.txt", "title": "A", "look_for": "B", "about": "C"})")).find("with a text in it"),
            std::string::npos);
}

class SampleTextTest : public PanelTest {
 protected:
  SampleTextTest() { show(panel, 392, 480); }
  PromptPanel panel{workspace, controller};
};

TEST_F(SampleTextTest, WhatToLookForStandsBelowASampleUntilItsTextIsChanged) {
  auto* look_for = panel.findChild<QLabel*>({}, Qt::FindDirectChildrenOnly);
  ASSERT_NE(look_for, nullptr);
  EXPECT_FALSE(look_for->isVisible());
  const SamplePrompt& sample = samplePrompts().back();
  panel.editor().setExactText(sample.text);
  EXPECT_TRUE(look_for->isVisible());
  EXPECT_EQ(look_for->text(), "Look for: " + sample.look_for);
  QApplication::processEvents();
  for (const SamplePrompt& p : samplePrompts())
    EXPECT_LE(look_for->fontMetrics().horizontalAdvance("Look for: " + p.look_for), look_for->width())
        << p.file.toStdString() << " would be cut";
  QTest::keyClicks(&panel.editor(), "x");
  EXPECT_FALSE(look_for->isVisible());
}

}  // namespace
}  // namespace kvscope
