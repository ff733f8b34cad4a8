// SPDX-License-Identifier: Apache-2.0
// Lessons: files of scenes that bring text and runs of their own, shown by paging alone, and what the user had comes back.
// KVSCOPE_STORY_PICTURES names a folder for a picture of every scene.
#include <set>
#include <string>
#include <vector>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QProgressDialog>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QTimer>
#include <QToolButton>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "app/window/commands/commands.h"
#include "app/window/help/welcome_page.h"
#include "app/window/lecture/handout.h"
#include "app/window/lecture/lecture_bars.h"
#include "app/window/lecture/lecture_caption.h"
#include "app/window/lecture/lecture_memory.h"
#include "app/window/lecture/lesson_stage.h"
#include "app/window/lecture/speaker_notes.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "paths.h"
#include "viz/draw/draw.h"
#include "window/lecture/lesson_fixture.h"
#include "window/support/file_dialog.h"
#include "window/support/ink.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

/// Every share in these words stands beside a bar, too: as the same figure. Those of a budget and of a habit, which are not of this step,
/// have no bar.
std::string without_bar(const QString& words, LectureMode& mode, const viz::Facts& facts) {
  QString bars = mode.page().attention().accessibleDescription() + "; " + mode.page().next().accessibleDescription() + "; 100 %; ";
  for (const char* name : {"ratio", "habit_share"}) bars += qs(facts.at(name).text) + "; ";
  static const QRegularExpression share("[<>]?[0-9.]+ %");
  std::string missing;
  for (auto it = share.globalMatch(words); it.hasNext();)
    if (const QString figure = it.next().captured(); !bars.contains(figure)) missing += figure.toStdString() + " ";
  return missing;
}

/// A number of a caption, and what the screen paints that has it, too; empty: it can only be believed.
struct CaptionNumber {
  QString number, painted;
};

QStringList numbers_in(const QString& text) {
  static const QRegularExpression number("(?<![A-Za-z])[0-9]+(?:[\\x{2009}\\x{202f}\\x{a0} ][0-9]{3}\\b)*(?:\\.[0-9]+)?");
  QStringList out;
  for (auto it = number.globalMatch(text); it.hasNext();) out << it.next().captured();
  return out;
}

/// Left out are texts in «», which stand as they are in the text or the answer.
std::vector<CaptionNumber> caption_numbers(MainWindow& window) {
  const LectureCaption& caption = window.lectureMode().caption();
  const QRectF below(caption.mapTo(&window, QPoint()), caption.size());
  std::map<QString, QString> painted;
  for (const testing::Ink& ink : testing::inksOf(window))
    if (!below.contains(ink.box.center()) && ink.shown.intersects(ink.box.toRect()))
      for (const QString& number : numbers_in(ink.text)) painted.emplace(number, ink.text);
  std::vector<CaptionNumber> out;
  for (const QString& number : numbers_in(caption.text().remove(QRegularExpression("«[^»]*»")))) {
    const auto it = painted.find(number);
    out.push_back({number, it == painted.end() ? QString() : it->second});
  }
  return out;
}

std::string only_in_words(MainWindow& window) {
  std::string missing;
  for (const CaptionNumber& n : caption_numbers(window))
    if (n.painted.isEmpty()) missing += n.number.toStdString() + " ";
  return missing;
}

/// What the last row cannot read, or is cut to fit.
std::string too_small(MainWindow& window) {
  std::string out;
  for (const testing::Ink& ink : testing::inksOf(window)) {
    if (std::lround(ink.pixels) < 22)
      out += fmt::format("«{}» {:.1f} px in {}; ", ink.text.toStdString(), ink.pixels, ink.where.toStdString());
    if (const QString cut = testing::cutOf(ink); cut.startsWith("cut") && ink.text != "↵")
      out += fmt::format("«{}» cut: {}; ", ink.text.toStdString(), cut.toStdString());
  }
  for (const ElidedLabel* label : window.lectureMode().page().findChildren<ElidedLabel*>())
    if (label->isVisible() && label->shown() != label->text() && !label->text().startsWith("by hand"))
      out += fmt::format("«{}» for «{}»; ", label->shown().toStdString(), label->text().toStdString());
  return out;
}

/// Text of one token that is said by itself or in a frame, in the order of the steps.
std::string answer_in_row(const viz::View& view, int lane) {
  const std::string row = "lane " + std::to_string(lane) + " ";
  std::string out;
  for (const viz::Mark& m : view.marks())
    if (m.kind.starts_with("answer") && m.label.starts_with(row)) out += m.value;
  return out;
}

class BuiltInLesson : public LessonTest, public ::testing::WithParamInterface<int> {};

/// Paged through without touching anything else, every scene has its point on the embedded model, and its caption fits.
TEST_P(BuiltInLesson, PagedThroughShowsEveryScene) {
  const QString path = builtInLesson(static_cast<std::size_t>(GetParam())), name = QFileInfo(path).completeBaseName();
  ASSERT_FALSE(path.isEmpty());
  QStringList left_out;
  QObject::connect(&guide(), &LectureGuide::leftOut, [&](const QString& words) { left_out << words; });
  window->resize(1280, 800);
  open(path);
  QStringList seen, all;
  for (const Scene& scene : guide().scenes()) all << qs(scene.id);
  QImage before;
  for (int i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(arrived()) << i;
    seen << id();
    const Scene& scene = guide().at(guide().scene());
    const std::string where = name.toStdString() + " " + scene.id + ": " + mode().caption().text().toStdString();
    EXPECT_FALSE(mode().caption().text().contains('{')) << where;
    EXPECT_FALSE(mode().caption().text().contains("n/a")) << where;
    EXPECT_FALSE(mode().caption().text().contains("  ")) << where;
    EXPECT_EQ(selection().lane, scene.run.value_or(selection().lane)) << where;
    EXPECT_EQ(window->page(), scene.compare ? MainWindow::Page::compare : MainWindow::Page::lecture) << where;
    EXPECT_LE(mode().caption().lines(), 2) << where;
    EXPECT_EQ(without_bar(mode().caption().text(), mode(), viz::lecture_facts(snapshot(), selection())), "") << where;
    EXPECT_EQ(only_in_words(*window), "") << where;
    EXPECT_EQ(mode().page().memory().isVisible(), scene.memory) << where;
    for (const QSize& size : {QSize(1920, 1080), QSize(1280, 800)}) {
      window->resize(size);
      ASSERT_TRUE(settle());
      EXPECT_EQ(too_small(*window), "") << size.width() << " " << where;
      EXPECT_LE(mode().caption().lines(), 2) << size.width() << " " << where;
    }
    if (scene.compare) {
      const auto marks = window->canvas("compare")->view().marks();
      EXPECT_TRUE(std::ranges::any_of(marks, [](const viz::Mark& m) { return m.kind == "framed"; })) << "where the fact stands: " << where;
    }
    for (int lane = 0; scene.compare && lane < static_cast<int>(snapshot().lanes.size()); ++lane) {
      viz::Selection of = selection();
      of.lane = lane;
      const std::string row = answer_in_row(window->canvas("compare")->view(), lane);
      const std::string says = viz::lecture_facts(snapshot(), of).at("says").text;
      const std::string whole = viz::quoted(row.starts_with("·") ? row.substr(2) : row);
      // a run that is fed the full cache's text says what comes behind its own first different token to another text
      if (const std::size_t cut = says.find("…"); cut != std::string::npos)
        EXPECT_TRUE(whole.starts_with(says.substr(0, cut)) && whole.size() > says.size() - 3) << whole << " " << says << " " << where;
      else
        EXPECT_EQ(whole, says) << where;
    }
    if (qEnvironmentVariableIsSet("KVSCOPE_STORY_PICTURES")) {
      std::printf("%s\n", where.c_str());
      for (const CaptionNumber& n : caption_numbers(*window)) std::printf("  %s: %s\n", qPrintable(n.number), qPrintable(n.painted));
    }
    picture(QString("%1-%2-%3").arg(name).arg(i + 1).arg(qs(scene.id)));
    const QImage shown = aboveCaption();
    EXPECT_NE(shown, before) << "another thought, the same picture: " << where;
    before = shown;
    if (i + 1 < all.size()) press(Qt::Key_PageDown);
  }
  EXPECT_EQ(seen, all);
  EXPECT_EQ(left_out, QStringList());
}

