// SPDX-License-Identifier: Apache-2.0
// Controls as Qt draws them under our style sheet.
#include <cmath>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QTimer>
#include <QToolButton>

#include "app/window/commands/commands.h"
#include "app/window/rows/budget_box.h"
#include "app/window/rows/rows.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST_F(WindowTest, TheButtonsOfAFileDialogHaveTheirPictures) {
  for (const char* mode : {"dark", "light"}) {
    window->theme().set(mode);
    QFileDialog dialog(window.get());
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog));
    int n = 0;
    for (QToolButton* button : dialog.findChildren<QToolButton*>()) {
      if (!button->isVisible() || button->icon().isNull()) continue;
      ++n;
      EXPECT_GE(button->width(), 26);
      const QImage shown = button->grab().toImage();
      const QColor ground = shown.pixelColor(4, 4);
      QRect drawn;
      for (int y = 4; y < shown.height() - 4; ++y)
        for (int x = 4; x < shown.width() - 4; ++x)
          if (shown.pixelColor(x, y) != ground) drawn |= QRect(x, y, 1, 1);
      EXPECT_GE(std::max(drawn.width(), drawn.height()), 9) << button->objectName().toStdString() << ", " << mode;
    }
    EXPECT_GE(n, 5);
  }
}

TEST_F(WindowTest, AListOfChoicesIsWideEnoughForTheLongest) {
  int n = 0;
  for (QComboBox* box : window->findChildren<QComboBox*>()) {
    if (!box->isVisible() || box->count() == 0) continue;
    box->showPopup();
    QTest::qWait(50);
    QAbstractItemView* list = box->view();
    ASSERT_TRUE(list->isVisible()) << box->accessibleName().toStdString();
    EXPECT_GE(list->viewport()->width(), list->sizeHintForColumn(0)) << box->accessibleName().toStdString();
    box->hidePopup();
    QTest::qWait(20);
    ++n;
  }
  EXPECT_GE(n, 4);
}

TEST_F(WindowTest, TheBudgetSliderStaysUnderTheHandThatDragsIt) {
  ASSERT_TRUE(settle());
  QSlider* slider = window->rows().tools().budgetSlider();
  for (const int width : {1180, 1240, 1280, 1366}) {
    window->resize(width, 800);
    viz::Selection at = window->workspace().selection();
    at.steps = viz::StepRange{1, 1};  // the figures beside it name a step that is not the last
    window->workspace().setSelection(at);
    QTest::qWait(60);
    const int left = slider->mapTo(window.get(), QPoint()).x();
    slider->setSliderDown(true);
    for (const int value : {3, slider->maximum(), 10, slider->maximum() / 2}) {
      slider->setValue(value);
      for (int i = 0; i < 8; ++i) {
        QTest::qWait(20);
        EXPECT_EQ(slider->mapTo(window.get(), QPoint()).x(), left) << width << ", " << value << " slots";
      }
      EXPECT_EQ(slider->value(), value);
    }
    slider->setSliderDown(false);
    ASSERT_TRUE(settle());
  }
}

TEST_F(WindowTest, NothingInTheToolbarIsCutHoweverNarrowTheWindow) {
  ASSERT_TRUE(settle());
  auto* tools = window->findChild<ToolRow*>();
  int shown_last = 0;
  for (const int width : {880, 911, 960, 1024, 1100, 1180, 1240, 1270, 1280, 1400, 1600}) {
    window->resize(width, 800);
    QTest::qWait(60);
    ASSERT_EQ(tools->width(), width);
    int shown = 0;
    for (const QWidget* part : tools->findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
      if (!part->isVisible()) continue;
      ++shown;
      if (part->minimumWidth() == part->maximumWidth()) continue;  // made for what it shows
      EXPECT_GE(part->width(), part->minimumSizeHint().width())
          << width << ": " << part->accessibleName().toStdString() << part->objectName().toStdString();
    }
    EXPECT_GE(shown, shown_last) << "a wider window shows no less";
    shown_last = shown;
  }
}

