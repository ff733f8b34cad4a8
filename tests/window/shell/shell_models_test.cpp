// SPDX-License-Identifier: Apache-2.0
// Models on this machine: below the cards of the welcome and in the dialog that opens one.
#include <filesystem>

#include <QDialog>
#include <QDir>
#include <QTemporaryDir>
#include <QTreeWidget>

#include "app/window/files/found_models.h"
#include "app/window/files/model_choice.h"
#include "app/window/help/welcome_page.h"
#include "app/window/rows/rows.h"
#include "paths.h"
#include "window/support/file_bytes.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class ModelsTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    std::filesystem::copy(in_checkout("tests/golden/tiny-gqa"), folder.filePath("tiny").toStdString());
    QDir(folder.path()).mkdir("experts");
    write(folder.filePath("experts/config.json"), R"({"model_type":"mixtral"})");
    write(folder.filePath("experts/model.safetensors"), "");
    write(folder.filePath("broken.gguf"), "words");
  }
  ModelFinder& finder() { return window->document().models().finder(); }
  bool look() {
    finder().look(std::vector<ModelPlace>{{"folder", folder.path().toStdString()}});
    return waitFor([&] { return !finder().busy(); }, 20000);
  }
  FoundModels& inDialog() { return window->document().models().inDialog(); }
  FoundModels& onWelcome() { return *welcome().findChild<FoundModels*>(); }
  WelcomePage& welcome() { return *window->findChild<WelcomePage*>(); }
  static QTreeWidgetItem* row(const FoundModels& models, const QString& name) {
    const QList<QTreeWidgetItem*> found = models.table().findItems(name, Qt::MatchExactly);
    return found.size() == 1 ? found.front() : nullptr;
  }
  static void doubleClick(const FoundModels& models, QTreeWidgetItem* item) {
    const QPoint at = models.table().visualItemRect(item).center();
    QTest::mouseClick(models.table().viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(models.table().viewport(), Qt::LeftButton, {}, at);
  }
  QString opened() const { return window->controller().modelFolder(); }

  QTemporaryDir folder;
};

TEST_F(ModelsTest, PicturesDoNotDependOnWhatLiesOnTheMachine) {
  window->showPage(Page::welcome);
  EXPECT_FALSE(finder().busy());
  EXPECT_TRUE(onWelcome().isHidden());
}

