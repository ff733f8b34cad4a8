// SPDX-License-Identifier: Apache-2.0
// The layout Lecture, its scenes and the welcome.
#include <set>

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QToolButton>

#include "app/window/help/tour.h"
#include "app/window/help/welcome_page.h"
#include "app/window/lecture/lecture_bars.h"
#include "app/window/lecture/lecture_caption.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "window/lecture/lecture_fixture.h"
#include "window/support/file_dialog.h"
#include "window/support/ink.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

TEST_F(LectureTest, TheWelcomeOffersThreeCardsAndCoversNoMenu) {
  EXPECT_EQ(window->page(), MainWindow::Page::welcome);
  WelcomePage& welcome = window->firstSteps().welcome();
  for (WelcomeCard* card : {&welcome.lectureCard(), &welcome.modelCard(), &welcome.recoverCard()}) EXPECT_TRUE(card->isVisible());
  EXPECT_FALSE(welcome.recoverCard().isEnabled()) << "nothing was lost";
  EXPECT_TRUE(window->findChild<QMenuBar*>()->isVisible());
  EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
  press(Qt::Key_Escape);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
}

TEST_F(LectureTest, TheWelcomeIsInWordsThatNobodyHasToKnow) {
  EXPECT_FALSE(window->workspace().stepRecord()->top1_same) << "there is something to say";
  const auto line = [this] { return window->rows().crumbs().findChild<ElidedLabel*>("facts")->text(); };
  for (const char* word : {"misses", "evicted", "attention", "KL", "L4"}) EXPECT_FALSE(line().contains(word)) << line().toStdString();
  EXPECT_TRUE(line().contains(viz::quoted("2").c_str())) << line().toStdString();
  for (const QPushButton* b : window->rows().crumbs().findChildren<QPushButton*>())
    EXPECT_FALSE(b->isVisible()) << b->text().toStdString() << ": what it asks is about pictures that nobody sees yet";
  const QString lesson = window->firstSteps().welcome().lectureCard().sentence();
  EXPECT_FALSE(lesson.contains("number")) << lesson.toStdString();
  EXPECT_TRUE(lesson.contains("View > Lecture and teaching > Lessons")) << lesson.toStdString();
  window->showPage(MainWindow::Page::inspect);
  EXPECT_TRUE(line().contains("Largest loss of attention")) << line().toStdString();
  EXPECT_NE(buttonOf(window->rows().crumbs(), "Which head?"), nullptr);
}

/// Of a screen, or of a window somebody made small.
TEST_F(LectureTest, EveryWayToBeginCanBeReachedInALowAndNarrowWindow) {
  WelcomePage& welcome = window->firstSteps().welcome();
  auto* scroll = welcome.findChild<QScrollArea*>();
  ASSERT_NE(scroll, nullptr);
  std::vector<QWidget*> ways;
  for (QAbstractButton* b : welcome.findChildren<QAbstractButton*>())
    if (b->isVisible()) ways.push_back(b);
  ASSERT_GE(ways.size(), 7u);
  for (const QSize& size : {QSize(860, 460), QSize(1024, 640), QSize(1280, 800)}) {
    window->resize(size);
    EXPECT_TRUE(waitFor([&] { return !scroll->horizontalScrollBar()->isVisible(); })) << size.width();
    QTest::qWait(100);
    for (QWidget* way : ways) {
      if (!scroll->isAncestorOf(way)) continue;
      scroll->ensureWidgetVisible(way);
      EXPECT_EQ(way->visibleRegion().boundingRect(), way->rect()) << size.width() << ": " << way->accessibleName().toStdString();
    }
    EXPECT_EQ(scroll->verticalScrollBar()->isVisible(), size.height() < 800) << size.height();
  }
}

TEST_F(LectureTest, LeavingItLeadsBackToThePageThatWasLeftForIt) {
  openSample();
  ASSERT_TRUE(settle());
  window->showPage(MainWindow::Page::inspect);
  for (const auto page : {MainWindow::Page::compare, MainWindow::Page::inspect}) {
    window->showPage(page);
    window->showPage(MainWindow::Page::lecture);
    ASSERT_TRUE(settle());
    press(Qt::Key_Escape);
    EXPECT_EQ(window->page(), page);
    EXPECT_TRUE(window->rows().tools().isVisible()) << "and the lecture is over";
  }
}