INSTANTIATE_TEST_SUITE_P(All, BuiltInLesson, ::testing::Range(1, 10));

/// The first lesson is about the run that is looked at.
TEST_F(LessonTest, TheTextOnScreenIsToldOfTheRunThatIsLookedAt) {
  window->resize(1280, 800);
  const auto select_run = [this](int lane) {
    viz::Selection chosen = selection();
    chosen.lane = lane;
    window->workspace().setSelection(chosen);
  };
  const auto n_lanes = static_cast<int>(snapshot().lanes.size());
  ASSERT_GE(n_lanes, 5);
  window->controller().setLaneSpec(1, "streaming:ratio=1");  // nothing has to go
  ASSERT_TRUE(waitFor([this] { return snapshot().phase == RunPhase::idle && snapshot().lanes[1].spec == "streaming:ratio=1"; }, 30000));
  for (int lane = 0; lane < n_lanes; ++lane) {
    open(builtInLesson(0));
    select_run(lane);
    QStringList left_out;
    const auto heard = QObject::connect(&guide(), &LectureGuide::leftOut, [&](const QString& words) { left_out << words; });
    const bool merges = snapshot().lanes[static_cast<std::size_t>(lane)].policy == "keepkv";
    bool merged_shown = false;
    for (int last = -1; last != guide().scene();) {
      ASSERT_TRUE(arrived());
      last = guide().scene();
      merged_shown |= id() == "merged";
      EXPECT_EQ(selection().lane, lane) << id().toStdString();
      const std::string where = id().toStdString() + ": " + mode().caption().text().toStdString();
      EXPECT_LE(mode().caption().lines(), 2) << where;
      EXPECT_EQ(only_in_words(*window), "") << where;
      if (!guide().at(last).compare) {
        EXPECT_EQ(without_bar(mode().caption().text(), mode(), viz::lecture_facts(snapshot(), selection())), "") << where;
      }
      press(Qt::Key_PageDown);
    }
    QObject::disconnect(heard);
    EXPECT_EQ(merged_shown, merges);
    const QString title = qs(snapshot().lanes[static_cast<std::size_t>(lane)].title);
    EXPECT_EQ(left_out.join(' ').contains(QString("Merged (%1)").arg(title)), !merges) << left_out.join(' ').toStdString();
  }
}

TEST_F(LessonTest, ARunThatReadsMergedSlotsAsOneTokenIsNotToldWithVotes) {
  window->showPage(MainWindow::Page::lecture);
  for (const auto& [bias, words] : {std::pair("votes", "votes."), {"none", "are read as one."}}) {
    const std::string spec = std::string("custom:stat=window,merge=keepkv,sinks=4,recent=0.2,ratio=0.3,bias=") + bias;
    window->controller().setLaneSpec(1, qs(spec));
    ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().lanes[1].spec == spec; }, 30000));
    open(builtInLesson(0));
    viz::Selection chosen = selection();
    chosen.lane = 1;
    window->workspace().setSelection(chosen);
    guide().goTo(QString("merged"));
    ASSERT_TRUE(arrived());
    EXPECT_TRUE(mode().caption().text().endsWith(words)) << mode().caption().text().toStdString();
  }
}

TEST_F(LessonTest, ACaptionThatHasNoRoomEndsInDotsAndIsWholeUnderTheMouse) {
  window->showPage(MainWindow::Page::lecture);
  open(builtInLesson(1));
  ASSERT_TRUE(arrived());
  Lesson lesson = guide().lesson();
  std::string text;
  for (int i = 0; i < 120; ++i) text += fmt::format("word{} ", i);
  lesson.scenes.front().variants = {{.conditions = {}, .message = "Too long.", .text = text + "end."}};
  guide().setLesson(lesson);
  ASSERT_TRUE(arrived());
  const auto labels = mode().caption().findChildren<QLabel*>();
  const auto words = std::ranges::find_if(labels, [](const QLabel* l) { return l->text().contains("Too long."); });
  ASSERT_NE(words, labels.end());
  EXPECT_LE(mode().caption().lines(), 3);
  EXPECT_TRUE((*words)->text().contains(QString::fromUtf8(" …</p>"))) << (*words)->text().toStdString();
  EXPECT_TRUE((*words)->toolTip().endsWith("end."));
  EXPECT_TRUE((*words)->accessibleName().endsWith("end."));
  const QString at_first = (*words)->text();
  window->resize(2200, 1000);
  ASSERT_TRUE(settle());
  EXPECT_GT((*words)->text().size(), at_first.size()) << "as much as there is room for";
  guide().next();
  ASSERT_TRUE(arrived());
  EXPECT_TRUE((*words)->toolTip().isEmpty());
}

/// What framed the old text would stand in the new one as if it were meant.
TEST_F(LessonTest, TheNextSceneShowsTheWholeMapAgain) {
  window->showPage(MainWindow::Page::lecture);
  open(builtInLesson(1));
  ASSERT_TRUE(arrived());
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived() && settle());
  const QImage whole = mode().atlas().picture(1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(mode().atlas().takeKey("+"));
  EXPECT_NE(mode().atlas().picture(1), whole);
  press(Qt::Key_PageUp);
  ASSERT_TRUE(arrived());
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived() && settle());
  EXPECT_EQ(mode().atlas().picture(1), whole) << "a slip of the finger is none of the lesson's";
}

TEST_F(LessonTest, AnotherTextIsLookedAtAnew) {
  window->showPage(MainWindow::Page::lecture);
  open(builtInLesson(0));
  viz::Selection chosen = selection();
  chosen.lane = static_cast<int>(snapshot().lanes.size()) - 1;
  window->workspace().setSelection(chosen);
  guide().goTo(QString("missed"));
  ASSERT_TRUE(arrived());
  ASSERT_TRUE(selection().tokens);
  const viz::Selection before = selection();
  const std::string text = snapshot().prompt, cut = text.substr(0, text.find("482") + 4);
  window->controller().setPrompt(qs(cut));  // as far as it goes the same tokens
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == cut; }, 30000));
  ASSERT_TRUE(settle());
  const viz::Facts facts = viz::lecture_facts(snapshot(), selection());
  EXPECT_NE(selection(), before);
  EXPECT_EQ(facts.at("framed").text, facts.at("lost_token").text) << "nothing, where nothing is missed";
  window->controller().setPrompt(qs(text));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == text; }, 30000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(selection(), before) << "its point is where it was";
}

TEST_F(LessonTest, AnotherHeadThanThatOfTheSceneBeforeIsSaid) {
  open(builtInLesson(1));
  const auto facts = [this] { return mode().page().atlasPanel().facts(); };
  std::optional<std::pair<int, int>> before;
  int n_changed = 0;
  for (int i = 0; i < guide().nScenes(); ++i) {
    ASSERT_TRUE(arrived());
    const std::pair now(*selection().layer, *selection().kv_head);
    const bool changed = before && *before != now;
    const QString words = changed ? QString("moved here from L%1 H%2").arg(before->first).arg(before->second) : QString("this head");
    EXPECT_TRUE(facts().contains(words)) << id().toStdString() << ": " << facts().toStdString();
    n_changed += changed;
    before = now;
    if (changed) {
      viz::Selection other = selection();
      other.kv_head = (*other.kv_head + 1) % snapshot().model.n_kv_heads;
      window->workspace().setSelection(other);
      EXPECT_FALSE(facts().contains("moved")) << "the user has chosen this one";
      other.kv_head = now.second;
      window->workspace().setSelection(other);
    }
    press(Qt::Key_PageDown);
  }
  EXPECT_GE(n_changed, 2);
}

