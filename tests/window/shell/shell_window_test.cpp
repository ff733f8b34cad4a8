// SPDX-License-Identifier: Apache-2.0
// Flows through the whole window, with the embedded model.
#include "app/window/shell/main_window.h"

#include <gtest/gtest.h>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileIconProvider>
#include <QFileSystemModel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QStyleOptionSlider>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QWheelEvent>

#include "app/window/diagnostics/script.h"
#include "app/window/help/help_dialog.h"
#include "app/window/look/file_dialogs.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "policy/catalog.h"
#include "window/support/file_bytes.h"
#include "window/support/mouse_menu.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST_F(WindowTest, StartsWithFiveRunsAndLooksAtTheLast) {
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  EXPECT_EQ(window->workspace().selection().lane, 4);
  EXPECT_EQ(snapshot().lanes[4].steps.size(), 5u) << "the prompt and four tokens";
  EXPECT_TRUE(window->views().noPictures().isEmpty()) << window->views().noPictures().toStdString();
}

TEST_F(WindowTest, ItMayGoWhileATextHasTheFocus) {
  PromptEditor& editor = window->work().prompt().editor();
  editor.setFocus();
  ASSERT_TRUE(editor.hasFocus());
  window.reset();  // both editors tell the menus that they are left, and one of them is gone before the other
  EXPECT_EQ(QApplication::focusWidget(), nullptr);
}

TEST_F(WindowTest, EveryWidgetThatTakesTheFocusHasAName) {
  for (const QWidget* w : window->findChildren<QWidget*>()) {
    if (w->focusPolicy() == Qt::NoFocus || w->objectName().startsWith("qt_") || w->isWindow()) continue;
    if (w->inherits("QAbstractScrollArea") && !w->accessibleName().isEmpty()) continue;
    if (w->inherits("QLabel") && !w->isVisible()) continue;  // is called what it says, once it says something
    bool named =
        !w->accessibleName().isEmpty() || !w->property("text").toString().isEmpty() || w->inherits("QMenuBar") || w->inherits("QMenu");
    for (const QWidget* p = w->parentWidget(); p && !named; p = p->parentWidget())
      named = (p->inherits("QAbstractSpinBox") || p->inherits("QComboBox") || p->inherits("QAbstractItemView")) &&
              !p->accessibleName().isEmpty();
    EXPECT_TRUE(named) << w->metaObject()->className() << " " << w->objectName().toStdString() << " in "
                       << w->parentWidget()->metaObject()->className() << " " << w->parentWidget()->objectName().toStdString();
  }
}

TEST_F(WindowTest, NoTwoCommandsShareAKey) {
  std::map<QString, QString> keys;
  for (const QAction* action : window->findChildren<QAction*>())
    for (const QKeySequence& key : action->shortcuts()) {
      const QString name = key.toString();
      if (name.isEmpty()) continue;
      EXPECT_TRUE(!keys.contains(name) || keys[name] == action->text())
          << name.toStdString() << ": " << keys[name].toStdString() << " and " << action->text().toStdString();
      keys[name] = action->text();
    }
  EXPECT_GT(keys.size(), 25u);
}

TEST_F(WindowTest, CanvasesRestWhenNothingHappens) {
  QTest::qWait(300);
  std::vector<int> before;
  for (const CanvasWidget* canvas : window->views().all()) before.push_back(canvas->paints());
  QTest::qWait(1500);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(window->views().all()[i]->paints(), before[i]) << window->views().all()[i]->view().id();
}

TEST_F(WindowTest, KeysMoveThroughSteps) {
  const int last = window->workspace().step();
  press(Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().step(), last - 1);
  press(Qt::Key_Home, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().step(), 0);
  press(Qt::Key_Right, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().step(), 1);
  press(Qt::Key_End, Qt::ControlModifier);
  EXPECT_TRUE(window->workspace().atLatestStep());
  EXPECT_FALSE(window->workspace().selection().step) << "the latest step is followed, not held";
}

TEST_F(WindowTest, PlayRunsToTheLatestStepAndStops) {
  press(Qt::Key_End, Qt::ControlModifier);
  window->model().playback.play(true);
  EXPECT_EQ(window->workspace().step(), 0) << "from the beginning, where there is nothing more to come";
  ASSERT_TRUE(waitFor([this] { return window->workspace().atLatestStep(); }, 10000));
  const int frames = window->canvas("atlas")->framesDrawn();
  QTest::qWait(1200);
  EXPECT_LE(window->canvas("atlas")->framesDrawn() - frames, 2) << "nothing plays on";
}