TEST_F(WindowTest, FitsOnASmallScreenThatIsEnlarged) {
  const QSize screen(911, 512);  // 1366 x 768 at 150 %
  EXPECT_LE(window->minimumSize().width(), screen.width());
  EXPECT_LE(window->minimumSize().height(), screen.height() - 48) << "with its frame";
  window->resize(screen);
  QTest::qWait(60);
  EXPECT_EQ(window->size(), screen);
  const QWidget& status = window->rows().status();
  EXPECT_TRUE(window->rect().contains(QRect(status.mapTo(window.get(), QPoint()), status.size())));
}

/// On a button and in a menu a single & marks a key.
TEST_F(WindowTest, ANameWithAnAmpersandIsWholeInItsChipAndInTheListOfRuns) {
  ASSERT_TRUE(settle());
  window->controller().addLane(QString("custom:score=last,name=\"this&that\",ratio=0.3"));
  ASSERT_TRUE(settle());
  viz::Selection selection = window->workspace().selection();
  selection.lane = static_cast<int>(snapshot().lanes.size()) - 1;
  window->workspace().setSelection(selection);
  QApplication::processEvents();
  ASSERT_EQ(window->workspace().lane()->title, "this&that");
  QPushButton* chip = buttonOf(window->rows().crumbs(), "this");
  ASSERT_NE(chip, nullptr);
  EXPECT_TRUE(commandText(chip->text()).contains("this&that")) << chip->text().toStdString();
  EXPECT_TRUE(chip->accessibleName().contains("this&that"));
  bool listed = false;
  QTimer::singleShot(300, [&listed] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (menu == nullptr) return;
    for (const QAction* a : menu->actions()) listed = listed || commandText(a->text()).contains("this&that");
    menu->close();
  });
  QTest::mouseClick(chip, Qt::LeftButton, {}, {8, chip->height() / 2});
  QTest::qWait(500);
  EXPECT_TRUE(listed);
}

TEST_F(WindowTest, WhatWasDoneIsSaidBesideThePagesAndHidesNoButton) {
  window->showPage(MainWindow::Page::sweep);
  window->rows().say("Saved to /tmp/a.kvscope");
  const auto* words = window->findChild<QLabel*>("passingWords");
  ASSERT_TRUE(words != nullptr && words->isVisible());
  const QRect place(words->mapTo(window.get(), QPoint()), words->size());
  EXPECT_TRUE(window->rect().contains(place));
  for (const QAbstractButton* button : window->findChildren<QAbstractButton*>()) {
    if (!button->isVisible() || button->window() != window.get()) continue;
    EXPECT_FALSE(place.intersects(QRect(button->mapTo(window.get(), QPoint()), button->size()))) << button->text().toStdString();
  }
}

class BudgetFieldTest : public WindowTest {
 protected:
  BudgetBox& box() { return *window->rows().tools().budgetBox(); }
  int typed(const char* text) {
    box().setFocus();
    box().selectAll();
    QTest::keyClicks(&box(), text);
    QTest::keyClick(&box(), Qt::Key_Return);
    QTest::qWait(60);
    EXPECT_TRUE(settle());
    return snapshot().lanes[static_cast<std::size_t>(window->workspace().selection().lane)].slots_asked;
  }
};

TEST_F(BudgetFieldTest, AfterReturnAClickMeansTheNumberAgain) {
  ASSERT_TRUE(settle());
  ASSERT_EQ(typed("12"), 12);
  auto* line = box().findChild<QLineEdit*>();
  QTest::mouseClick(line, Qt::LeftButton, {}, QPoint(line->width() - 3, line->height() / 2));
  QTest::keyClicks(&box(), "23");
  QTest::keyClick(&box(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), "keepkv:slots=23");
  QTest::keyClicks(&box(), "31");
  QTest::keyClick(&box(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), "keepkv:slots=31") << "and so do keys alone";
}

TEST_F(BudgetFieldTest, ItsKeyMeansTheNumberAgainWhereItIsTypedIntoAlready) {
  ASSERT_TRUE(settle());
  press(Qt::Key_B, Qt::AltModifier);
  ASSERT_TRUE(box().hasFocus());
  QTest::keyClick(&box(), Qt::Key_End);
  press(Qt::Key_B, Qt::AltModifier);
  QTest::keyClicks(&box(), "23");
  QTest::keyClick(&box(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), "keepkv:slots=23");
  EXPECT_EQ(box().refusal(), "");
}

