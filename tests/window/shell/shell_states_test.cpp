// SPDX-License-Identifier: Apache-2.0
// What the window says while there is nothing to show.
#include <QClipboard>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QTemporaryDir>

#include "app/window/lecture/lecture_bars.h"
#include "app/window/panels/effect/effect_panel_parts.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/prompt_panel_samples.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/rows/rows.h"
#include "window/lecture/lecture_fixture.h"
#include "window/support/patience.h"

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
  ASSERT_TRUE(waitFor([this] { return snapshot().prompt.empty() && snapshot().phase == RunPhase::idle; }, 30000));
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
  ASSERT_TRUE(waitFor([this] { return snapshot().prompt.find("cat") != std::string::npos && snapshot().phase == RunPhase::idle; }, 30000));
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

class LongTextTest : public WindowTest {
 protected:
  void show(const Snapshot& s) {
    window->workspace().setSnapshot(std::make_shared<const Snapshot>(s));
    QApplication::processEvents();
  }
  /// Every text on a canvas, in one.
  std::string words(const char* canvas) {
    std::string out;
    for (const viz::SceneCommand& c : window->canvas(canvas)->scene().commands)
      if (c.kind == viz::SceneCommand::Kind::text) out += c.text + "\n";
    return out;
  }
  QString effect() { return window->findChild<EffectHeadline*>()->emptyText(); }
};

TEST_F(LongTextTest, BeforeItIsReadTheWindowSaysThatAndHowLongItTakes) {
  Snapshot s = snapshot();
  s.phase = RunPhase::computing;
  s.activity = "prompt, 64 of 8192 tokens, layer 2 of 6, about 40 s of reading left";
  s.lanes.clear();
  show(s);
  EXPECT_NE(words("atlas").find(s.activity), std::string::npos) << words("atlas");
  for (const char* id : {"atlas", "head_grid", "head_strip", "timeline"}) EXPECT_EQ(words(id).find("o model"), std::string::npos) << id;
  EXPECT_NE(words("head_strip").find("the text is being read"), std::string::npos) << words("head_strip");
  EXPECT_TRUE(effect().contains("being read")) << effect().toStdString();
  bool named = false;
  for (const QLabel* label : window->findChildren<QLabel*>()) named = named || (label->isVisible() && label->text().contains("kvmini"));
  EXPECT_TRUE(named) << "the model is open";
}

TEST_F(LongTextTest, WhileItsPictureGrowsTheLineOverThePanelsSaysHowLongItTakes) {
  Snapshot s = snapshot();
  s.phase = RunPhase::computing;
  s.activity = "prompt, 64 of 8192 tokens, layer 2 of 6, about 40 s of reading left";
  for (LaneSnapshot& lane : s.lanes) {
    StepRecord read = *lane.steps.front();
    read.top1 = -1;
    lane.steps = {std::make_shared<const StepRecord>(std::move(read))};
  }
  show(s);
  const auto* line = window->rows().crumbs().findChild<QWidget*>("facts");
  ASSERT_NE(line, nullptr);
  EXPECT_NE(line->accessibleName().toStdString().find(s.activity), std::string::npos) << line->accessibleName().toStdString();
}

TEST_F(LongTextTest, StoppedBeforeItsEndTheWindowSaysHowToGoOn) {
  Snapshot s = snapshot();
  s.lanes.clear();
  show(s);
  EXPECT_NE(words("atlas").find("not read to its end"), std::string::npos) << words("atlas");
  EXPECT_EQ(words("atlas").find("type a prompt"), std::string::npos) << words("atlas");
  EXPECT_TRUE(window->work().prompt().facts().contains("not read to the end")) << window->work().prompt().facts().toStdString();
}

TEST_F(LongTextTest, WhileItIsReadTheHeadsShowWhatIsReadAndNoAnswer) {
  Snapshot s = snapshot();
  s.phase = RunPhase::computing;
  s.activity = "prompt, 10 of 31 tokens, layer 6 of 6";
  auto read = std::make_shared<StepRecord>();
  read->position = 9;
  read->kl = kNotAvailable;
  read->top1 = read->top1_reference = -1;
  for (int h = 0; h < s.model.n_layers * s.model.n_kv_heads; ++h) {
    HeadRecord& head = read->heads.emplace_back();
    head.layer = h / s.model.n_kv_heads;
    head.kv_head = h % s.model.n_kv_heads;
    head.n_slots = 10;
    for (int p = 0; p < 10; ++p) head.pos.push_back(p);
    head.votes.assign(10, 1);
    head.attended = head.pos;
    head.attention.assign(10, 0.1F);
  }
  for (LaneSnapshot& lane : s.lanes) {
    lane.steps = {read};
    lane.fates = std::make_shared<LaneFates>(derive_fates({read}, static_cast<int>(read->heads.size())));
    lane.fed.clear();
  }
  show(s);
  EXPECT_NE(words("timeline").find("n/a"), std::string::npos) << "no KL yet: " << words("timeline");
  const QString sentence = window->rows().crumbs().findChild<ElidedLabel*>("facts")->text();
  EXPECT_TRUE(sentence.contains("being read")) << sentence.toStdString();
  for (const char* id : {"atlas", "head_grid", "head_strip", "timeline"}) EXPECT_EQ(words(id).find("#-1"), std::string::npos) << id;
  EXPECT_EQ(window->findChild<EffectHeadline*>()->accessibleDescription(), effect());
  for (const auto page : {MainWindow::Page::inspector, MainWindow::Page::compare, MainWindow::Page::sweep, MainWindow::Page::inspect}) {
    window->showPage(page);
    show(s);
  }
  EXPECT_EQ(words("compare").find("#-1"), std::string::npos) << words("compare");
}

}  // namespace
}  // namespace kvscope