TEST_F(LessonTest, TheMenuOfLessonsSaysThatItIsOne) {
  open(builtInLesson(1));
  const auto buttons = mode().caption().findChildren<QToolButton*>();
  ASSERT_EQ(buttons.size(), 1);
  EXPECT_EQ(buttons[0]->accessibleName(), "Lessons");
  EXPECT_EQ(buttons[0]->text(), qs(guide().lesson().name));
  EXPECT_NE(buttons[0]->menu(), nullptr);
  QStringList labels;
  for (const QLabel* label : mode().caption().findChildren<QLabel*>()) labels << label->text();
  EXPECT_TRUE(!labels.filter("New: 1 of ").isEmpty()) << labels.join("|").toStdString();
}

/// Of the numbers those of which scenes speak, as large as the numbers of the four panels.
TEST_F(LessonTest, TheComparisonIsReadFromTheLastRow) {
  window->resize(1280, 800);
  open(builtInLesson(9));
  guide().goTo(QString("late"));
  ASSERT_TRUE(arrived());
  ASSERT_TRUE(mode().on());
  CanvasWidget& canvas = *window->canvas("compare");
  EXPECT_GE(canvas.scale() * 12, 22) << "px of its numbers";
  QStringList columns;
  for (const viz::Mark& m : canvas.view().marks())
    if (m.kind == "column") columns << qs(m.label);
  EXPECT_EQ(columns, QStringList({"answer", "mean KL", "slots"}));
}

TEST_F(LessonTest, TheCardOpensTheFirstOneAndItsStoryHolds) {
  QTest::mouseClick(&window->firstSteps().welcome().lectureCard(), Qt::LeftButton);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(window->page(), MainWindow::Page::lecture);
  EXPECT_EQ(id(), "cache");
  EXPECT_EQ(selection().lane, 0) << "a caption about the full cache stands over the full cache";
  while (id() != "budget") {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  EXPECT_EQ(snapshot().lanes[1].slots_asked, (snapshot().n_prompt + 5) / 10) << "a tenth";
  while (id() != "missed") {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  EXPECT_FALSE(window->workspace().stepRecord()->top1_same);
  EXPECT_TRUE(mode().caption().text().contains("wants «8»")) << mode().caption().text().toStdString();
  const int step = window->workspace().step();
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(window->workspace().step(), step) << "the answer is shown where it changes";
  EXPECT_FALSE(selection().tokens) << "and nothing leads the eye to the head's reason any more";
  EXPECT_TRUE(mode().caption().text().contains("One digit turns")) << mode().caption().text().toStdString();
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  EXPECT_TRUE(mode().caption().text().contains("the answer is back")) << mode().caption().text().toStdString();
}

TEST_F(LessonTest, TheBudgetFallsBeforeOnesEyes) {
  open(builtInLesson(1));
  std::vector<int> shown;
  std::set<std::string> asked;  // what is not computed before the next one comes is not shown
  QObject::connect(&window->workspace(), &Workspace::snapshotChanged, [&] {
    const int now = snapshot().lanes.size() > 1 ? snapshot().lanes[1].slots_asked : -1;
    if (snapshot().phase == RunPhase::idle && (shown.empty() || shown.back() != now)) shown.push_back(now);
  });
  QObject::connect(&window->controller(), &SessionController::submitted, [&] {
    if (const auto& lanes = window->controller().request().lanes; lanes.size() > 1) asked.insert(lanes[1].text);
  });
  while (id() != "budget") {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  EXPECT_GE(asked.size(), 4u);
  EXPECT_TRUE(std::is_sorted(shown.rbegin(), shown.rend()));
  EXPECT_EQ(shown.back(), (snapshot().n_prompt + 5) / 10);
}

class TypedInLessonTest : public LessonTest {
 protected:
  void SetUp() override {
    LessonTest::SetUp();
    options.journal = folder.filePath("journal").toStdString();
    options.picture.clear();  // no script: one leaves nothing
    begin();
  }
  void TearDown() override { window.reset(); }  // while its folder is there
  void begin() {
    window.reset();
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
    ASSERT_TRUE(settle());
    open(builtInLesson(1));
  }
  std::vector<std::string> left() const {
    std::vector<std::string> out;
    for (const QString& path : SessionJournal::left(folder.filePath("journal"))) out.push_back(readSession(path).session.request.prompt);
    return out;
  }
  QTemporaryDir folder;
};

TEST_F(TypedInLessonTest, IsOfferedAfterTheLessonAndCanBeHadBack) {
  press(Qt::Key_1, Qt::AltModifier);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notices().text().contains("The text and the runs are those of the lesson"));
  const std::string mine = "Something of my own, of hours.";
  window->controller().setPrompt(qs(mine));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notices().text().contains("The text is yours")) << window->notices().text().toStdString();
  EXPECT_TRUE(waitFor([&] { return QDir(folder.filePath("journal")).entryList({"unsaved-*.kvscope"}).size() == 1; })) << "against a crash";
  QPushButton* back = buttonOf(*window, "Back to mine");
  ASSERT_NE(back, nullptr);
  back->click();
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == window->controller().request().prompt; }));
  EXPECT_NE(window->controller().request().prompt, mine);
  EXPECT_THAT(left(), ::testing::ElementsAre(mine));
  QPushButton* again = buttonOf(window->notices(), "Back to the session before");
  ASSERT_NE(again, nullptr) << window->notices().text().toStdString();
  again->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, mine);
  EXPECT_THAT(left(), ::testing::IsEmpty()) << "it is this window's again";
}

TEST_F(TypedInLessonTest, IsLeftByTheNextSceneAndByClosing) {
  window->controller().setPrompt("Mine before the next scene.");
  ASSERT_TRUE(settle());
  for (int i = 0; i < 8 && window->controller().request().prompt == "Mine before the next scene."; ++i) {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  EXPECT_THAT(left(), ::testing::ElementsAre("Mine before the next scene."));
  window->controller().setLaneSpec(1, "h2o:ratio=0.5");
  ASSERT_TRUE(settle());
  window->close();
  EXPECT_EQ(left().size(), 1) << "a budget that was tried is the lesson's";
  begin();
  window->controller().setPrompt("Mine before closing.");
  window->close();
  window.reset();
  EXPECT_THAT(left(), ::testing::UnorderedElementsAre("Mine before the next scene.", "Mine before closing."));
}

TEST_F(TypedInLessonTest, WhatWaitsIsSavedBeforeTheWindowCloses) {
  const QString path = folder.filePath("waits.kvscope");
  window->document().giveBack();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window->document().save(path));
  window->controller().setPrompt("What waits.");
  ASSERT_TRUE(settle());
  open(builtInLesson(1));
  ASSERT_NE(window->controller().request().prompt, "What waits.");
  window->document().saveUnsaved();
  EXPECT_EQ(readSession(path).session.request.prompt, "What waits.") << "not the lesson that is on screen";
}

TEST_F(TypedInLessonTest, IsNotKeptOnceItHasAFile) {
  window->controller().setPrompt("Mine, and saved.");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window->document().save(folder.filePath("mine.kvscope")));
  window->close();
  EXPECT_THAT(left(), ::testing::IsEmpty());
}