/// Facts of a budget as large as the text are longer than others: the slider stays under the hand that let it go.
TEST_F(BudgetFieldTest, TheSliderStaysWhereItWasLetGo) {
  window->resize(1280, 800);
  ASSERT_TRUE(settle());
  const QSlider* slider = nullptr;
  for (const QSlider* s : window->rows().tools().findChildren<QSlider*>())
    if (s->isVisible()) slider = s;
  ASSERT_NE(slider, nullptr);
  ASSERT_EQ(typed("12"), 12);
  const QRect place = slider->geometry();
  typed("99999");
  EXPECT_EQ(slider->geometry(), place);
  typed("12");
  EXPECT_EQ(slider->geometry(), place);
}

TEST_F(BudgetFieldTest, TakesSlotsOrPercentAndNeverOnlyTheFirstDigits) {
  ASSERT_TRUE(settle());
  const int n_prompt = snapshot().n_prompt;
  EXPECT_EQ(typed("40%"), static_cast<int>(std::lround(0.4 * n_prompt)));
  EXPECT_EQ(lane(4), "keepkv:ratio=0.4") << "a share stays one: it grows with the text";
  EXPECT_EQ(typed("99999"), n_prompt);
  EXPECT_EQ(typed("12"), 12);
  EXPECT_EQ(lane(4), "keepkv:slots=12");
  EXPECT_EQ(typed("50,5 %"), static_cast<int>(std::lround(0.505 * n_prompt)));
  EXPECT_EQ(lane(4), "keepkv:ratio=0.505");
  EXPECT_EQ(typed("14 slots"), 14);
  const LaneSnapshot& lane = *window->workspace().lane();
  const double of_slot = lane.kv_bytes / lane.slots;  // in all heads
  EXPECT_EQ(typed("48 KiB"), static_cast<int>(48 * 1024 / of_slot));
  EXPECT_EQ(typed("0,09m"), static_cast<int>(0.09 * 1024 * 1024 / of_slot));
  EXPECT_EQ(typed("1000000000000"), n_prompt);
  EXPECT_EQ(box().refusal(), "");
}

/// A policy that needs more than was asked for: who asks for the same again is told the same again.
TEST_F(BudgetFieldTest, WhatWasRaisedIsSaidAgainWhenItIsTypedAgain) {
  ASSERT_TRUE(settle());
  viz::Selection at = window->workspace().selection();
  at.lane = 2;
  window->workspace().setSelection(at);
  ASSERT_TRUE(settle());
  EXPECT_EQ(typed("1"), 2) << "one protected, one to choose";
  const QString before = box().text();
  EXPECT_EQ(typed("1"), 2);
  EXPECT_EQ(box().text(), before);
}

TEST_F(BudgetFieldTest, SaysAtTheFieldWhatItDoesNotUnderstand) {
  ASSERT_TRUE(settle());
  const std::string run = lane(4);
  const int asked = snapshot().lanes[4].slots_asked;
  for (const char* text : {"abc", "12x", "-4", "0", "0.5", "0,5", "610%"}) {
    EXPECT_EQ(typed(text), asked) << text;
    const bool too_much = QString(text).endsWith('%');
    EXPECT_TRUE(box().refusal().contains(too_much ? "is more than the whole prompt. Use at most 100 %"
                                                  : "is not a budget. Use 25 %, a number of slots, or memory such as 48 KiB."))
        << text << ": " << box().refusal().toStdString();
    EXPECT_TRUE(box().refusal().contains(text)) << box().refusal().toStdString();
    EXPECT_TRUE(box().property("refused").toBool());
    EXPECT_EQ(box().text().remove(" slots"), text) << "it stays, to be put right";
  }
  EXPECT_EQ(lane(4), run);
  EXPECT_EQ(typed("9"), 9);
  EXPECT_EQ(box().refusal(), "");
  EXPECT_FALSE(box().property("refused").toBool());
}