TEST_F(LectureTest, TheFullCacheHasTheWholeBudget) {
  openSample();
  const QSlider* slider = window->lectureMode().row().budgetSlider();
  viz::Selection with_budget = window->workspace().selection();
  with_budget.lane = 1;
  window->workspace().setSelection(with_budget);
  window->controller().setLaneSpec(1, "h2o:slots=6");
  ASSERT_TRUE(settle());
  ASSERT_EQ(slider->value(), 6);
  window->workspace().setSelection({});
  ASSERT_TRUE(settle());
  EXPECT_FALSE(slider->isEnabled());
  EXPECT_EQ(slider->value(), slider->maximum()) << "at its left end it would say that next to nothing is kept";
  EXPECT_EQ(slider->maximum(), snapshot().n_prompt);
  window->workspace().setSelection(with_budget);
  ASSERT_TRUE(settle());
  EXPECT_EQ(slider->value(), 6);
}

TEST_F(LectureTest, TheTourHasSixStopsOnPartsThatShow) {
  window->firstSteps().startTour();
  ASSERT_TRUE(settle());
  Tour* tour = window->firstSteps().tour();
  ASSERT_NE(tour, nullptr);
  EXPECT_EQ(tour->stops(), 6);
  QStringList said;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(tour->isVisible());
    EXPECT_TRUE(window->centralWidget()->rect().contains(tour->geometry())) << i;
    said << tour->text();
    tour->goTo(i + 1);
    QApplication::processEvents();
  }
  said.removeDuplicates();
  EXPECT_EQ(said.size(), 6);
  EXPECT_FALSE(tour->isVisible()) << "it ends after the last stop";
}

TEST_F(LectureTest, NothingOnTheScreenIsSmallerThanTwentyTwoPixels) {
  window->resize(1280, 800);
  openSample();
  const std::vector<testing::Ink> inks = testing::inksOf(*window);
  EXPECT_GT(inks.size(), 20U);
  for (const testing::Ink& ink : inks)
    EXPECT_GE(std::lround(ink.pixels), 22) << ink.text.toStdString() << " in " << ink.where.toStdString();
}

TEST_F(LectureTest, TheSampleBeginsAtTheEndOfItsTextWithNothingTakenAway) {
  openSample();
  EXPECT_EQ(window->workspace().stepRecord()->position, snapshot().n_prompt - 1);
  for (int h = 0; h < viz::n_heads_total(snapshot()); ++h) {
    const auto now = viz::categories_of(snapshot(), *window->workspace().lane(), window->workspace().step(), h);
    EXPECT_EQ(std::ranges::count(now, Category::evicted), 0) << h;
  }
  EXPECT_EQ(slotWords(), "52 of 52 slots · 100 % of the text · 312.0 KiB") << slotWords().toStdString();
}

TEST_F(LectureTest, AProjectorShowsSixLinesOfALongText) {
  window->showPage(MainWindow::Page::lecture);
  window->resize(1280, 800);
  ASSERT_TRUE(settle());
  const PromptEditor& text = window->lectureMode().page().prompt().editor();
  std::set<int> lines;
  for (int token = 0; token < snapshot().n_prompt; ++token)
    for (const QRectF& rect : text.rectsOf(token))
      if (rect.top() >= 0 && rect.bottom() <= text.viewport()->height()) lines.insert(static_cast<int>(rect.top()));
  EXPECT_GE(lines.size(), 6U);
}

TEST_F(LectureTest, AQuarterOfAShortTextLeavesRoomForHeavyTokens) {
  openSample();
  window->controller().setPrompt("The cat sat on the mat because it");
  ASSERT_TRUE(waitFor([this] { return snapshot().n_prompt == 11 && snapshot().phase == RunPhase::idle; }, 30000));
  window->lectureMode().row().budgetSlider()->setValue(3);
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes[1].slots_asked == 3 && snapshot().phase == RunPhase::idle; }, 30000)) << "a quarter";
  ASSERT_TRUE(settle());
  window->lectureMode().guide().goTo("heavy");
  int n_heavy = 0;
  for (int h = 0; h < viz::n_heads_total(snapshot()); ++h) {
    const auto now = viz::categories_of(snapshot(), *window->workspace().lane(), window->workspace().step(), h);
    n_heavy += std::ranges::count(now, Category::kept) > 0;
  }
  EXPECT_EQ(n_heavy, viz::n_heads_total(snapshot()));
  EXPECT_TRUE(window->lectureMode().caption().text().contains("ranks the tokens: 1 token of"))
      << window->lectureMode().caption().text().toStdString();
}