TEST_F(LessonTest, WhatTheUserHadWaitsAndComesBackWhole) {
  const RunRequest first = window->controller().request();
  window->showPage(MainWindow::Page::inspect);
  window->controller().setPrompt("Alice lives in Paris. Tom lives in Oslo. Alice lives in");
  window->controller().setLaneSpec(1, "h2o:ratio=0.5");
  ASSERT_TRUE(waitFor([this] { return snapshot().phase == RunPhase::idle && snapshot().prompt.starts_with("Alice"); }, 30000));
  viz::Selection mine = selection();
  mine.lane = 1;
  mine.step = 1;
  mine.layer = 2;
  mine.kv_head = 3;
  window->workspace().setSelection(mine);
  ASSERT_TRUE(settle());
  window->model().bookmarks.add({.name = "mine", .selection = mine});
  const RunRequest before = window->controller().request();
  const int n_steps = window->model().undo.now().count();
  ASSERT_GT(n_steps, 0);
  open(builtInLesson(1));
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  ASSERT_NE(window->controller().request().prompt, before.prompt);
  EXPECT_EQ(window->model().undo.now().count(), 0) << "no step of the lesson is an edit";
  QTemporaryDir folder;
  ASSERT_TRUE(window->document().save(folder.filePath("lesson.kvscope"))) << "what is on screen can be saved";
  EXPECT_EQ(readSession(folder.filePath("lesson.kvscope")).session.request.prompt, window->controller().request().prompt);
  EXPECT_TRUE(readSession(folder.filePath("lesson.kvscope")).session.bookmarks.empty()) << "which are of the text that waits";
  // A look elsewhere, with a way back.
  press(Qt::Key_1, Qt::AltModifier);
  ASSERT_TRUE(settle());
  EXPECT_NE(window->controller().request().prompt, before.prompt) << "a question is answered on the lesson's runs";
  ASSERT_NE(buttonOf(*window, "Back to mine"), nullptr);
  press(Qt::Key_5, Qt::AltModifier);
  ASSERT_TRUE(arrived());
  EXPECT_TRUE(mode().caption().backButton().isVisible());
  QTest::mouseClick(&mode().caption().backButton(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == before.prompt; }, 30000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().lanes, before.lanes);
  EXPECT_EQ(window->controller().request().n_generate, before.n_generate);
  EXPECT_EQ(selection(), mine);
  EXPECT_EQ(window->model().bookmarks.size(), 1);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
  EXPECT_FALSE(guide().lesson().staged()) << "the lecture is about the text on screen again";
  EXPECT_EQ(buttonOf(*window, "Back to mine"), nullptr);
  ASSERT_EQ(window->model().undo.now().count(), n_steps) << "what could be taken back has waited, too";
  while (window->model().undo.now().canUndo()) window->runsUndo().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, first.prompt);
  EXPECT_EQ(window->controller().request().lanes, first.lanes);
}

/// What is set while its steps are computed is set for the run that was looked at, not for the lesson's place among the runs.
class LessonFirstTest : public LectureTest {
 protected:
  void SetUp() override {
    options.scenes = in_checkout("assets/lessons/1-small-cache.json");
    options.view = "lecture";
    options.picture = "unused.png";
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    ASSERT_TRUE(settle());
  }
};

TEST_F(LessonFirstTest, LeavesAsManyTokensToGenerateAsAStartWithoutOne) {
  window->lectureMode().leave();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->rows().tools().generateCount(), options.generate);
  EXPECT_EQ(window->controller().request().n_generate, options.generate);
  EXPECT_EQ(window->controller().request().prompt, startState(options).request.prompt) << "the text of a start";
}

TEST_F(LessonTest, TheRunThatWasLookedAtIsBackBeforeItsSteps) {
  window->controller().setPrompt("Alice lives in Paris. Tom lives in Oslo. Alice lives in");
  window->controller().generate(100);
  ASSERT_TRUE(waitFor([this] { return snapshot().phase == RunPhase::idle && snapshot().prompt.starts_with("Alice"); }, 60000));
  const RunRequest mine = window->controller().request();
  const int last = static_cast<int>(mine.lanes.size()) - 1;
  viz::Selection at = selection();
  at.lane = last;
  window->workspace().setSelection(at);
  open(builtInLesson(1));
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  ASSERT_NE(window->controller().request().prompt, mine.prompt);
  ASSERT_LT(selection().lane, last);
  std::set<int> seen;
  QObject::connect(&window->workspace(), &Workspace::snapshotChanged, [&] {
    if (snapshot().phase == RunPhase::computing && snapshot().prompt == mine.prompt && snapshot().lanes.size() == mine.lanes.size())
      seen.insert(selection().lane);
  });
  QTest::mouseClick(&mode().caption().backButton(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == mine.prompt; }, 60000));
  EXPECT_EQ(seen, std::set{last});
  EXPECT_EQ(selection().lane, last);
}