TEST_F(ModelsTest, TheWelcomeHasThemWithReasonsAndADoubleClickOpensOne) {
  window->showPage(Page::welcome);
  ASSERT_TRUE(look());
  FoundModels& models = onWelcome();
  ASSERT_TRUE(models.isVisible());
  EXPECT_EQ(models.status(), "3 models, 1 of them opens");
  ASSERT_EQ(models.table().topLevelItemCount(), 3);
  EXPECT_EQ(models.table().topLevelItem(0)->text(0), "tiny") << "what opens comes first";
  const int state = models.table().columnCount() - 1;
  EXPECT_EQ(models.table().topLevelItem(0)->text(state), "yes, token ids only") << "it has no tokenizer";
  QTreeWidgetItem* experts = row(models, "experts");
  ASSERT_NE(experts, nullptr);
  const QString before = opened();
  doubleClick(models, experts);
  EXPECT_TRUE(models.details().contains("experts (MoE)")) << models.details().toStdString();
  EXPECT_TRUE(models.chosen().isEmpty());
  EXPECT_EQ(opened(), before);
  EXPECT_EQ(window->page(), Page::welcome);
  doubleClick(models, row(models, "tiny"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(opened(), folder.filePath("tiny"));
  EXPECT_EQ(window->page(), Page::inspect);
}

TEST_F(ModelsTest, TheWelcomeHasAButtonThatOpensTheSelectedOne) {
  window->showPage(Page::welcome);
  ASSERT_TRUE(look());
  FoundModels& models = onWelcome();
  EXPECT_FALSE(models.openButton().isEnabled());
  models.table().setCurrentItem(row(models, "experts"));
  EXPECT_FALSE(models.openButton().isEnabled()) << "it does not open";
  models.table().setCurrentItem(row(models, "tiny"));
  ASSERT_TRUE(models.openButton().isEnabled());
  QTest::mouseClick(&models.openButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(opened(), folder.filePath("tiny"));
}

TEST_F(ModelsTest, TheDialogOpensOneByKeysAndItsButtonOnlyWhatOpens) {
  ASSERT_TRUE(look());
  press(Qt::Key_O, Qt::ControlModifier);
  QDialog& dialog = window->document().models().dialog();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog));
  QPushButton* open = buttonOf(dialog, "Open");
  ASSERT_NE(open, nullptr);
  EXPECT_FALSE(open->isEnabled());
  QTreeWidget& table = inDialog().table();
  table.setCurrentItem(row(inDialog(), "broken"));
  EXPECT_FALSE(open->isEnabled());
  EXPECT_TRUE(inDialog().details().startsWith("Does not open: ")) << inDialog().details().toStdString();
  QTest::keyClick(&table, Qt::Key_Return);
  EXPECT_TRUE(dialog.isVisible());
  table.setCurrentItem(row(inDialog(), "tiny"));
  EXPECT_TRUE(open->isEnabled());
  EXPECT_EQ(inDialog().details(), folder.filePath("tiny"));
  QTest::keyClick(&table, Qt::Key_Return);
  EXPECT_FALSE(dialog.isVisible());
  ASSERT_TRUE(settle());
  EXPECT_EQ(opened(), folder.filePath("tiny"));
}

TEST_F(ModelsTest, OnlyWhatOpenedIsAmongTheFilesUsedLast) {
  window->openFile(folder.filePath("experts"));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  EXPECT_FALSE(window->files().recent().all().contains(folder.filePath("experts")));
  window->openFile(folder.filePath("tiny"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->files().recent().all(), QStringList{folder.filePath("tiny")});
  window->openFile(folder.filePath("experts"));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  EXPECT_EQ(window->files().recent().all(), QStringList{folder.filePath("tiny")});
}

TEST_F(ModelsTest, WhyARunOfTheModelBeforeFailedGoesWithIt) {
  QString text;
  for (int i = 0; i < snapshot().model.max_positions; ++i) text += QString("word %1, 猫🙂; ").arg(i);
  window->controller().setPrompt(text);
  ASSERT_TRUE(waitFor([&] { return window->messages().isVisible(); }, 10000));
  std::optional<bool> visible;
  QObject::connect(&window->controller(), &SessionController::modelOpened, window.get(), [&] { visible = window->messages().isVisible(); });
  window->controller().loadModel(folder.filePath("tiny"));
  ASSERT_TRUE(waitFor([&] { return visible.has_value(); }, 10000));
  EXPECT_FALSE(*visible) << "its first result may take long";
}

TEST_F(ModelsTest, OneThatWasCutInTheMiddleOfARunIsOpenedAgainByAButton) {
  const QString model = folder.filePath("whole"), weights = model + "/model.safetensors";
  std::filesystem::copy(builtInModel(), model.toStdString());
  const QByteArray bytes = bytesOf(weights);
  window->openFile(model);
  ASSERT_TRUE(settle());
  window->controller().generate(400);
  const auto n_steps = [this] { return snapshot().lanes.empty() ? 0 : snapshot().lanes[0].steps.size(); };
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::computing && n_steps() > 20 && n_steps() < 300; }, 20000));
  ASSERT_TRUE(QFile::resize(weights, 4096));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  EXPECT_TRUE(window->messages().text().endsWith("open it anew. All pictures and numbers are of what was computed before that."))
      << window->messages().text().toStdString();
  const auto again = [this] { return buttonOf(window->messages(), "Open the model again"); };
  ASSERT_NE(again(), nullptr);
  const QString said = window->messages().text();
  QWidget* const had_keys = QApplication::focusWidget();
  QTest::mouseClick(again(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return window->messages().text() != said; }, 20000)) << "it is still cut";
  ASSERT_NE(again(), nullptr) << window->messages().text().toStdString();
  write(weights, bytes);
  QTest::mouseClick(again(), Qt::LeftButton);
  EXPECT_EQ(QApplication::focusWidget(), had_keys) << "a click on what goes with it leaves the keys where they are";
  window->messages().show("A message", "its details");
  QTest::mouseClick(window->messages().findChild<QPushButton*>("copyDetails"), Qt::LeftButton);
  EXPECT_EQ(QApplication::focusWidget(), had_keys) << "and one on what stays";
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle; }, 60000));
  EXPECT_EQ(n_steps(), 401u);
  EXPECT_FALSE(window->messages().isVisible());
}