TEST_F(LectureTest, PageDownGoesThroughTheScenesWithTheNumbersOfTheScreen) {
  openSample();
  window->controller().setLaneSpec(1, "h2o:ratio=0.25,sinks=2");
  ASSERT_TRUE(waitFor([this] { return snapshot().phase == RunPhase::idle && snapshot().lanes[1].slots_asked == 13; }, 30000));
  ASSERT_TRUE(settle());
  LectureGuide& guide = window->lectureMode().guide();
  const QStringList wanted = {"cache", "budget", "sink", "heavy", "recent", "evicted"};
  for (int i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(qs(guide.at(guide.scene()).id), wanted[i]);
    EXPECT_EQ(window->workspace().emphasis(), guide.scenes()[i].emphasis);
    press(Qt::Key_PageDown);
  }
  press(Qt::Key_PageUp);
  ASSERT_EQ(qs(guide.at(guide.scene()).id), QString("evicted"));
  const int head = viz::head_index(snapshot(), *selection().layer, *selection().kv_head);
  const auto now = viz::categories_of(snapshot(), snapshot().lanes[1], window->workspace().step(), head);
  const auto n = std::count(now.begin(), now.end(), Category::evicted);
  ASSERT_GT(n, 0);
  EXPECT_TRUE(window->lectureMode().caption().text().contains(QString("%1 tokens left").arg(n)))
      << window->lectureMode().caption().text().toStdString();
  // Another step, other numbers.
  const QString before = window->lectureMode().caption().text();
  viz::Selection earlier = selection();
  earlier.step = 20;
  window->workspace().setSelection(earlier);
  EXPECT_NE(window->lectureMode().caption().text(), before);
}

TEST_F(LectureTest, ASceneThatLooksElsewhereComesBack) {
  openSample();
  viz::Selection before = selection();
  before.lane = 3;  // the run of the sample that merges
  window->workspace().setSelection(before);
  before = selection();
  window->lectureMode().guide().goTo("merged");
  EXPECT_NE(selection(), before) << "another head tells most of it";
  EXPECT_EQ(selection().lane, before.lane);
  const auto now = viz::categories_of(snapshot(), *window->workspace().lane(), window->workspace().step(),
                                      viz::head_index(snapshot(), *selection().layer, *selection().kv_head));
  EXPECT_GT(std::count(now.begin(), now.end(), Category::merged), 0);
  window->lectureMode().guide().goTo("cache");
  EXPECT_EQ(selection(), before);
}

TEST_F(LectureTest, BarsWithoutHistoryOfferToCaptureIt) {
  openSample();
  viz::Selection s = selection();
  s.lane = 1;
  s.step.reset();  // where tokens are missing
  window->workspace().setSelection(s);
  LectureBars& bars = window->lectureMode().page().attention();
  ASSERT_FALSE(bars.shown().empty());
  EXPECT_FALSE(bars.captureButton().isVisible()) << "the history is kept";
  window->controller().setHistory(false);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(waitFor([this] { return !snapshot().history && snapshot().phase == RunPhase::idle; }, 30000));
  ASSERT_TRUE(settle());
  for (const QSize& size : {QSize(1280, 800), QSize(1600, 1000)}) {
    window->resize(size);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(bars.captureButton().isVisible());
    EXPECT_TRUE(std::isnan(bars.shown()[0].reference));
    const QString text = bars.captureButton().text();
    EXPECT_TRUE(text.contains("capture now (")) << text.toStdString();
    EXPECT_GE(bars.captureButton().width(), bars.captureButton().fontMetrics().horizontalAdvance(text)) << "nothing is cut";
    EXPECT_LE(bars.captureButton().geometry().right(), bars.width() / 2 + 60) << "beside the name of the run";
    if (const QString folder = qEnvironmentVariable("KVSCOPE_STORY_PICTURES"); !folder.isEmpty())
      window->exports().picture().save(QString("%1/lecture-capture-%2.png").arg(folder).arg(size.width()));
  }
  QTest::mouseClick(&bars.captureButton(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([this] { return snapshot().history && snapshot().phase == RunPhase::idle; }, 30000));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bars.captureButton().isVisible());
  EXPECT_FALSE(std::isnan(bars.shown()[0].reference));
}