TEST_F(LessonTest, TheComparisonComesBackAsItStood) {
  window->showPage(MainWindow::Page::inspect);
  window->showPage(MainWindow::Page::compare);
  viz::View& compare = window->canvas("compare")->view();
  compare.choose(0, 2);
  compare.choose(2, 1);
  const std::string mine = window->controller().request().prompt;
  open(builtInLesson(5));
  EXPECT_EQ(compare.options()[0].current, 0) << "a scene speaks of what nobody has chosen";
  EXPECT_EQ(compare.options()[2].current, 0);
  press(Qt::Key_PageDown);
  ASSERT_TRUE(arrived());
  QTest::mouseClick(&mode().caption().backButton(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && snapshot().prompt == mine; }, 30000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  EXPECT_FALSE(mode().on()) << "outside of the lecture, as it was left";
  EXPECT_EQ(compare.options()[0].current, 2);
  EXPECT_EQ(compare.options()[2].current, 1);
}

/// The last scene about the user's own text stands on the page of the comparison, and others look at other heads and steps.
TEST_F(LessonTest, WhatComesBackIsWhatTheLectureWasEnteredFrom) {
  window->showPage(MainWindow::Page::inspector);
  viz::Selection mine = selection();
  mine.lane = 2;
  mine.step = 3;
  mine.layer = 2;
  mine.kv_head = 1;
  mine.select({20, 21});
  window->workspace().setSelection(mine);
  ASSERT_TRUE(settle());
  const RunRequest before = window->controller().request();
  press(Qt::Key_5, Qt::AltModifier);
  ASSERT_TRUE(arrived());
  for (int last = -1; last != guide().scene();) {
    last = guide().scene();
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  ASSERT_EQ(window->page(), MainWindow::Page::compare);
  press(Qt::Key_N);
  ASSERT_TRUE(arrived());
  ASSERT_EQ(window->page(), MainWindow::Page::lecture);
  ASSERT_NE(window->controller().request().prompt + window->controller().request().lanes[1].text, before.prompt + before.lanes[1].text);
  while (guide().scene() + 1 < guide().nScenes()) {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  QTest::mouseClick(&mode().caption().backButton(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::idle && window->controller().request().lanes == before.lanes; }, 30000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), MainWindow::Page::inspector);
  EXPECT_EQ(selection(), mine);
}

TEST_F(LessonTest, PagingLeavesOutWhatIsNotThereAndSaysSo) {
  openSample();  // at 100 %: nothing is evicted or merged
  while (id() != "recent") press(Qt::Key_PageDown);
  press(Qt::Key_PageDown);
  EXPECT_EQ(id(), "missed");
  const QString said = window->rows().passing().text();
  EXPECT_TRUE(said.contains("Evicted (H2O), Merged (H2O)")) << said.toStdString();
  press(Qt::Key_PageUp);
  EXPECT_EQ(id(), "recent") << "backwards, too";
  guide().goTo("evicted");
  EXPECT_EQ(id(), "evicted") << "asked for, it is shown";
}

TEST_F(LessonTest, WhatIsNotComputedYetOrNotTrueAnyMoreIsNotClaimed) {
  mode().openLesson(builtInLesson(2));  // a text of 909 tokens, token by token
  ASSERT_TRUE(guide().waiting());
  EXPECT_TRUE(mode().caption().text().contains("being computed")) << mode().caption().text().toStdString();
  open(builtInLesson(1));
  while (id() != "missed") {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  window->controller().setLaneSpec(1, "keepkv:ratio=0.5");
  ASSERT_TRUE(waitFor(
      [this] {
        return snapshot().phase == RunPhase::idle && !window->workspace().stale() && snapshot().lanes[1].spec == "keepkv:ratio=0.5";
      },
      30000));
  EXPECT_TRUE(mode().caption().text().contains("not any more")) << mode().caption().text().toStdString();
  SceneDots& dots = mode().caption().dots();
  QTest::mouseClick(&dots, Qt::LeftButton, {}, dots.rectOf(guide().scene()).center());
  ASSERT_TRUE(arrived());
  EXPECT_TRUE(mode().caption().text().contains("wants «8»")) << mode().caption().text().toStdString();
}

TEST_F(LessonTest, NothingStrikesThroughTheTitlesWhileItComputes) {
  mode().openLesson(builtInLesson(2));
  ASSERT_TRUE(guide().waiting());
  QApplication::processEvents();
  auto* line = window->rows().central()->findChild<ProgressLine*>();
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->geometry().bottom(), mode().row().geometry().bottom());
  open(builtInLesson(1));
  EXPECT_EQ(line->geometry().bottom(), mode().row().geometry().bottom());
  window->showPage(MainWindow::Page::inspect);
  ASSERT_TRUE(settle());
  EXPECT_EQ(line->geometry().bottom(), window->rows().crumbs().geometry().bottom());
}

/// "This head wants «8», and the run says 2": of another head, another step or a run changed by hand that is a false reason.
TEST_F(LessonTest, NoReasonIsGivenForWhatASceneDoesNotShow) {
  open(builtInLesson(1));
  guide().goTo(QString("missed"));
  ASSERT_TRUE(arrived());
  const viz::Selection shown = selection();
  const auto said = [&] { return mode().caption().text(); };
  const QString reason = said();
  ASSERT_TRUE(reason.contains("says «2» for «8»")) << reason.toStdString();
  for (int head = 0; head < viz::n_heads_total(snapshot()); ++head) {
    viz::Selection other = shown;
    other.layer = head / snapshot().model.n_kv_heads;
    other.kv_head = head % snapshot().model.n_kv_heads;
    window->workspace().setSelection(other);
    EXPECT_EQ(said() == reason, other == shown) << head;
    EXPECT_EQ(said().contains("for «8»"), other == shown) << said().toStdString();
    EXPECT_EQ(said().contains("ayer 4, head 3"), true) << "which it is about: " << said().toStdString();
  }
  guide().goTo(QString("question"));
  ASSERT_TRUE(arrived());
  ASSERT_TRUE(said().startsWith("The full cache answers «482».")) << said().toStdString();
  viz::Selection before = selection();
  before.step = *before.step - 1;
  window->workspace().setSelection(before);
  EXPECT_FALSE(said().contains("second digit")) << said().toStdString();
  guide().goTo(QString("question"));
  ASSERT_TRUE(arrived());
  press(Qt::Key_E);
  ASSERT_TRUE(waitFor([this] { return window->workspace().lane()->fork_of >= 0 && snapshot().phase == RunPhase::idle; }, 30000));
  EXPECT_TRUE(said().startsWith("Changed by hand, in all heads: it says «42…».")) << said().toStdString();
  EXPECT_FALSE(said().contains("answers")) << said().toStdString();
}

/// In one head it is gone, in others it is there: what is offered is about the one that is looked at.
TEST_F(LessonTest, OfATokenThatIsGoneItIsAskedWhyAndItCanComeBack) {
  window->resize(1280, 800);
  open(builtInLesson(1));
  guide().goTo(QString("missed"));
  ASSERT_TRUE(arrived());
  const viz::Selection shown = selection();
  const QString before = mode().caption().text();
  EXPECT_EQ(buttonOf(*window, "Evict"), nullptr) << "it is gone from this head";
  for (const QSize& size : {QSize(1920, 1080), QSize(1280, 800)}) {
    window->resize(size);
    ASSERT_TRUE(settle());
    EXPECT_NE(buttonOf(*window, "Restore in all heads (R)"), nullptr) << size.width();
  }
  QPushButton* why = buttonOf(*window, "Why? (W)");
  ASSERT_NE(why, nullptr);
  QTest::mouseClick(why, Qt::LeftButton);
  EXPECT_TRUE(mode().caption().text().startsWith("Why is «8» gone? It left layer 4, head 3 in step 0: by its score it was number "))
      << mode().caption().text().toStdString();
  EXPECT_LE(mode().caption().lines(), 2);
  viz::Selection other = shown;
  other.kv_head = 1;
  window->workspace().setSelection(other);
  EXPECT_FALSE(mode().caption().text().startsWith("Why")) << "asked of the other head";
  window->workspace().setSelection(shown);
  EXPECT_TRUE(mode().caption().text().startsWith("Why"));
  press(Qt::Key_W);
  EXPECT_EQ(mode().caption().text(), before);
  viz::Selection kept = shown;
  kept.select({0, 0});
  window->workspace().setSelection(kept);
  EXPECT_NE(buttonOf(*window, "Evict in all heads (E)"), nullptr);
  EXPECT_EQ(buttonOf(*window, "Restore"), nullptr);
  press(Qt::Key_W);
  EXPECT_TRUE(mode().caption().text().contains("still there? In layer 4, head 3 the policy may not remove it (sink)."))
      << mode().caption().text().toStdString();
  window->workspace().setSelection(shown);
  press(Qt::Key_R);
  EXPECT_TRUE(waitFor([this] { return window->workspace().lane()->fork_of >= 0 && snapshot().phase == RunPhase::idle; }, 30000))
      << window->rows().passing().text().toStdString() << " focus " << QApplication::focusWidget()->objectName().toStdString();
  ASSERT_TRUE(settle());
  press(Qt::Key_W);
  EXPECT_TRUE(mode().caption().text().startsWith("Why is «8» still there? In layer 4, head 3 it was put back by hand after step 1"))
      << mode().caption().text().toStdString();
}

TEST_F(LessonTest, TheLastSceneLeadsToTheNextLesson) {
  window->resize(1280, 800);
  open(builtInLesson(5));
  QPushButton& next = mode().caption().nextButton();
  EXPECT_FALSE(next.isVisible()) << "at its beginning";
  guide().goTo(guide().nScenes() - 1);
  ASSERT_TRUE(arrived());
  ASSERT_TRUE(next.isVisible());
  EXPECT_EQ(next.text(), "Next: Merge or evict");
  QTest::mouseClick(&next, Qt::LeftButton);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(guide().lesson().name, "Merge or evict");
  EXPECT_EQ(guide().scene(), 0);
  guide().goTo(guide().nScenes() - 1);
  ASSERT_TRUE(arrived());
  press(Qt::Key_N);
  ASSERT_TRUE(arrived());
  EXPECT_EQ(guide().lesson().path, builtInLesson(7).toStdString());
  open(QDir::current().relativeFilePath(builtInLesson(5)));
  guide().goTo(guide().nScenes() - 1);
  ASSERT_TRUE(arrived());
  EXPECT_TRUE(next.isVisible()) << "however its file is named";
  open(builtInLesson(9));
  guide().goTo(guide().nScenes() - 1);
  ASSERT_TRUE(arrived());
  EXPECT_FALSE(next.isVisible()) << "there is no other";
}

/// A list of lessons is read from where the captions are.
TEST_F(LessonTest, TheMenuOfLessonsHasTheTypeOfTheLecture) {
  window->resize(1280, 800);
  open(builtInLesson(1));
  QMenu* menu = mode().caption().findChildren<QToolButton*>()[0]->menu();
  menu->ensurePolished();
  EXPECT_GE(QFontInfo(menu->font()).pixelSize(), 18);
  window->showPage(MainWindow::Page::inspect);
  EXPECT_LT(QFontInfo(menu->font()).pixelSize(), 15);
}

/// The text has room for a few lines, and most scenes end at its question.
TEST_F(LessonTest, WhatASceneIsAboutStandsInTheTextThatOneSees) {
  window->resize(1280, 800);
  ASSERT_TRUE(settle());
  open(builtInLesson(1));
  const PromptEditor& editor = mode().page().prompt().editor();
  const auto seen = [&](int token) {
    return std::ranges::any_of(editor.rectsOf(token),
                               [&](const QRectF& r) { return editor.viewport()->rect().contains(r.center().toPoint()); });
  };
  int n_scenes = 0;
  for (const Scene& scene : guide().scenes()) {
    if (!scene.emphasis) continue;
    guide().goTo(qs(scene.id));
    ASSERT_TRUE(arrived());
    int n_of_it = 0, n_seen = 0;
    for (int token = 0; token < snapshot().n_prompt; ++token) {
      if (editor.colours().category(token) != *scene.emphasis) continue;
      ++n_of_it;
      n_seen += seen(token) ? 1 : 0;
    }
    EXPECT_EQ(n_seen > 0, n_of_it > 0) << scene.id;  // the newest token may be one of the answer
    n_scenes += n_of_it > 0 ? 1 : 0;
  }
  EXPECT_GE(n_scenes, 2);
}

/// Heavy hitters is read token by token; what comes after it is not.
TEST_F(LessonTest, ALessonReadsItsTextAsItSaysWhateverCameBefore) {
  open(builtInLesson(3));
  window->controller().replaceRequest([&] {
    RunRequest streamed = window->controller().request();
    streamed.mode = PromptMode::stream;
    return streamed;
  }());
  ASSERT_TRUE(settle());
  open(builtInLesson(4));
  EXPECT_TRUE(snapshot().prefill_mode);
  EXPECT_EQ(window->notices().text(), "");
  ASSERT_GE(snapshot().lanes.size(), 2u);
  EXPECT_EQ(snapshot().lanes[1].policy, "snapkv") << "the lesson's own";
}

TEST_F(LessonTest, ASceneThatCannotBeComputedClaimsNothing) {
  QTemporaryDir folder;
  QFile file(folder.filePath("s.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a","name":"Waits","run":"B",
    "stage":{"prompt":"One two three four five six.","runs":["expected:ratio=0.5"],"mode":"stream"},"variants":[{"message":"{policy} knows."}]}]})");
  file.close();
  mode().openLesson(file.fileName());
  EXPECT_TRUE(waitFor([&] { return mode().caption().text().startsWith("Waits: not here."); }, 30000))
      << mode().caption().text().toStdString();
  EXPECT_EQ(snapshot().phase, RunPhase::failed);
}

