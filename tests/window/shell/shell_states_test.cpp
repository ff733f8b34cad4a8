// SPDX-License-Identifier: Apache-2.0
// What the window says while there is nothing to show.
#include <QClipboard>
#include <QMenu>
#include <QPushButton>
#include <QTemporaryDir>

#include "app/window/lecture/lecture_bars.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/prompt_panel_samples.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/rows/rows.h"
#include "window/lecture/lecture_fixture.h"

namespace kvscope {
namespace {

TEST(NoModelTest, OffersBothWaysOutAndItsDetails) {
  QTemporaryDir empty;
  Options options;
  options.picture = "unused.png";
  options.model = empty.path().toStdString();
  MainWindow window(options, startState(options));
  window.show();
  ASSERT_TRUE(waitUntilSettled(window, 30000));
  EXPECT_NE(buttonOf(window.messages(), "built-in"), nullptr);
  EXPECT_NE(buttonOf(window.messages(), "Open model"), nullptr);
  QPushButton* copy = buttonOf(window.messages(), "Copy details");
  ASSERT_NE(copy, nullptr);
  copy->click();
  EXPECT_TRUE(QApplication::clipboard()->text().contains("config.json")) << QApplication::clipboard()->text().toStdString();
  for (const char* id : {"atlas", "head_grid", "head_strip", "timeline"}) {
    bool said = false;
    const viz::Scene scene = window.canvas(id)->scene();
    for (const viz::SceneCommand& c : scene.commands) said = said || c.kind == viz::SceneCommand::Kind::text;
    EXPECT_TRUE(said) << id << " says what it would show";
  }
}

TEST_F(LectureTest, WithoutATextItOffersThreePromptsAndNoNumbers) {
  openSample();
  PromptEditor& editor = window->lectureMode().page().prompt().editor();
  editor.setExactText("");
  ASSERT_TRUE(QTest::qWaitFor([this] { return snapshot().prompt.empty() && snapshot().phase == RunPhase::idle; }, 30000));
  ASSERT_TRUE(settle());
  auto* samples = window->lectureMode().page().prompt().findChild<PromptSamples*>();
  ASSERT_NE(samples, nullptr);
  EXPECT_TRUE(samples->isVisible());
  const QList<QPushButton*> prompts = samples->findChildren<QPushButton*>();
  ASSERT_EQ(prompts.size(), 4) << "three texts and the menu of all";
  ASSERT_NE(prompts[3]->menu(), nullptr);
  EXPECT_EQ(prompts[3]->menu()->actions().size(), samplePrompts().size());
  for (const QPushButton* b : prompts) EXPECT_TRUE(b->isVisible() && b->width() > 100);
  QTest::mouseClick(prompts[1], Qt::LeftButton);
  ASSERT_TRUE(
      QTest::qWaitFor([this] { return snapshot().prompt.find("cat") != std::string::npos && snapshot().phase == RunPhase::idle; }, 30000));
  EXPECT_FALSE(window->lectureMode().page().next().shown().empty());
}

TEST_F(LectureTest, TheMenuOfSamplesPutsATextIntoTheEditorThatIsSeen) {
  ASSERT_FALSE(window->work().prompt().isVisible()) << "the welcome page";
  QAction* sample = nullptr;
  for (QAction* a : window->actions())
    if (a->text() == samplePrompts()[3].title) sample = a;
  ASSERT_NE(sample, nullptr) << "a command like any other, so the palette has it";
  sample->trigger();
  EXPECT_TRUE(window->work().prompt().isVisible());
  EXPECT_EQ(window->work().prompt().editor().exactText(), samplePrompts()[3].text);
  openSample();
  sample->trigger();
  EXPECT_EQ(window->lectureMode().page().prompt().editor().exactText(), samplePrompts()[3].text) << "the lecture stays where it is";
}

}  // namespace
}  // namespace kvscope