TEST_F(BudgetFieldTest, WhoComesToItHasTheNumberSelectedAndNeverTheUnit) {
  ASSERT_TRUE(settle());
  QLineEdit& line = *box().findChild<QLineEdit*>();
  const QString number = QString::number(box().value());
  const QPoint on_unit(line.width() - 8, line.height() / 2);
  window->setFocus();
  QTest::mouseClick(&line, Qt::LeftButton, {}, on_unit);
  EXPECT_EQ(line.selectedText(), number) << "by a click";
  window->setFocus();
  QTest::mouseDClick(&line, Qt::LeftButton, {}, on_unit);
  EXPECT_EQ(line.selectedText(), number) << "by two";
  window->setFocus();
  press(Qt::Key_B, Qt::AltModifier);
  ASSERT_TRUE(box().hasFocus());
  EXPECT_EQ(line.selectedText(), number) << "by the keyboard";
  QTest::keyClicks(&box(), "20%");
  QTest::keyClick(&box(), Qt::Key_Return);
  QTest::qWait(60);
  ASSERT_TRUE(settle());
  EXPECT_EQ(lane(4), "keepkv:ratio=0.2");
}

TEST_F(BudgetFieldTest, TheFiguresBesideItAreOfItsNumberAndOfTheStepLookedAt) {
  ASSERT_TRUE(settle());
  const auto facts = [this] {
    QString all;
    for (const QLabel* label : window->rows().tools().findChildren<QLabel*>("secondary")) all += label->text() + '|';
    return all.toStdString();
  };
  viz::Selection selection = window->workspace().selection();
  selection.lane = 3;  // grows after the prompt
  selection.step.reset();
  window->workspace().setSelection(selection);
  const viz::LaneMetrics last = viz::lane_metrics(snapshot(), snapshot().lanes[3], -1, 0);
  const viz::LaneMetrics first = viz::lane_metrics(snapshot(), snapshot().lanes[3], 0, 0);
  ASSERT_NE(viz::format_bytes(first.bytes), viz::format_bytes(last.bytes));
  EXPECT_NE(facts().find(viz::format_bytes(last.bytes)), std::string::npos) << facts();
  selection.step = 0;
  window->workspace().setSelection(selection);
  EXPECT_NE(facts().find("step 0: "), std::string::npos) << facts();
  EXPECT_NE(facts().find(viz::format_bytes(first.bytes)), std::string::npos) << facts();
  EXPECT_EQ(facts().find("now "), std::string::npos) << facts();
  // While it is dragged the share is that of the number beside it.
  const int n_prompt = snapshot().n_prompt;
  QSlider& slider = *window->rows().tools().budgetSlider();
  slider.setSliderDown(true);
  slider.setValue(n_prompt / 2);
  EXPECT_NE(facts().find(viz::format_percent(static_cast<double>(n_prompt / 2) / n_prompt) + " of"), std::string::npos) << facts();
  slider.setSliderDown(false);
  ASSERT_TRUE(settle());
}

TEST_F(BudgetFieldTest, AsManySlotsAsThePromptAreNotAsManyAsTheText) {
  const auto says = [this](const char* words) {
    const auto labels = window->rows().tools().findChildren<QLabel*>("secondary");
    return std::ranges::any_of(labels,
                               [words](const QLabel* label) { return label->toolTip().contains(words) || label->text().contains(words); });
  };
  window->controller().setLaneSpec(4, QString("keepkv:slots=%1").arg(snapshot().n_prompt));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says("later tokens evict"));
  window->controller().setLaneSpec(4, QString("keepkv:slots=%1").arg(snapshot().n_prompt - 1));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(says("later tokens evict")) << "of a smaller one nobody expects otherwise";
}

TEST_F(BudgetFieldTest, MoreSlotsThanThePromptHasTokensAreNotAsMany) {
  const auto words = [this](int more) {
    window->controller().setLaneSpec(4, QString("keepkv:slots=%1").arg(snapshot().n_prompt + more));
    EXPECT_TRUE(settle());
    QString all;
    for (const QLabel* label : window->rows().tools().findChildren<QLabel*>("secondary")) all += label->text() + '|';
    return all.toStdString();
  };
  ASSERT_TRUE(settle());
  const std::string tokens = std::to_string(snapshot().n_prompt);
  EXPECT_NE(words(0).find("as many as the prompt, " + tokens), std::string::npos) << words(0);
  EXPECT_NE(words(1).find("more than the prompt's " + tokens), std::string::npos) << words(1);
}

}  // namespace
}  // namespace kvscope