TEST_F(LectureTest, LeavingItLeavesNothingBehind) {
  openSample();
  window->lectureMode().guide().goTo("sink");
  EXPECT_TRUE(window->workspace().emphasis());
  const QSize size = window->size();
  press(Qt::Key_1, Qt::AltModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
  EXPECT_FALSE(window->lectureMode().on());
  EXPECT_FALSE(window->workspace().emphasis());
  EXPECT_TRUE(window->rows().tools().isVisible());
  EXPECT_EQ(window->size(), size);
  EXPECT_EQ(QFontInfo(window->work().prompt().font()).pixelSize(), 13);
  EXPECT_EQ(window->canvas("compare")->scale(), 1);
  const int scene = window->lectureMode().guide().scene();
  press(Qt::Key_PageDown);
  EXPECT_EQ(window->lectureMode().guide().scene(), scene) << "Page Down belongs to the panels again";
}

TEST_F(LectureTest, AllMenusAreBehindOneButton) {
  openSample();
  const QList<QAction*> behind = window->lectureMode().row().menuButton()->menu()->actions();
  EXPECT_EQ(behind, window->findChild<QMenuBar*>()->actions());
  EXPECT_GE(behind.size(), 7);
}

TEST_F(LectureTest, AClickOnAWordSelectsItsTokensAndEvictsThemByHand) {
  openSample();
  PromptEditor& editor = window->lectureMode().page().prompt().editor();
  const qsizetype at = editor.exactText().indexOf("cat");
  ASSERT_GT(at, 0);
  const auto [first, last] = editor.spans().tokens(static_cast<int>(at), static_cast<int>(at) + 3);
  ASSERT_LT(first, last) << "a word of two tokens";
  const auto click = [&](int token) {
    QTest::mouseClick(editor.viewport(), Qt::LeftButton, {}, editor.rectsOf(token).front().center().toPoint());
  };
  EXPECT_EQ(buttonOf(*window, "Evict"), nullptr) << "nothing is selected";
  for (const int token : {first, last}) {
    window->workspace().setSelection([this] {
      viz::Selection none = selection();
      none.tokens.reset();
      return none;
    }());
    click(token);
    ASSERT_TRUE(selection().tokens);
    EXPECT_EQ(*selection().tokens, (viz::TokenRange{first, last}));
  }
  EXPECT_FALSE(editor.textCursor().hasSelection()) << "it is still a click that places the caret";
  QPushButton* evict = buttonOf(*window, "Evict");
  ASSERT_NE(evict, nullptr);
  EXPECT_EQ(evict->text(), "Evict in all heads (E)") << "a click does not begin to write";
  QTest::mouseDClick(editor.viewport(), Qt::LeftButton, {}, editor.rectsOf(first).front().center().toPoint());
  EXPECT_EQ(QApplication::focusWidget(), &editor);
  EXPECT_EQ(evict->text(), "Evict in all heads (Esc, E)") << "E is a letter here";
  const QString before = editor.exactText();
  press(Qt::Key_Escape);
  EXPECT_NE(QApplication::focusWidget(), &editor);
  EXPECT_EQ(evict->text(), "Evict in all heads (E)");
  const auto forked = [this] {
    return snapshot().lanes.size() == 5 && snapshot().phase == RunPhase::idle && window->workspace().lane()->fork_of >= 0;
  };
  press(Qt::Key_E);
  ASSERT_TRUE(waitFor(forked, 30000));
  EXPECT_EQ(editor.exactText(), before);
  EXPECT_EQ(window->lectureMode().page().textPanel().facts(), "by hand: «·cat» evicted in all heads");
  EXPECT_FALSE(evict->isVisible()) << "it is gone already";
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 4 && snapshot().phase == RunPhase::idle; }, 30000));
  // The same by mouse, from where the text is written.
  click(first);
  ASSERT_TRUE(evict->isVisible());
  QTest::mouseClick(evict, Qt::LeftButton);
  ASSERT_TRUE(waitFor(forked, 30000));
  EXPECT_NE(QApplication::focusWidget(), &editor) << "Ctrl+Z would be about the letters there";
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 4 && snapshot().phase == RunPhase::idle; }, 30000));
  EXPECT_EQ(editor.exactText(), before);
  QTest::mouseClick(editor.viewport(), Qt::LeftButton, {}, QPoint(editor.viewport()->width() / 2, editor.viewport()->height() - 3));
  EXPECT_FALSE(selection().tokens) << "beside the text nothing is meant";
}