/// Nothing that is typed can be computed with it: the message leads out.
TEST_F(ModelsTest, OneWithoutATokenizerOffersAnother) {
  window->controller().loadModel(folder.filePath("tiny"));
  ASSERT_TRUE(waitFor([&] { return window->messages().text().contains("no tokenizer"); }, 20000));
  QPushButton* const out = buttonOf(window->messages(), "Use the built-in model");
  ASSERT_NE(out, nullptr);
  EXPECT_NE(buttonOf(window->messages(), "Open model"), nullptr);
  ASSERT_TRUE(window->document().save(folder.filePath("mine.kvscope")));
  EXPECT_FALSE(window->windowTitle().contains("*"));
  QTest::mouseClick(out, Qt::LeftButton);
  EXPECT_TRUE(window->windowTitle().contains("*")) << "the file's model is another one";
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && !window->messages().isVisible(); }, 60000));
  window->controller().setLaneSpec(1, "streaming:ratio=0.5");
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[1].spec, "streaming:ratio=0.5");
}

/// Edits keep their places, which are other words where the tokens are others.
TEST_F(ModelsTest, EditsThatMeanOtherWordsInAnotherModelAreSaid) {
  window->controller().setLaneSpec(1, "streaming:ratio=0.25@evict=5,step=0");
  ASSERT_TRUE(settle());
  const std::string was = viz::token_text(snapshot().tokens, 5);
  QString said;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& words) {
    if (!words.isEmpty()) said = words;
  });
  window->controller().loadModel(qs(in_checkout("tests/data/gguf/tiny.gguf")));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && viz::token_text(snapshot().tokens, 5) != was; }, 60000));
  EXPECT_TRUE(said.contains("This model has other tokens")) << said.toStdString();
  EXPECT_TRUE(said.contains(qs("token 5 is " + viz::quoted(viz::token_text(snapshot().tokens, 5)) + " here, and was " + viz::quoted(was))))
      << said.toStdString();
  said.clear();
  window->controller().setLaneSpec(2, "h2o:ratio=0.5");
  ASSERT_TRUE(settle());
  EXPECT_EQ(said, "") << "once";
  // Back in the model of which they were made they mean what they meant.
  bool stands = true;
  QObject::connect(&window->model().hand, &HandEdits::said, window.get(), [&](const QString& words) { stands = !words.isEmpty(); });
  window->controller().loadModel(QString::fromStdString(builtInModel()));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && viz::token_text(snapshot().tokens, 5) == was; }, 60000));
  EXPECT_EQ(said, "");
  EXPECT_FALSE(stands) << "what was said is taken back";
}

TEST_F(ModelsTest, LookingCanBeStoppedAndBegunAnew) {
  for (int i = 0; i < 400; ++i) write(folder.filePath(QString("%1.gguf").arg(1000 + i)), "words");
  finder().look(std::vector<ModelPlace>{{"folder", folder.path().toStdString()}});
  EXPECT_EQ(inDialog().stopButton().text(), "Stop looking");
  ASSERT_TRUE(waitFor([&] { return !finder().models().empty(); }, 20000));
  if (finder().busy()) {
    finder().stop();
    EXPECT_TRUE(inDialog().status().startsWith("Stopped: ")) << inDialog().status().toStdString();
  }
  EXPECT_EQ(inDialog().stopButton().text(), "Look again");
  const std::size_t n = finder().models().size();
  QTest::qWait(200);
  EXPECT_EQ(finder().models().size(), n) << "of what was stopped comes no more";
  ASSERT_TRUE(look());
  EXPECT_EQ(inDialog().table().topLevelItemCount(), 403);
}

TEST_F(ModelsTest, AWindowThatClosesWhileItLooksWaitsForNothingLong) {
  finder().look(std::vector<ModelPlace>{{"folder", folder.path().toStdString()}});
  window.reset();
}

}  // namespace
}  // namespace kvscope