TEST_F(LessonTest, ALessonIsTheSameWhateverWasLookedAtBefore) {
  open(builtInLesson(1));
  const auto shown = [&] {
    guide().goTo(QString("question"));
    EXPECT_TRUE(arrived());
    return selection();
  };
  const viz::Selection first = shown();
  ASSERT_TRUE(first.tokens);
  viz::Selection other = first;
  other.tokens = viz::TokenRange{20, 24};
  other.layer = 0;
  other.kv_head = 0;
  other.steps = viz::StepRange{1, 2};
  window->workspace().setSelection(other);
  EXPECT_EQ(shown(), first);
}

TEST_F(LessonTest, NotesAreNoEndOfPaging) {
  open(builtInLesson(1));
  SpeakerNotes notes(guide());
  notes.show();
  QTest::keyClick(&notes, Qt::Key_PageDown);
  EXPECT_EQ(guide().scene(), 1);
  QTest::keyClick(&notes, Qt::Key_PageUp);
  EXPECT_EQ(guide().scene(), 0);
}

TEST_F(LessonTest, OfAWordTheTokenThatWasClickedIsExplained) {
  open(builtInLesson(1));
  guide().goTo(QString("missed"));
  ASSERT_TRUE(arrived());
  PromptEditor& editor = mode().page().prompt().editor();
  const int eight = selection().tokens->first;  // of 482
  for (const auto& [token, says] : {std::pair(eight + 1, "«2»"), {eight, "«8»"}}) {
    ASSERT_FALSE(editor.rectsOf(token).empty());
    QTest::mouseClick(editor.viewport(), Qt::LeftButton, {}, editor.rectsOf(token).front().center().toPoint());
    ASSERT_EQ(selection().tokens, (viz::TokenRange{eight - 1, eight + 1})) << "the whole word";
    press(Qt::Key_W);
    EXPECT_TRUE(mode().caption().text().contains(says)) << mode().caption().text().toStdString();
    press(Qt::Key_W);
    QTest::qWait(QApplication::doubleClickInterval());  // the next click is one by itself
  }
}

TEST_F(LessonTest, LettersAreKeysUntilTheTextIsEdited) {
  open(builtInLesson(1));
  PromptEditor& editor = mode().page().prompt().editor();
  const QString before = editor.exactText();
  const int word = snapshot().n_prompt - 4;  // the end of the text is in sight
  ASSERT_FALSE(editor.rectsOf(word).empty());
  const auto clickOn = [&](int token) {
    QTest::mouseClick(editor.viewport(), Qt::LeftButton, {}, editor.rectsOf(token).front().center().toPoint());
  };
  clickOn(word);
  ASSERT_TRUE(selection().tokens);
  EXPECT_FALSE(editor.writing());
  press(Qt::Key_G);
  EXPECT_EQ(editor.exactText(), before);
  EXPECT_GT(window->workspace().ghostSteps(), 0) << "G is a key of the window";
  press(Qt::Key_G);
  QTest::mouseDClick(editor.viewport(), Qt::LeftButton, {}, editor.rectsOf(word).front().center().toPoint());
  EXPECT_TRUE(editor.writing());
  press(Qt::Key_G);
  EXPECT_NE(editor.exactText(), before) << "G is a letter";
  press(Qt::Key_Escape);
  EXPECT_FALSE(editor.writing());
  ASSERT_TRUE(waitFor([this] { return snapshot().phase == RunPhase::idle && !window->workspace().stale(); }, 30000));
  ASSERT_FALSE(editor.rectsOf(word).empty());
  clickOn(word);
  press(Qt::Key_Return);
  EXPECT_TRUE(editor.writing());
}

/// As it stands in the bytes of a PDF.
QByteArray titleInPdf(const QString& title) {
  QByteArray out;
  for (const QChar c : title) {
    out += '\0';
    if (QString("()").contains(c)) out += '\\';
    out += c.toLatin1();
  }
  return out;
}

TEST_F(LessonTest, AHandoutDoesNotSayWhereTheWindowStood) {
  open(builtInLesson(1));
  ASSERT_TRUE(arrived());
  const auto facts = [this] { return mode().page().atlasPanel().facts(); };
  QStringList on_paper;
  bool ended = false;
  QObject::connect(&mode().handout(), &Handout::ended, [&] { ended = true; });
  QTemporaryDir folder;
  int n_moved = 0;
  for (int i = 0; i + 1 < guide().nScenes() && n_moved == 0; ++i) {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
    n_moved += facts().contains("moved here");
  }
  ASSERT_EQ(n_moved, 1) << "else the test has not seen the case";
  mode().handout().write(folder.filePath("h.pdf"));
  ASSERT_TRUE(waitFor(
      [&] {
        if (!ended) on_paper << facts();
        return ended;
      },
      60000));
  EXPECT_GE(on_paper.size(), guide().nScenes());
  for (const QString& said : on_paper) EXPECT_FALSE(said.contains("moved here")) << said.toStdString();
}