TEST_F(LectureTest, OneKeyEditsTheTokenAtTheCursor) {
  openSample();
  CanvasWidget& atlas = window->lectureMode().atlas();
  atlas.setFocus();
  press(Qt::Key_Home);
  ASSERT_FALSE(selection().tokens) << "the cursor stands there, and nothing is selected";
  press(Qt::Key_E);
  ASSERT_TRUE(selection().tokens);
  EXPECT_EQ(*selection().tokens, (viz::TokenRange{0, 0}));
  EXPECT_TRUE(waitFor([this] { return snapshot().lanes.size() == 5 && snapshot().phase == RunPhase::idle; }, 30000));
}

TEST_F(LectureTest, ABudgetMovedByKeyDoesNotJumpBack) {
  openSample();
  QSlider* slider = window->lectureMode().row().budgetSlider();
  slider->setFocus();
  const int before = slider->value();
  for (int i = 0; i < 12; ++i) {
    QTest::keyClick(slider, Qt::Key_Left);
    QTest::qWait(45);
    EXPECT_EQ(slider->value(), before - i - 1);
  }
  ASSERT_TRUE(waitFor([&] { return snapshot().lanes[1].slots_asked == before - 12; }, 30000));
}

TEST_F(LectureTest, ABookmarkAndAnExportAreSaid) {
  openSample();
  EXPECT_FALSE(window->rows().passing().isVisible());
  press(Qt::Key_B, Qt::ControlModifier);
  EXPECT_TRUE(window->rows().passing().isVisible());
  EXPECT_TRUE(window->rows().passing().text().startsWith("Bookmarked: step 51 · L4 · H1")) << window->rows().passing().text().toStdString();
  QTemporaryDir folder;
  FileDialogAnswer answer(folder.filePath("a.png"), "whole window");
  press(Qt::Key_E, Qt::ControlModifier);
  ASSERT_TRUE(answer.answered());
  EXPECT_TRUE(window->rows().passing().text().startsWith("Exported to ")) << window->rows().passing().text().toStdString();
  EXPECT_GE(QFontInfo(window->rows().passing().font()).pixelSize(), 18);
  ASSERT_TRUE(waitFor([this] { return !window->rows().passing().isVisible(); }, 8000)) << "they go by themselves";
}