TEST_F(WindowTest, ControlAndADigitLookAtARun) {
  press(Qt::Key_2, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().selection().lane, 1);
  press(Qt::Key_9, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().selection().lane, 1) << "there is no ninth run";
}

TEST_F(WindowTest, PagesByKeyAndEscapeLeadsBack) {
  press(Qt::Key_2, Qt::AltModifier);
  EXPECT_EQ(window->page(), MainWindow::Page::inspector);
  EXPECT_TRUE(window->canvas("inspector")->isVisible());
  press(Qt::Key_Escape);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
  press(Qt::Key_3, Qt::AltModifier);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
}

TEST_F(WindowTest, EnterInTheHeadGridOpensTheInspectorOfThatHead) {
  viz::Selection selection = window->workspace().selection();
  selection.layer = 2;
  selection.kv_head = 3;
  window->workspace().setSelection(selection);
  window->canvas("head_grid")->setFocus();
  QTest::keyClick(window->canvas("head_grid"), Qt::Key_Return);
  QApplication::processEvents();
  EXPECT_EQ(window->page(), MainWindow::Page::inspector);
  EXPECT_EQ(window->workspace().selection().layer, 2);
}

TEST_F(WindowTest, TheThemeChangesEveryPixelOfThePanelsAndBack) {
  const QColor dark = window->exports().picture().toImage().pixelColor(400, 500);
  press(Qt::Key_T, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->workspace().theme().dark);
  const QImage light = window->exports().picture().toImage();
  const viz::Rgb panel = window->workspace().theme().panel;
  const CanvasWidget* timeline = window->canvas("timeline");
  const QPoint corner = timeline->mapTo(window.get(), QPoint(2, 2));
  EXPECT_EQ(light.pixelColor(corner), QColor(panel.r(), panel.g(), panel.b()));
  press(Qt::Key_T, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->exports().picture().toImage().pixelColor(400, 500), dark);
}

