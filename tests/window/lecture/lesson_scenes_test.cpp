// SPDX-License-Identifier: Apache-2.0
// What the captions of the built-in lessons name is to be seen without touching anything.
#include <algorithm>
#include <set>

#include <QLabel>
#include <QMenu>
#include <QRegularExpression>
#include <QToolButton>
#include <QToolTip>

#include "app/window/lecture/lecture_answer.h"
#include "app/window/lecture/lecture_caption.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/prompt_panel_samples.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "window/lecture/lesson_fixture.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

class LessonScene : public LessonTest, public ::testing::WithParamInterface<int> {
 protected:
  /// Stands in the part of the text that one sees.
  bool seen(int token) {
    const PromptEditor& editor = mode().page().prompt().editor();
    return std::ranges::any_of(editor.rectsOf(token),
                               [&](const QRectF& r) { return editor.viewport()->rect().contains(r.center().toPoint()); });
  }
  /// Tokens that the caption quotes and the text does not show as meant. Words of the answers stand below the text.
  std::string unmarked(const viz::Facts& facts) {
    static const QRegularExpression quote("(«[^»]*»)(?: #([0-9]+))?");
    const QString words = mode().caption().text();
    std::string out;
    for (auto it = quote.globalMatch(words); it.hasNext();) {
      const QRegularExpressionMatch match = it.next();
      const std::string text = match.captured(1).toStdString();
      if (std::ranges::any_of(std::array{"says", "reference_says", "choice", "reference_choice"},
                              [&](const char* name) { return facts.at(name).text == text; }))
        continue;
      const int place = match.captured(2).isEmpty() ? -1 : match.captured(2).toInt();
      bool marked = false;
      for (int token = 0; token < snapshot().n_prompt && !marked; ++token)
        marked = (place < 0 || token == place) && viz::quoted(viz::token_text(snapshot().tokens, token)) == text &&
                 viz::has_token(selection(), token) && seen(token);
      if (!marked) out += match.captured().toStdString() + " ";
    }
    return out;
  }
  /// The two runs that the caption tells apart are those whose difference is drawn.
  bool differenceIsOfThoseNamed(const viz::Facts& facts) {
    const std::string words = mode().caption().text().toStdString(), closest = facts.at("closest").text, worst = facts.at("worst").text;
    if (words.find(closest) == std::string::npos || words.find(worst) == std::string::npos || closest == worst) return true;
    const std::vector<viz::Option> offered = window->canvas("compare")->view().options();
    const auto other = std::ranges::find(offered, "other run", &viz::Option::name);
    if (other == offered.end() || other->current < 1) return false;
    const auto title = [this](int lane) { return snapshot().lanes.at(static_cast<std::size_t>(lane)).title; };
    const std::set drawn = {title(selection().lane), title(other->current - 1)};
    return drawn == std::set{closest, worst};
  }
};

