// SPDX-License-Identifier: Apache-2.0
// The layout Lecture where there is little room.
#include <QAbstractTextDocumentLayout>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QTextBlock>
#include <QTextLayout>
#include <QTimer>
#include <QToolButton>

#include "app/window/help/help_dialog.h"
#include "app/window/lecture/lecture_answer.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/passing_words.h"
#include "window/lecture/lecture_fixture.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

TEST_F(LectureTest, ASmallWindowKeepsTypeThatCanBeRead) {
  window->resize(1280, 780);
  openSample();
  ASSERT_TRUE(settle());
  for (const QWidget* w : window->findChildren<QWidget*>()) {
    const bool with_text = qobject_cast<const QLabel*>(w) || qobject_cast<const QAbstractButton*>(w) || qobject_cast<const QComboBox*>(w);
    if (!with_text || !w->isVisible() || w->visibleRegion().isEmpty()) continue;
    EXPECT_GE(QFontInfo(w->font()).pixelSize(), 16) << w->objectName().toStdString();
  }
  for (const QSize& size : {QSize(1280, 780), QSize(960, 600)}) {
    window->resize(size);
    ASSERT_TRUE(settle());
    const QList<QWidget*> controls = window->lectureMode().row().findChildren<QWidget*>(Qt::FindDirectChildrenOnly);
    for (const QWidget* a : controls)
      for (const QWidget* b : controls) {
        if (a == b || !a->isVisible() || !b->isVisible()) continue;
        EXPECT_FALSE(a->geometry().intersects(b->geometry()))
            << size.width() << " " << a->accessibleName().toStdString() << " " << b->accessibleName().toStdString();
      }
  }
}

TEST_F(LectureTest, WhatIsSaidInPassingWhenItBeginsIsReadWhole) {
  openSample();
  ASSERT_TRUE(settle());
  window->showPage(MainWindow::Page::inspect);
  const PassingWords& said = window->rows().passing();
  window->rows().say("Saved to /somewhere/in/a/folder/mine.kvscope");
  const int before = said.height();
  window->showPage(MainWindow::Page::lecture);
  ASSERT_TRUE(settle());
  EXPECT_GT(said.height(), before) << "larger type";
  EXPECT_GE(said.width(), said.sizeHint().width());
  EXPECT_GE(said.height(), said.sizeHint().height());
  EXPECT_TRUE(said.parentWidget()->rect().contains(said.geometry()));
}

TEST_F(LectureTest, TheSlideIsTheFirstThatAnExportOffers) {
  openSample();
  QStringList kinds;
  QTimer::singleShot(300, window.get(), [&] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    ASSERT_NE(dialog, nullptr);
    kinds = dialog->nameFilters();
    dialog->close();
  });
  press(Qt::Key_E, Qt::ControlModifier);
  ASSERT_GT(kinds.size(), 2);
  EXPECT_TRUE(kinds.front().contains("whole window")) << kinds.front().toStdString();
}

TEST_F(LectureTest, TabGoesThroughTheRowInTheOrderOfItsControls) {
  openSample();
  LectureRow& row = window->lectureMode().row();
  int x = -1;
  for (const QWidget* w = row.budgetSlider(); w && row.isAncestorOf(w); w = w->nextInFocusChain()) {
    if (!w->isVisible() || !(w->focusPolicy() & Qt::TabFocus)) continue;
    EXPECT_GT(w->x(), x) << w->accessibleName().toStdString();
    x = w->x();
  }
  EXPECT_GT(x, row.width() / 2);
}

TEST_F(LectureTest, DialogsHaveTypeThatCanBeReadAndTheirUsualOneElsewhere) {
  openSample();
  const auto size_of = [](const QWidget* dialog) {
    int least = 1000;
    for (const QLabel* w : dialog->findChildren<QLabel*>())
      if (w->isVisible() && !w->text().isEmpty()) least = std::min(least, QFontInfo(w->font()).pixelSize());
    return least;
  };
  int in_dialog = 0;
  QTimer::singleShot(300, window.get(), [&] {
    QWidget* dialog = QApplication::activeModalWidget();
    ASSERT_NE(dialog, nullptr);
    in_dialog = size_of(dialog);
    EXPECT_LE(dialog->height(), window->height());
    dialog->close();
  });
  press(Qt::Key_E, Qt::ControlModifier);
  EXPECT_GE(in_dialog, 18);
  window->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
  press(Qt::Key_F1);
  const auto* help = window->findChild<HelpDialog*>();
  ASSERT_TRUE(help->isVisible());
  EXPECT_GE(size_of(help), 18);
  window->findChild<HelpDialog*>()->close();
  window->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
  window->showPage(MainWindow::Page::inspect);
  press(Qt::Key_F1);
  EXPECT_LT(size_of(help), 14);
}

TEST_F(LectureTest, TheWordsOfTheBudgetMakeRoomForTheHeadThatIsChosenNow) {
  openSample();
  for (int width = 1000; width <= 1500; width += 20) {
    window->resize(width, 800);
    viz::Selection s = selection();
    s.layer.reset();
    s.kv_head.reset();
    s.step.reset();
    window->workspace().setSelection(s);
    QApplication::processEvents();
    s.layer = 5;
    s.kv_head = 3;
    s.step = 1;
    window->workspace().setSelection(s);
    QApplication::processEvents();
    const QLabel& label = slotLabel();
    EXPECT_LE(label.fontMetrics().horizontalAdvance(label.text()), label.width()) << width << ' ' << label.text().toStdString();
  }
}

TEST_F(LectureTest, TheTextIsCutBetweenLinesOnly) {
  openSample();
  PromptEditor& editor = window->lectureMode().page().prompt().editor();
  for (int height = 780; height < 840; height += 7) {
    window->resize(1280, height);
    ASSERT_TRUE(settle());
    const int pitch = static_cast<int>(editor.document()->documentLayout()->blockBoundingRect(editor.document()->begin()).height()) /
                      editor.document()->begin().layout()->lineCount();
    ASSERT_GT(pitch, 10);
    EXPECT_EQ(editor.viewport()->height() % pitch, 0) << height;
  }
}

TEST_F(LectureTest, TheAnswerSaysHowManyTokensGoOn) {
  openSample();
  LectureAnswer& answer = *window->lectureMode().page().findChild<LectureAnswer*>();
  const auto shown = [&] {
    int n = 0;
    for (int i = 0; i < 80; ++i) n += !answer.rectOf(i).isEmpty();
    return n;
  };
  window->controller().generate(40);
  ASSERT_TRUE(waitFor(
      [this] { return snapshot().phase == RunPhase::idle && snapshot().lanes[1].steps.back()->position >= snapshot().n_prompt + 38; },
      60000));
  ASSERT_TRUE(settle());
  const int n = static_cast<int>(snapshot().lanes[1].steps.back()->position) - snapshot().n_prompt + 2;
  for (const int step : {-1, snapshot().n_prompt - 1, snapshot().n_prompt + 15}) {
    window->model().playback.goTo(step);
    ASSERT_TRUE(settle());
    int first = 0;
    while (first < n && answer.rectOf(first).isEmpty()) ++first;
    const int last = first + shown() - 1;
    ASSERT_LT(shown(), n);
    EXPECT_EQ(answer.before(), first) << step;
    EXPECT_EQ(answer.after(), n - 1 - last) << step;
    EXPECT_LE(answer.rectOf(last).right(), answer.width()) << step;
  }
}

}  // namespace
}  // namespace kvscope