TEST_F(WindowTest, AFileDialogShowsSizeKindAndDateWhole) {
  QTemporaryDir folder;
  QFile file(folder.filePath("a lesson with a name.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray(123456, ' '));
  file.close();
  QFileDialog dialog(window.get(), "Open", folder.path());
  dialog.setOption(QFileDialog::DontUseNativeDialog);
  dialog.setViewMode(QFileDialog::Detail);
  dialog.show();
  auto* files = dialog.findChild<QTreeView*>("treeView");
  ASSERT_NE(files, nullptr);
  ASSERT_TRUE(waitFor([&] { return files->model()->rowCount(files->rootIndex()) > 0; }, 5000));
  QTest::qWait(50);
  const QAbstractItemView& view = *files;
  for (int column = 1; column < files->model()->columnCount(); ++column)
    EXPECT_GE(files->columnWidth(column), view.sizeHintForColumn(column)) << column;
}

TEST_F(WindowTest, AFileDialogLooksIntoNoFileToNameItsKind) {
  QTemporaryDir folder;
  QFile file(folder.filePath("picture"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("\x89PNG\r\n\x1a\n");
  file.close();
  QFileDialog dialog(window.get(), "Open", folder.path());
  dialog.setOption(QFileDialog::DontUseNativeDialog);
  dialog.show();
  EXPECT_EQ(dialog.iconProvider()->type(QFileInfo(file)), "File");
  EXPECT_EQ(dialog.iconProvider()->type(QFileInfo("a/run.kvscope")), "KVSCOPE file");
  EXPECT_EQ(dialog.iconProvider()->type(QFileInfo(folder.path())), "Folder");
  EXPECT_FALSE(dialog.iconProvider()->icon(QFileInfo(file)).isNull());
}

TEST_F(WindowTest, ADialogThatOpensDeletesAndRenamesNothing) {
  const auto readOnly = [this](QFileDialog::AcceptMode mode, QFileDialog::FileMode what) {
    QFileDialog dialog(window.get());
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.setAcceptMode(mode);
    dialog.setFileMode(what);
    dialog.show();
    const auto* files = dialog.findChild<QFileSystemModel*>();
    const auto* made = dialog.findChild<QToolButton*>("newFolderButton");
    EXPECT_NE(files, nullptr);
    EXPECT_EQ(made && made->isEnabled(), files && !files->isReadOnly());
    return files && files->isReadOnly();
  };
  EXPECT_TRUE(readOnly(QFileDialog::AcceptOpen, QFileDialog::ExistingFile));
  EXPECT_TRUE(readOnly(QFileDialog::AcceptOpen, QFileDialog::Directory));
  EXPECT_FALSE(readOnly(QFileDialog::AcceptSave, QFileDialog::AnyFile)) << "a new folder may be wanted for it";
  bool asked = false;
  QTimer::singleShot(300, window.get(), [&asked] {
    const auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    asked = dialog && !dialog->testOption(QFileDialog::ReadOnly);
    if (QWidget* modal = QApplication::activeModalWidget()) modal->close();
  });
  EXPECT_EQ(folderToWriteTo(window.get(), "Folder for the results", {}), "");
  EXPECT_TRUE(asked) << "a folder for results may be made";
}

/// Whoever takes the knob at its edge, or just beside it, moves it from where it was.
TEST_F(WindowTest, TheKnobOfTheBudgetMovesFromWhereItWasTaken) {
  QSlider* slider = window->rows().tools().budgetSlider();
  const int before = slider->value();
  QStyleOptionSlider option;
  option.initFrom(slider);
  option.minimum = slider->minimum(), option.maximum = slider->maximum(), option.sliderPosition = before;
  const QRect knob = slider->style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, slider);
  const QPoint beside(knob.right() + 6, knob.center().y());
  QTest::mousePress(slider, Qt::LeftButton, {}, beside);
  EXPECT_EQ(slider->value(), before);
  QTest::mouseMove(slider, beside + QPoint(30, 0));
  EXPECT_GT(slider->value(), before);
  QTest::mouseMove(slider, beside);
  EXPECT_EQ(slider->value(), before);
  QTest::mouseRelease(slider, Qt::LeftButton, {}, beside);
  QWheelEvent notch(QPointF(5, 5), slider->mapToGlobal(QPointF(5, 5)), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                    false);
  QApplication::sendEvent(slider, &notch);
  EXPECT_EQ(slider->value(), before + 1) << "a slot";
}

TEST_F(WindowTest, ABudgetIsChangedByItsSliderAndTakenBackByUndo) {
  const std::string before = lane(4);
  const int asked = snapshot().lanes[4].slots_asked;
  window->rows().tools().budgetSlider()->setValue(asked - 2);
  ASSERT_TRUE(waitFor([&] { return lane(4) != before; }, 5000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[4].slots_asked, asked - 2);
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(lane(4), before);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[4].slots_asked, asked);
  press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_NE(lane(4), before);
}

TEST_F(WindowTest, ADragOfTheBudgetIsOneStepOfUndo) {
  const std::string before = lane(4);
  QSlider* slider = window->rows().tools().budgetSlider();
  for (int i = 1; i < 6; ++i) {
    slider->setValue(snapshot().lanes[4].slots_asked - i);
    QTest::qWait(60);
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->model().undo.now().count(), 1);
  window->model().undo.now().undo();
  EXPECT_EQ(lane(4), before);
}

TEST_F(WindowTest, ADragThatRestsIsOneStepOfUndoToo) {
  const std::string before = lane(4);
  const int asked = snapshot().lanes[4].slots_asked;
  QSlider* slider = window->rows().tools().budgetSlider();
  slider->setSliderDown(true);
  slider->setSliderPosition(asked - 1);
  ASSERT_TRUE(settle());
  QTest::qWait(1200);  // longer than what makes two edits of it elsewhere
  slider->setSliderPosition(asked + 3);
  slider->setSliderDown(false);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[4].slots_asked, asked + 3) << "the last place counts at once";
  EXPECT_EQ(window->model().undo.now().count(), 1);
  slider->setSliderDown(true);
  slider->setSliderPosition(asked + 4);
  slider->setSliderDown(false);
  EXPECT_EQ(window->model().undo.now().count(), 2) << "another drag is another step";
  press(Qt::Key_Z, Qt::ControlModifier);
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(lane(4), before);
}

TEST_F(WindowTest, UndoTakesBackABudgetThatIsStillOnItsWay) {
  const std::string before = lane(4);
  QSlider* slider = window->rows().tools().budgetSlider();
  slider->setValue(slider->value() + 2);
  ASSERT_TRUE(waitFor([&] { return lane(4) != before; }, 5000));
  slider->setValue(slider->value() + 2);
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(lane(4), before);
  QTest::qWait(200);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), before) << "it does not come after the undo";
  EXPECT_EQ(slider->value(), snapshot().lanes[4].slots_asked);
  // however it is taken back
  slider->setValue(slider->value() + 1);
  ASSERT_TRUE(waitFor([&] { return lane(4) != before; }, 5000));
  slider->setValue(slider->value() + 1);
  window->model().undo.now().undo();
  QTest::qWait(200);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), before);
  EXPECT_TRUE(window->model().undo.now().canRedo()) << "taking back is no new edit";
}