TEST_P(LessonScene, WhatItsCaptionNamesIsMarkedInTheText) {
  window->resize(1280, 800);
  ASSERT_TRUE(settle());
  open(builtInLesson(static_cast<std::size_t>(GetParam())));
  for (int i = 0; i < guide().nScenes(); ++i) {
    guide().goTo(i);
    ASSERT_TRUE(arrived());
    const Scene& scene = guide().at(i);
    const std::string where = guide().lesson().name + " " + scene.id + ": " + mode().caption().text().toStdString();
    if (scene.look == Scene::Look::reads) {
      ASSERT_TRUE(selection().tokens) << where;
      const QString text = qs(viz::token_text(snapshot().tokens, selection().tokens->first));
      EXPECT_TRUE(std::ranges::any_of(text, [](QChar c) { return c.isLetterOrNumber(); })) << text.toStdString() << " " << where;
    }
    const viz::Facts facts = viz::lecture_facts(snapshot(), selection());
    if (scene.compare) {
      ASSERT_TRUE(settle());
      EXPECT_TRUE(differenceIsOfThoseNamed(facts)) << where;
    }
    if (scene.read) {
      EXPECT_TRUE(seen(window->workspace().lane()->steps[static_cast<std::size_t>(window->workspace().step())]->position)) << where;
    }
    if (scene.compare || scene.memory) continue;
    EXPECT_EQ(unmarked(facts), "") << where;
    for (const QSize& size : {QSize(1920, 1080), QSize(1280, 800)}) {
      window->resize(size);
      ASSERT_TRUE(settle());
      EXPECT_EQ(unmarked(facts), "") << size.width() << " " << where;
    }
    const auto names = [&](const std::string& fact) {
      return std::ranges::any_of(scene.variants,
                                 [&](const Scene::Variant& v) { return (v.message + v.text).find("{" + fact) != std::string::npos; });
    };
    EXPECT_TRUE(!names("first_attention") || seen(0)) << where;
    if (!names("sinks")) continue;
    const PromptEditor& editor = mode().page().prompt().editor();
    int n = 0;
    for (int token = 0; token < snapshot().n_prompt; ++token)
      n += editor.colours().category(token) == Category::sink && seen(token) ? 1 : 0;
    EXPECT_EQ(n, static_cast<int>(facts.at("sinks").number)) << where;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LessonScene, ::testing::Range(1, 10));

/// What was compressed once grows with the answer: two numbers that differ without a word are a riddle.
TEST_F(LessonTest, SlotsBeyondTheBudgetAreThoseOfTheAnswer) {
  window->resize(1280, 800);
  open(builtInLesson(4));
  guide().goTo(QString("sees"));
  ASSERT_TRUE(arrived());
  EXPECT_TRUE(slotWords().startsWith("33 + 1 of the answer = 34 slots")) << slotWords().toStdString();
}

TEST_F(LessonTest, TooltipsAreAsLargeAsAllElse) {
  open(builtInLesson(4));
  EXPECT_GE(QToolTip::font().pixelSize(), 22);
  window->showPage(MainWindow::Page::inspect);
  EXPECT_EQ(QToolTip::font().pixelSize(), 12);
}

TEST_F(LessonTest, SamplesStandBelowTheWordsOfAnEmptyText) {
  window->resize(1280, 800);
  window->showPage(MainWindow::Page::lecture);
  window->controller().setPrompt("");
  ASSERT_TRUE(settle());
  const PromptEditor& editor = mode().page().prompt().editor();
  const auto* samples = mode().page().prompt().findChild<PromptSamples*>();
  ASSERT_TRUE(samples->isVisible());
  const QRect words = QFontMetrics(editor.document()->defaultFont())
                          .boundingRect(QRect(0, 0, editor.width(), 1000), Qt::TextWordWrap, editor.placeholderText());
  EXPECT_GE(samples->geometry().top(), editor.geometry().top() + words.height());
}

/// A policy that must see the whole prompt has no place in a scene that reads token by token.
TEST_F(LessonTest, APolicyThatIsRefusedSpoilsNoLaterScene) {
  open(builtInLesson(8));
  guide().goTo(QString("stream"));
  ASSERT_TRUE(arrived());
  const QString before = mode().caption().text();
  for (const bool next : {false, true}) {
    window->controller().setLaneSpec(1, "compactor:ratio=0.25");
    ASSERT_TRUE(waitFor([this] { return snapshot().phase == RunPhase::failed; }, 30000));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window->rows().messages().text().contains("compactor")) << window->rows().messages().text().toStdString();
    EXPECT_TRUE(window->rows().messages().isVisible()) << "the reason stays while the scene does";
    EXPECT_TRUE(mode().caption().text().startsWith("Stream: not here.")) << mode().caption().text().toStdString();
    next ? press(Qt::Key_PageDown) : guide().goTo(QString("stream"));
    ASSERT_TRUE(arrived());
    EXPECT_EQ(snapshot().lanes[1].policy, "h2o");
    EXPECT_FALSE(window->rows().messages().isVisible());
    const QString now = mode().caption().text();
    EXPECT_TRUE(next ? now.startsWith("The same budget, a harder task.") : now == before) << now.toStdString();
  }
}

/// The full cache, which the page of the comparison selects, has lost nothing.
TEST_F(LessonTest, AskedWhyOverAComparisonTheRunThatLostTheTokenAnswers) {
  open(builtInLesson(5));
  guide().goTo(QString("compare"));
  ASSERT_TRUE(arrived());
  press(Qt::Key_W);
  EXPECT_TRUE(mode().caption().text().startsWith("Why is «4» gone from SnapKV? It left layer 4, head 3 in step 0: "))
      << mode().caption().text().toStdString();
  EXPECT_LE(mode().caption().lines(), 2);
  press(Qt::Key_W);
  EXPECT_FALSE(mode().caption().text().startsWith("Why"));
}

/// Scenes about the user's own text: the first two show one head of one run.
TEST_F(LessonTest, ASceneAboutTheBudgetMarksIt) {
  openSample();
  window->showPage(MainWindow::Page::lecture);
  open(builtInLesson(0));
  const QImage cache = aboveCaption();
  EXPECT_FALSE(slotLabel().property("marked").toBool());
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  ASSERT_EQ(id(), "budget");
  EXPECT_TRUE(slotLabel().property("marked").toBool());
  EXPECT_NE(aboveCaption(), cache);
}

TEST_F(LessonTest, TheAnswerIsEmptyUntilTheQuestionIsRead) {
  window->resize(1280, 800);
  open(builtInLesson(8));
  const auto* answer = mode().page().findChild<LectureAnswer*>();
  ASSERT_NE(answer, nullptr);
  const auto shown = [&](const char* scene) {
    guide().goTo(QString(scene));
    EXPECT_TRUE(arrived());
    return !answer->rectOf(0).isEmpty();
  };
  EXPECT_TRUE(shown("once"));
  EXPECT_FALSE(shown("stream")) << "half of the text";
  EXPECT_TRUE(answer->accessibleDescription().contains("no answer yet"));
  EXPECT_TRUE(shown("stream-answer"));
}