TEST_F(LectureTest, EscapeLeavesItFromTheComparisonToo) {
  window->lectureMode().openLesson(builtInLesson(3));
  LectureGuide& guide = window->lectureMode().guide();
  const auto arrived = [&] { return waitFor([&] { return !guide.waiting() && snapshot().phase == RunPhase::idle; }, 60000) && settle(); };
  ASSERT_TRUE(arrived());
  const int last = guide.nScenes() - 1;
  while (guide.scene() < last) {
    press(Qt::Key_Space);
    ASSERT_TRUE(arrived());
  }
  ASSERT_TRUE(guide.at(last).compare);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  press(Qt::Key_5, Qt::AltModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(guide.scene(), last) << "who asks for the lecture is in it";
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  press(Qt::Key_C);
  EXPECT_EQ(guide.scene(), last - 1) << "back from the comparison";
  EXPECT_EQ(window->page(), MainWindow::Page::lecture);
  press(Qt::Key_C);
  ASSERT_EQ(window->page(), MainWindow::Page::compare);
  press(Qt::Key_Escape);
  EXPECT_FALSE(window->lectureMode().on());
  EXPECT_TRUE(window->isVisible());
}

TEST_F(LectureTest, ARemoteControlTurnsTheScreenBlackUntilItsNextKey) {
  openSample();
  const int scene = window->lectureMode().guide().scene();
  const auto n_marks = window->model().bookmarks.all().size();
  for (const int key : {Qt::Key_B, Qt::Key_Period}) {
    press(key);
    auto* black = window->findChild<QWidget*>("blackScreen");
    ASSERT_NE(black, nullptr);
    EXPECT_TRUE(black->isVisible());
    EXPECT_EQ(black->size(), window->size());
    window->resize(window->width() + 10, window->height());
    EXPECT_EQ(black->size(), window->size());
    press(Qt::Key_PageDown);
    EXPECT_FALSE(black->isVisible());
    EXPECT_EQ(window->lectureMode().guide().scene(), scene) << "the key does nothing else";
    EXPECT_TRUE(window->lectureMode().atlas().hasFocus()) << "and keys act as before";
  }
  EXPECT_EQ(window->model().bookmarks.all().size(), n_marks);
}

TEST_F(LectureTest, EscapeLeavesTheBudget) {
  openSample();
  press(Qt::Key_B, Qt::AltModifier);
  QSlider* slider = window->lectureMode().row().budgetSlider();
  ASSERT_TRUE(slider->hasFocus());
  const int before = slider->value();
  press(Qt::Key_Escape);
  EXPECT_FALSE(slider->hasFocus());
  EXPECT_EQ(window->page(), MainWindow::Page::lecture);
  press(Qt::Key_Home);
  EXPECT_EQ(slider->value(), before) << "keys act on the picture";
}

TEST_F(LectureTest, ABudgetThatIsTooSmallIsShownAsTheOneThatRuns) {
  openSample();
  QSlider* slider = window->lectureMode().row().budgetSlider();
  slider->setSliderDown(true);
  slider->setValue(1);
  const auto asked = [this] { return snapshot().lanes[static_cast<std::size_t>(selection().lane)].slots_asked; };
  const int before = asked();
  ASSERT_TRUE(waitFor([&] { return asked() != before && !window->workspace().stale(); }, 30000));
  ASSERT_TRUE(settle());
  ASSERT_GT(asked(), 1) << "sinks, recent tokens and one more";
  slider->setSliderDown(false);
  EXPECT_EQ(slider->value(), asked());
  EXPECT_TRUE(slotWords().startsWith(QString("%1 of ").arg(asked())) && slotWords().endsWith(", the least")) << slotWords().toStdString();
  EXPECT_FALSE(slotLabel().toolTip().isEmpty());
}

TEST_F(LectureTest, TheLeastIsSaidOnlyOfTheLeast) {
  openSample();
  const auto ask = [this](const char* spec, int got) {
    window->controller().setLaneSpec(1, spec);
    ASSERT_TRUE(waitFor([&] { return snapshot().lanes[1].slots_asked == got && snapshot().phase == RunPhase::idle; }, 30000)) << spec;
    ASSERT_TRUE(settle());
  };
  ask("h2o:slots=3,sinks=2", 5);  // half of what is asked for is protected as recent
  EXPECT_TRUE(slotWords().endsWith(", asked 3")) << slotWords().toStdString();
  ask("h2o:slots=1,sinks=2", 4);
  EXPECT_TRUE(slotWords().endsWith(", the least")) << slotWords().toStdString();
}

TEST_F(LectureTest, TheBudgetOfTheLectureIsThatOfTheToolbar) {
  openSample();
  QSlider* slider = window->lectureMode().row().budgetSlider();
  EXPECT_EQ(slider->value(), slider->maximum());
  slider->setValue(20);
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes[1].slots_asked == 20 && snapshot().phase == RunPhase::idle; }, 30000));
  EXPECT_EQ(window->rows().tools().budgetSlider()->value(), 20);
  EXPECT_EQ(window->model().undo.now().count(), 1);
}

}  // namespace
}  // namespace kvscope