TEST_F(WindowTest, AnotherPolicyKeepsTheBudget) {
  QComboBox* box = window->rows().tools().policyBox();
  const int asked = snapshot().lanes[4].slots_asked;
  const int wanted = box->findData("streaming");
  ASSERT_GE(wanted, 0);
  box->setCurrentIndex(wanted);
  Q_EMIT box->activated(wanted);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[4].policy, "streaming");
  EXPECT_EQ(snapshot().lanes[4].slots_asked, asked);
}

TEST_F(WindowTest, APolicyIsAddedBesideTheRunsAtTheBudgetOfTheSelectedOne) {
  const std::string run = lane(4);
  const auto add = [this](const QString& kind, const QString& policy) {
    QToolButton* button = window->rows().tools().addButton();
    chooseByMouse({kind, policy}, [button] { QTest::mouseClick(button, Qt::LeftButton); });
  };
  add("Merging", "D2O");
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 6; }, 20000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), run) << "the run itself stays";
  EXPECT_EQ(lane(5), "d2o:ratio=0.25");
  EXPECT_EQ(window->workspace().selection().lane, 5) << "it is looked at";
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(window->controller().request().lanes.size(), 5u);
  ASSERT_TRUE(settle());
  press(Qt::Key_1, Qt::ControlModifier);  // the full cache, which has no budget
  add("Every token stays", "KIVI");
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 6; }, 20000)) << window->notices().text().toStdString();
}

TEST_F(WindowTest, TypingInThePromptChangesEveryRun) {
  window->work().prompt().editor().setFocus();
  QTest::keyClick(&window->work().prompt().editor(), Qt::Key_End, Qt::ControlModifier);
  QTest::keyClicks(&window->work().prompt().editor(), " not");
  const std::string wanted = *options.prompt + " not";
  ASSERT_TRUE(waitFor([&] { return snapshot().prompt == wanted && snapshot().phase == RunPhase::idle; }, 30000));
  EXPECT_EQ(snapshot().lanes[4].steps.size(), 5u);
}

TEST_F(WindowTest, AFolderThatIsNoModelIsSaidUnderTheBreadcrumbAndHarmsNothing) {
  QTemporaryDir empty;
  window->controller().loadModel(empty.path());
  ASSERT_TRUE(waitFor([this] { return window->messages().isVisible(); }, 10000));
  EXPECT_TRUE(window->messages().text().contains("config.json")) << window->messages().text().toStdString();
  EXPECT_EQ(window->work().prompt().editor().toPlainText().toStdString(), *options.prompt);
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  window->messages().dismiss();
  EXPECT_FALSE(window->messages().isVisible());
}

TEST(WindowWithoutAModelTest, OffersTheBuiltInOneAndIsThenAsGoodAsNew) {
  QTemporaryDir empty;
  Options options;
  options.picture = "unused.png";
  options.model = empty.path().toStdString();
  options.prompt = "Once upon a time";
  MainWindow window(options, startState(options));
  window.show();
  ASSERT_TRUE(waitUntilSettled(window, 30000));
  EXPECT_EQ(window.workspace().snapshot().phase, RunPhase::failed);
  EXPECT_EQ(window.rows().status().stateText(), "failed") << "and not computing for ever";
  QPushButton* remedy = nullptr;
  for (QPushButton* button : window.messages().findChildren<QPushButton*>())
    if (button->text().contains("built-in")) remedy = button;
  ASSERT_NE(remedy, nullptr);
  remedy->click();
  ASSERT_TRUE(waitFor([&] { return window.workspace().snapshot().phase == RunPhase::idle && !window.workspace().stale(); }, 30000));
  EXPECT_FALSE(window.messages().isVisible());
  EXPECT_EQ(window.workspace().snapshot().prompt, "Once upon a time");
}