/// A presenter's remote control has two keys to page with.
TEST_F(LessonTest, PagingGoesOnWithTheNextLessonAndBack) {
  window->resize(1280, 800);
  open(builtInLesson(5));
  const auto* where = mode().caption().findChild<QLabel*>("lectureSmall");
  const auto last = [this] {
    guide().goTo(guide().nScenes() - 1);
    EXPECT_TRUE(arrived());
  };
  last();
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(guide().lesson().path, builtInLesson(6).toStdString());
  EXPECT_EQ(guide().scene(), 0);
  EXPECT_EQ(where->text(), QString("New: 1 of %1").arg(guide().nScenes()));
  press(Qt::Key_PageUp);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(guide().lesson().path, builtInLesson(5).toStdString());
  EXPECT_EQ(guide().scene(), guide().nScenes() - 1) << "a key too many is taken back";
  open(builtInLesson(1));
  press(Qt::Key_PageUp);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(guide().lesson().path, builtInLesson(1).toStdString());
  open(builtInLesson(9));
  last();
  press(Qt::Key_Space);
  EXPECT_EQ(guide().lesson().path, builtInLesson(9).toStdString());
  EXPECT_TRUE(window->rows().passing().text().contains("Esc leaves")) << "what goes on is said";
}

TEST_F(LessonTest, PagingTakesNobodysTextAway) {
  openSample();
  open(builtInLesson(0));
  const std::string mine = snapshot().prompt;
  guide().goTo(guide().nScenes() - 1);
  ASSERT_TRUE(arrived());
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(snapshot().prompt, mine);
  EXPECT_TRUE(window->rows().passing().text().contains("N begins")) << window->rows().passing().text().toStdString();
}

TEST_F(LessonTest, WhoLeavesTheLectureHasTheirOwnWorkAgain) {
  openSample();
  const std::string mine = snapshot().prompt;
  window->showPage(MainWindow::Page::inspect);
  for (const bool by_key : {true, false}) {
    open(builtInLesson(1));
    ASSERT_NE(snapshot().prompt, mine);
    if (by_key) {
      press(Qt::Key_Escape);
    } else {
      for (QToolButton* b : mode().row().findChildren<QToolButton*>())
        if (b->accessibleName().startsWith("Leave the lecture")) b->click();
    }
    ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == mine; }, 60000)) << by_key;
    EXPECT_EQ(window->page(), MainWindow::Page::inspect) << by_key;
    EXPECT_TRUE(window->isVisible());
    EXPECT_FALSE(mode().on());
  }
  window->showPage(MainWindow::Page::lecture);
  ASSERT_TRUE(arrived());
  press(Qt::Key_Escape);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect) << "a lecture about the user's own text, too";
}

TEST_F(LessonTest, EscapeEndsAReasonBeforeTheLecture) {
  open(builtInLesson(5));
  guide().goTo(QString("compare"));
  ASSERT_TRUE(arrived());
  const QString caption = mode().caption().text();
  press(Qt::Key_W);
  ASSERT_NE(mode().caption().text(), caption);
  press(Qt::Key_Escape);
  ASSERT_TRUE(mode().on());
  EXPECT_EQ(mode().caption().text(), caption);
  press(Qt::Key_Escape);
  EXPECT_FALSE(mode().on());
}

TEST_F(LessonTest, TheNotesHaveAKey) {
  open(builtInLesson(1));
  const auto notes = [] {
    return std::ranges::any_of(QApplication::topLevelWidgets(),
                               [](const QWidget* w) { return w->isVisible() && w->windowTitle() == "Speaker notes"; });
  };
  EXPECT_FALSE(notes());
  press(Qt::Key_S);
  EXPECT_TRUE(notes());
}

/// Bars stand over the text there: what cannot be seen has no keys.
TEST_F(LessonTest, WhereNoTextIsSeenEscapeLeavesAtOnce) {
  openSample();
  window->showPage(MainWindow::Page::inspect);
  open(builtInLesson(1));
  mode().page().prompt().editor().setFocus();
  ASSERT_TRUE(mode().page().prompt().editor().hasFocus());
  guide().goTo(QString("size"));
  ASSERT_TRUE(arrived());
  press(Qt::Key_Escape);
  EXPECT_FALSE(mode().on());
}

TEST_F(LessonTest, TheListOfLessonsMarksTheOneThatRuns) {
  const auto marked = [this] {
    QMenu* menu = mode().caption().findChild<QToolButton*>()->menu();
    Q_EMIT menu->aboutToShow();
    QStringList out;
    for (const QAction* action : menu->actions())
      if (action->isChecked()) out << action->text();
    return out;
  };
  open(builtInLesson(2));
  EXPECT_EQ(marked(), QStringList("The first tokens"));
  open(builtInLesson(3));
  EXPECT_EQ(marked(), QStringList("Heavy hitters"));
  for (QAction* action : mode().caption().findChild<QToolButton*>()->menu()->actions())
    if (action->text() == "Heavy hitters") action->trigger();
  ASSERT_TRUE(arrived());
  EXPECT_EQ(marked(), QStringList("Heavy hitters"));
}

}  // namespace
}  // namespace kvscope