TEST_F(LessonTest, AHandoutHasEveryScene) {
  open(builtInLesson(8));
  QTemporaryDir folder;
  const QString path = folder.filePath("h.pdf");
  int n_scenes = 0;
  QObject::connect(&mode().handout(), &Handout::written, [&](const QString&, int n) { n_scenes = n; });
  mode().handout().write(path);
  EXPECT_FALSE(mode().row().menuButton()->isVisible()) << "nothing can be pressed on paper";
  auto* writing = window->findChild<QProgressDialog*>();
  ASSERT_NE(writing, nullptr) << "scenes that turn by themselves need a word";
  EXPECT_TRUE(writing->labelText().startsWith("Writing the handout")) << writing->labelText().toStdString();
  ASSERT_TRUE(waitFor([&] { return n_scenes > 0; }, 60000));
  EXPECT_EQ(n_scenes, guide().nScenes());
  EXPECT_EQ(guide().scene(), 0) << "where it was";
  QFile notes(folder.filePath("h-notes.pdf"));
  ASSERT_TRUE(notes.open(QIODevice::ReadOnly)) << "what the speaker says is in a file of its own";
  const QByteArray spoken = notes.readAll();
  EXPECT_TRUE(spoken.startsWith("%PDF"));
  EXPECT_TRUE(spoken.contains(titleInPdf("Prefill and stream: speaker notes to h.pdf")));
  EXPECT_TRUE(window->rows().passing().text().contains("your notes to ")) << window->rows().passing().text().toStdString();
  EXPECT_TRUE(mode().row().menuButton()->isVisible()) << "back on the screen";
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray pdf = file.readAll();
  EXPECT_TRUE(pdf.startsWith("%PDF"));
  EXPECT_TRUE(pdf.contains(titleInPdf("Prefill and stream")));
  EXPECT_FALSE(pdf.contains(titleInPdf("speaker notes"))) << "it is for students";
  EXPECT_EQ(pdf.count("/Type /Page\n"), (n_scenes + 1) / 2) << "two scenes a sheet";
  QString why;
  QObject::connect(&mode().handout(), &Handout::failed, [&](const QString& words) { why = words; });
  mode().handout().write(folder.filePath("nowhere/h.pdf"));
  ASSERT_TRUE(waitFor([&] { return !why.isEmpty(); }, 60000));
  EXPECT_TRUE(why.contains("nowhere")) << why.toStdString();
}

TEST_F(LessonTest, NotesBesideAHandoutAreNotReplacedUnasked) {
  open(builtInLesson(8));
  QTemporaryDir folder;
  const QString path = folder.filePath("h.pdf"), notes = folder.filePath("h-notes.pdf");
  {
    QFile mine(notes);
    ASSERT_TRUE(mine.open(QIODevice::WriteOnly));
    mine.write("something else");
  }
  FileDialogAnswer answer(path, "A4");
  QString asked;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
      asked = box->text();
      box->button(QMessageBox::No)->click();
    }
  });
  timer.start(50);
  for (QAction* a : window->findChildren<QAction*>())
    if (a->text().remove('&').startsWith("Write handout")) a->trigger();
  EXPECT_TRUE(answer.answered());
  EXPECT_TRUE(asked.startsWith(notes)) << asked.toStdString();
  EXPECT_FALSE(mode().handout().running());
  mode().handout().cancel();
}

TEST(HandoutSheets, ASceneIsAsLargeAsItsWordsLeaveIt) {
  QImage picture(1280, 650, QImage::Format_RGB32);
  picture.fill(Qt::red);
  for (const int n_words : {10, 60}) {
    share::PageScene scene;
    scene.name = "One";
    for (int i = 0; i < n_words; ++i) scene.text += "a word ";
    QImage sheet(1063, 1577, QImage::Format_RGB32);
    sheet.fill(Qt::white);
    QPainter painter(&sheet);
    paintHandout(painter, sheet.size(), "Lesson", {{scene, picture}, {scene, picture}}, [] { FAIL() << "both are on one sheet"; });
    painter.end();
    const auto row_has = [&](int y, auto what) {
      for (int x = 0; x < sheet.width(); ++x)
        if (what(sheet.pixelColor(x, y))) return true;
      return false;
    };
    int n_red = 0, n_ink = 0, blank = 0, longest_blank = 0;
    for (int y = 0; y < sheet.height(); ++y) {
      const bool red = row_has(y, [](const QColor& c) { return c == QColor(Qt::red); });
      const bool ink = row_has(y, [](const QColor& c) { return c.lightness() < 100 && c != QColor(Qt::red); });
      EXPECT_FALSE(red && ink) << "words on the picture, " << n_words << " of them";
      n_red += red, n_ink += ink;
      blank = red || ink ? 0 : blank + 1;
      longest_blank = std::max(longest_blank, blank);
    }
    EXPECT_GT(n_red, sheet.height() * (n_words < 20 ? 6 : 5) / 10) << n_words << " words";
    EXPECT_GT(n_ink, 40);
    EXPECT_LT(longest_blank, sheet.height() / 8) << n_words << " words";
  }
}

TEST_F(LessonTest, AHandoutThatIsGivenUpIsNotWritten) {
  open(builtInLesson(8));
  QTemporaryDir folder;
  bool ended = false;
  QObject::connect(&mode().handout(), &Handout::ended, [&] { ended = true; });
  mode().handout().write(folder.filePath("h.pdf"));
  auto* writing = window->findChild<QProgressDialog*>();
  ASSERT_NE(writing, nullptr);
  ASSERT_TRUE(waitFor([&] { return writing->isVisible(); }, 5000));
  QTest::mouseClick(buttonOf(*writing, "Cancel"), Qt::LeftButton);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(mode().handout().running());
  EXPECT_EQ(guide().scene(), 0);
  EXPECT_FALSE(QFile::exists(folder.filePath("h.pdf")));
}