TEST(WindowOfTwoLikeRunsTest, SaysSoWholeWhenItIsShown) {  // it is said before the window has its size
  Options options;
  options.prompt = "Once upon a time";
  options.lanes = {"h2o:slots=8", "h2o:slots=8"};
  MainWindow window(options, startState(options));
  window.resize(1200, 800);
  window.show();
  ASSERT_TRUE(waitUntilSettled(window, 30000));
  const PassingWords& said = window.rows().passing();
  ASSERT_TRUE(said.isVisible());
  EXPECT_EQ(said.text(), "Run B is the same as run C: H2O");
  EXPECT_GE(said.width(), said.sizeHint().width());
  EXPECT_GT(said.y(), said.parentWidget()->height() / 2) << "in the lower corner";
}

TEST_F(WindowTest, ATextFileDroppedOnTheWindowIsThePrompt) {
  QTemporaryDir folder;
  const QString path = folder.filePath("prompt.txt");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("Once upon a time");
  file.close();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter(QPoint(700, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(700, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window.get(), &drop);
  ASSERT_TRUE(waitFor([this] { return snapshot().prompt == "Once upon a time" && snapshot().phase == RunPhase::idle; }, 30000));
}

/// The system would take the name up to the zero byte for another file's.
TEST_F(WindowTest, ADroppedNameWithAZeroByteOpensNothingAndSaysSo) {
  QTemporaryDir folder;
  write(folder.filePath("prompt"), "Once upon a time");
  const std::string before = window->controller().request().prompt;
  QMimeData data;
  data.setData("text/uri-list", ("file://" + folder.path() + "/prompt%00.txt\r\n").toUtf8());
  QDragEnterEvent enter(QPoint(700, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(700, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window.get(), &drop);
  EXPECT_TRUE(window->notices().text().contains("prompt%00.txt was not opened: a file's name has no zero byte"))
      << window->notices().text().toStdString();
  EXPECT_EQ(window->controller().request().prompt, before);
}

TEST_F(WindowTest, APlaceThatIsAskedForAndNotThereIsSaid) {
  window.reset();
  options.step = 900;
  options.layer = 77;
  options.kv_head = 1;
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const std::string told = window->notices().text().toStdString();
  EXPECT_NE(told.find("--select: expected L0 to L5 and H0 to H3, got L77.H1"), std::string::npos) << told;
  EXPECT_NE(told.find(", got 900"), std::string::npos) << told;
}

/// As the window system delivers it: whatever stands there may take it, or leave it to what it stands in.
TEST_F(WindowTest, AFileDroppedOnAnyPageOpens) {
  QTemporaryDir folder;
  const auto drop = [&](QWidget& on, const QString& words) {
    QFile file(folder.filePath("prompt.txt"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    file.write(words.toUtf8());
    file.close();
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(file.fileName())});
    const QPoint at = on.rect().center();
    QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(&on, &enter);
    EXPECT_TRUE(enter.isAccepted()) << words.toStdString();
    QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(&on, &event);
    EXPECT_EQ(window->controller().request().prompt, words.toStdString());
    ASSERT_TRUE(settle());
  };
  const Page pages[] = {Page::inspect, Page::inspector, Page::compare, Page::sweep, Page::lecture, Page::welcome};
  for (const Page page : pages) {
    window->showPage(page);
    QApplication::processEvents();
    ASSERT_NO_FATAL_FAILURE(drop(*window->pages().widget(page), QString("dropped on page %1").arg(static_cast<int>(page))));
    EXPECT_EQ(window->page(), page == Page::welcome ? Page::inspect : page) << "the welcome would hide it";
    EXPECT_TRUE(window->findChild<PassingWords*>()->text().contains("prompt.txt")) << "where no text is seen";
  }
  window->showPage(Page::sweep);
  auto* field = window->pages().widget(Page::sweep)->findChild<QLineEdit*>();
  ASSERT_TRUE(field && field->isVisible());
  const QString before = field->text();
  ASSERT_NO_FATAL_FAILURE(drop(*field, "dropped on a field"));
  EXPECT_EQ(field->text(), before) << "a path is no budget";
  window->showPage(Page::inspect);
  QDockWidget* dock = window->inspect().dock("timeline");
  dock->setFloating(true);
  QTest::qWait(100);
  ASSERT_NO_FATAL_FAILURE(drop(*window->canvas("timeline"), "dropped on a panel that floats"));
}

TEST_F(WindowTest, AFloatingPanelShowsTheSamePictureAndReturns) {
  CanvasWidget* grid = window->canvas("head_grid");
  QDockWidget* dock = nullptr;
  for (QWidget* w = grid; w && !dock; w = w->parentWidget()) dock = qobject_cast<QDockWidget*>(w);
  ASSERT_NE(dock, nullptr);
  const QSize size = grid->size();
  const QImage docked = grid->grab().toImage();
  dock->setFloating(true);
  QTest::qWait(200);
  dock->resize(dock->size() + size - grid->size());
  QTest::qWait(200);
  ASSERT_EQ(grid->size(), size);
  EXPECT_EQ(grid->grab().toImage(), docked);
  dock->setFloating(false);
  QTest::qWait(200);
  EXPECT_FALSE(grid->grab().toImage().isNull());
}

TEST_F(WindowTest, APanelIsMaximisedAndComesBackToItsPlace) {
  CanvasWidget* atlas = window->canvas("atlas");
  const QRect before(atlas->mapTo(window.get(), QPoint()), atlas->size());
  window->inspect().toggleMaximised(window->panel("atlas"));
  QTest::qWait(200);
  EXPECT_GT(atlas->width(), 1500);
  EXPECT_FALSE(window->canvas("head_grid")->isVisible());
  press(Qt::Key_Escape);
  QTest::qWait(200);
  const QRect after(atlas->mapTo(window.get(), QPoint()), atlas->size());
  EXPECT_EQ(after, before);
  EXPECT_TRUE(window->canvas("head_grid")->isVisible());
}

TEST_F(WindowTest, TheColumnsHaveTheWidthsOfTheDesign) {
  const auto column = [this](const char* id) {
    Panel* panel = window->panel(id);
    return QRect(panel->body()->mapTo(window.get(), QPoint()), panel->body()->size());
  };
  EXPECT_EQ(column("prompt").left(), 8);
  EXPECT_NEAR(column("prompt").width(), 392, 2);
  EXPECT_NEAR(column("atlas").left(), 408, 2);
  EXPECT_NEAR(column("atlas").width(), 828, 3);
  EXPECT_NEAR(column("head_grid").width(), 348, 3);
  EXPECT_EQ(column("head_grid").right(), 1600 - 8 - 1);
}

TEST_F(WindowTest, TheBreadcrumbGoesBackThroughSelections) {
  const viz::Selection start = window->workspace().selection();
  viz::Selection selection = start;
  selection.layer = 1;
  selection.kv_head = 2;
  window->workspace().setSelection(selection);
  selection.tokens = viz::TokenRange{3, 5};
  window->workspace().setSelection(selection);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_FALSE(window->workspace().selection().tokens);
  EXPECT_EQ(window->workspace().selection().layer, 1);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(window->workspace().selection(), start);
  ASSERT_NE(start.kv_head, 2);
  press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(window->workspace().selection().kv_head, 2);
}

TEST_F(WindowTest, F1ShowsTheKeys) {
  press(Qt::Key_F1);
  const auto* help = window->findChild<HelpDialog*>();
  ASSERT_NE(help, nullptr);
  EXPECT_TRUE(help->isVisible());
}

TEST_F(WindowTest, ClosesWhileItComputes) {
  window->controller().generate(600);
  QTest::qWait(100);
  EXPECT_TRUE(window->workspace().stale() || snapshot().phase != RunPhase::empty);
  window.reset();
}

TEST_F(WindowTest, KeepsAsManyStepsBackAsADayNeedsAndNoMore) {
  QUndoStack& undo = window->model().undo.now();
  const std::string before = lane(1), last = with_param(before, "ratio", "0.5");
  for (int i = 0; i < 250; ++i) {
    window->controller().beginDrag();
    window->controller().setLaneSpec(1, QString::fromStdString(with_param(before, "ratio", i % 2 == 0 ? "0.3" : "0.5")));
    window->controller().endDrag();
  }
  EXPECT_EQ(undo.count(), 200);
  EXPECT_EQ(lane(1), last);
  undo.undo();
  EXPECT_EQ(lane(1), with_param(before, "ratio", "0.3"));
}

}  // namespace
}  // namespace kvscope