TEST_F(LessonTest, AHandoutSaysWhichScenesItLeftOut) {
  QTemporaryDir folder;
  QFile file(folder.filePath("mine.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"({"kvscope":"scenes","version":1,"name":"Mine","stage":{"prompt":"The cat sat on the mat because it","runs":["h2o:slots=6"],
    "generate":2},"scenes":[{"id":"one","name":"One","run":"B","variants":[{"message":"One."}]},
    {"id":"merge","name":"Merge","run":"B","needs":["merged"],"variants":[{"message":"Merged."}]},
    {"id":"two","name":"Two","run":"B","variants":[{"message":"Two."}]}]})");
  file.close();
  open(file.fileName());
  mode().handout().write(folder.filePath("h.pdf"));
  ASSERT_TRUE(waitFor([&] { return window->notices().text().contains("2 scenes written to "); }, 60000));
  EXPECT_TRUE(window->notices().text().contains("left out, there is nothing of it here: Merge")) << window->notices().text().toStdString();
}

/// What is in the element `id` of a page, as its script reads it.
QByteArray elementOf(const QByteArray& page, const QByteArray& id) {
  const qsizetype begin = page.indexOf("id=\"" + id + "\">") + id.size() + 5;
  return qUncompress(QByteArray(4, '\0') + QByteArray::fromBase64(page.mid(begin, page.indexOf('<', begin) - begin)));
}

/// Lesson 1 moves the budget from scene to scene: a page that says what the screen said has the results of every one.
TEST_F(LessonTest, AHandoutThatMovesSaysWhatTheScreenSaid) {
  open(builtInLesson(1));
  QTemporaryDir folder;
  const QString path = folder.filePath("lesson.html");
  std::map<std::string, Caption> said;
  std::map<std::string, viz::Selection> at;
  QObject::connect(&guide(), &LectureGuide::arrived, [&] {
    said[guide().at(guide().scene()).name] = guide().caption();
    at[guide().at(guide().scene()).name] = selection();
  });
  int n_scenes = 0;
  QObject::connect(&mode().handout(), &Handout::written, [&](const QString&, int n) { n_scenes = n; });
  mode().handout().write(path);
  ASSERT_TRUE(waitFor([&] { return n_scenes > 0; }, 120000));
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray page = file.readAll();
  const QJsonArray scenes = QJsonDocument::fromJson(elementOf(page, "lesson"))["scenes"].toArray();
  ASSERT_EQ(scenes.size(), guide().nScenes());
  int n_parts = 0;
  for (const QJsonValue& scene : scenes) {
    const std::string name = scene["name"].toString().toStdString();
    EXPECT_EQ(scene["notes"].toString(), "") << "for the speaker only: " << name;
    EXPECT_EQ(scene["message"].toString(), qs(said[name].message)) << name;
    EXPECT_EQ(scene["text"].toString(), qs(said[name].text)) << name;
    EXPECT_EQ(scene["run"].toInt(), at[name].lane) << name;
    EXPECT_EQ(scene["step"].toInt(), at[name].step.value_or(scene["step"].toInt())) << name;
    n_parts = std::max(n_parts, scene["part"].toInt() + 1);
  }
  EXPECT_GT(n_parts, 1);
  EXPECT_TRUE(elementOf(page, "data").contains("notes to these scenes are in a file of their own: lesson-notes.pdf"));
  EXPECT_EQ(page.count("x-kvscope-page\" id"), n_parts);
}

QAction* actionOf(const QWidget& in, const QString& words) {
  for (QAction* action : in.findChildren<QAction*>())
    if (commandText(action->text()) == words) return action;
  return nullptr;
}

TEST_F(LessonTest, ACopyOfALessonIsTheBeginningOfAnother) {
  QTemporaryDir folder;
  open(builtInLesson(6));
  QAction* save = actionOf(*window, "Save a copy of this lesson…");
  ASSERT_NE(save, nullptr);
  const QString path = folder.filePath("mine.json");
  FileDialogAnswer answer(path);
  save->trigger();
  EXPECT_TRUE(answer.answered());
  EXPECT_TRUE(window->rows().passing().text().contains("mine.json")) << window->rows().passing().text().toStdString();
  const Lesson copy = read_lesson(path.toStdString()), original = read_lesson(builtInLesson(6).toStdString());
  EXPECT_EQ(copy.name, original.name);
  EXPECT_EQ(copy.scenes.front().stage.text, original.scenes.front().stage.text) << "the program's sample is found from there, too";
  open(path);
  EXPECT_EQ(guide().lesson().path, path.toStdString());
  auto* menu = mode().caption().findChild<QToolButton*>()->menu();
  Q_EMIT menu->aboutToShow();
  QStringList names;
  for (const QAction* action : menu->actions()) names << action->text();
  EXPECT_EQ(names.count(qs(copy.name)), 1) << "the program's";
  EXPECT_EQ(names.count(qs(copy.name) + " (mine.json)"), 1) << "one's own is told from it";
}

TEST_F(LessonTest, ALessonThatWasLeftGoesOnWhereItWasLeft) {
  const auto offered = [this] { return window->notices().isVisible() && window->notices().text().contains("left this lesson at scene 3"); };
  open(builtInLesson(1));
  for (int scene = 0; scene < 2; ++scene) {
    press(Qt::Key_PageDown);
    ASSERT_TRUE(arrived());
  }
  ASSERT_EQ(guide().scene(), 2);
  mode().leave();
  ASSERT_TRUE(arrived());
  open(builtInLesson(2));
  EXPECT_FALSE(offered()) << "another lesson";
  open(builtInLesson(1));
  EXPECT_EQ(guide().scene(), 0) << "a lesson begins at its beginning";
  ASSERT_TRUE(offered()) << window->notices().text().toStdString();
  for (QPushButton* button : window->notices().findChildren<QPushButton*>())
    if (button->text() == "Go on there") button->click();
  ASSERT_TRUE(arrived());
  EXPECT_EQ(guide().scene(), 2);
  EXPECT_FALSE(offered()) << "it is there";
}

TEST_F(LessonTest, TheProgramTellsHowALessonIsWritten) {
  window->resize(1280, 800);
  open(builtInLesson(6));
  QAction* help = actionOf(*window, "How to write a lesson");
  ASSERT_NE(help, nullptr);
  help->trigger();
  const auto* page = window->findChild<QTextBrowser*>();
  ASSERT_NE(page, nullptr);
  EXPECT_TRUE(page->isVisible());
  const QString text = page->toPlainText();
  for (const char* key : {"emphasis", "variants", "stage", "{fact|token|tokens}"}) EXPECT_TRUE(text.contains(key)) << key;
  for (const auto& [name, fact] : viz::lecture_facts(snapshot(), selection())) {
    EXPECT_TRUE(text.contains(qs(name))) << name;
    EXPECT_TRUE(text.contains(qs(fact.text))) << name << " " << fact.text;
  }
}

TEST_F(LessonTest, AFileThatALessonWantsReadFromElsewhereIsAskedFor) {
  const QTemporaryDir folder, elsewhere;
  const QString secret = elsewhere.filePath("secret.json"), path = folder.filePath("l.json");
  const auto write = [](const QString& name, const QByteArray& text) {
    QFile file(name);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
  };
  write(secret, "root:topsecretwords:1000\n");
  write(path,
        QString(R"({"kvscope":"scenes","version":1,"name":"Theirs","stage":{"prompt":"Tom is here.","runs":["duo:ratio=0.3,heads=%1"]},
    "scenes":[{"id":"a","variants":[{"message":"m"}]}]})")
            .arg(secret)
            .toUtf8());
  const std::string before = window->controller().request().prompt;
  window->openFile(path);
  EXPECT_EQ(window->controller().request().prompt, before);
  EXPECT_NE(guide().lesson().name, "Theirs");
  EXPECT_TRUE(window->notices().text().contains("its runs read " + secret)) << window->notices().text().toStdString();
  QPushButton* read = nullptr;
  for (QPushButton* button : window->notices().findChildren<QPushButton*>())
    if (button->text() == "Read it") read = button;
  ASSERT_NE(read, nullptr);
  read->click();
  EXPECT_EQ(guide().lesson().name, "Theirs");
  EXPECT_EQ(window->controller().request().prompt, "Tom is here.");
  EXPECT_FALSE(window->notices().text().contains("topsecret"));
}

TEST_F(LessonTest, ALessonOfOnesOwnOpensByFileWithItsNotes) {
  QTemporaryDir folder;
  const auto write = [&](const char* name, const QByteArray& text) {
    QFile file(folder.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
  };
  write("mine.txt", "The cat sat on the mat because it");
  write("mine.json", R"({"kvscope":"scenes","version":1,"name":"Mine","stage":{"text":"mine.txt","runs":["h2o:slots=6"],"generate":2},
    "scenes":[{"id":"one","name":"One","run":"B","notes":"say hello","variants":[{"message":"{policy} keeps {slots}."}]}]})");
  window->openFile(folder.filePath("mine.json"));
  ASSERT_TRUE(arrived());
  EXPECT_EQ(snapshot().prompt, "The cat sat on the mat because it");
  EXPECT_TRUE(mode().caption().text().contains("H2O keeps 6.")) << mode().caption().text().toStdString();
  SpeakerNotes notes(guide());
  EXPECT_EQ(notes.text(), "say hello");
  EXPECT_TRUE(mode().caption().nextButton().text().isEmpty()) << "no lesson of the program's follows one's own";
  const auto listed = [this] {
    auto* menu = mode().caption().findChild<QToolButton*>()->menu();
    Q_EMIT menu->aboutToShow();
    return std::ranges::any_of(menu->actions(), [](const QAction* action) { return action->text() == "Mine"; });
  };
  EXPECT_TRUE(listed()) << "among the lessons";
  ASSERT_TRUE(QFile::rename(folder.filePath("mine.json"), folder.filePath("elsewhere.json")));
  EXPECT_FALSE(listed()) << "its file is gone";
  write("bad.json", R"({"kvscope":"scenes","version":1,"scenes":[]})");
  window->openFile(folder.filePath("bad.json"));
  EXPECT_TRUE(window->notices().text().contains("at least one scene")) << window->notices().text().toStdString();
  EXPECT_EQ(guide().lesson().name, "Mine") << "what was there stays";
}

}  // namespace
}  // namespace kvscope
