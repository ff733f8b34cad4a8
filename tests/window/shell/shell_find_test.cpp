// SPDX-License-Identifier: Apache-2.0
// Search and the command palette.
#include <algorithm>
#include <map>

#include <QAction>
#include <QComboBox>
#include <QLineEdit>
#include <QToolButton>
#include <QTreeWidget>

#include "app/window/commands/command_palette.h"
#include "app/window/commands/commands.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/search.h"
#include "app/window/rows/search_bar.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/synthetic.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() {
    // "<s>The cat sat, the caté": é stands in two tokens, one byte each
    const std::vector<std::string> pieces = {"The", " cat", " sat", ",", " the", " cat", "\xC3", "\xA9"};
    for (std::size_t i = 0; i < pieces.size(); ++i) run.tokens[i + 1].bytes = pieces[i], run.tokens[i + 1].special = false;
    for (std::size_t i = pieces.size() + 1; i < run.tokens.size(); ++i) run.tokens[i].bytes = " x", run.tokens[i].special = false;
    selection.lane = 3;
  }
  SearchResult find(const QString& text, SearchIn in = SearchIn::tokens, bool regex = false, bool match_case = false) const {
    return searchFor({in, text, regex, match_case}, run, selection);
  }
  std::vector<viz::TokenRange> ranges(const SearchResult& result) const {
    std::vector<viz::TokenRange> out;
    for (const SearchHit& hit : result.hits) out.push_back(*hit.tokens);
    return out;
  }
  Snapshot run = synthetic::make_snapshot();
  viz::Selection selection;
};

TEST_F(SearchTest, FindsTextWithinAndAcrossTokensWhateverItsCase) {
  using R = viz::TokenRange;
  EXPECT_EQ(ranges(find("cat")), (std::vector<R>{{2, 2}, {6, 6}}));
  EXPECT_EQ(ranges(find("THE")), (std::vector<R>{{1, 1}, {5, 5}}));
  EXPECT_EQ(ranges(find("The", SearchIn::tokens, false, true)), (std::vector<R>{{1, 1}}));
  EXPECT_EQ(ranges(find("cat sat,")), (std::vector<R>{{2, 4}}));
  EXPECT_EQ(ranges(find("é")), (std::vector<R>{{7, 8}})) << "one character of two byte tokens";
  EXPECT_TRUE(find("dog").hits.empty());
  EXPECT_TRUE(find("  ").hits.empty());
}

TEST_F(SearchTest, RegularExpressionsWorkAndBadOnesSayWhere) {
  EXPECT_EQ(ranges(find("[cs]at\\b", SearchIn::tokens, true)).size(), 2u) << "the last one goes on with é";
  const SearchResult bad = find("a(b", SearchIn::tokens, true);
  EXPECT_TRUE(bad.hits.empty());
  EXPECT_EQ(bad.error_at, 3);
  EXPECT_TRUE(bad.error.contains("at character 4")) << bad.error.toStdString();
  EXPECT_EQ(find("a(b").error, "") << "plain text has no syntax";
  EXPECT_TRUE(find("q*", SearchIn::tokens, true).hits.empty()) << "matches of nothing are no places";
}

TEST_F(SearchTest, HeadsAreNamedByLayerAndHead) {
  ASSERT_EQ(find("L2 H3", SearchIn::heads).hits.size(), 1u);
  EXPECT_EQ(find("l2·h3", SearchIn::heads).hits[0].layer, 2);
  EXPECT_EQ(find("l2h3", SearchIn::heads).hits[0].kv_head, 3);
  EXPECT_EQ(find("L2", SearchIn::heads).hits.size(), 4u);
  EXPECT_EQ(find("H1", SearchIn::heads).hits.size(), 6u);
  EXPECT_EQ(find("L[01] H3", SearchIn::heads, true).hits.size(), 2u);
  EXPECT_TRUE(find("moon", SearchIn::heads).error.contains("L2 H5"));
  EXPECT_TRUE(find("L77", SearchIn::heads).note.contains("L0–L5"));
  EXPECT_TRUE(find("L99999999999999999999", SearchIn::heads).hits.empty());
}

TEST_F(SearchTest, EventsAreThoseOfTheRecords) {
  int merges = 0, of_head = 0, in_range = 0;
  for (const StepPtr& step : run.lanes[3].steps)
    for (const HeadRecord& head : step->heads)
      for (const Event& event : head.events) {
        merges += event.kind == Event::Kind::merge;
        of_head += event.kind == Event::Kind::evict && head.layer == 2 && head.kv_head == 1;
        in_range += event.kind == Event::Kind::evict && step->step >= 3 && step->step <= 5;
      }
  ASSERT_GT(merges, 0);
  EXPECT_EQ(find("merge", SearchIn::events).hits.size(), static_cast<std::size_t>(merges));
  const SearchResult head = find("evict L2 H1", SearchIn::events);
  ASSERT_EQ(head.hits.size(), static_cast<std::size_t>(of_head));
  const SearchHit& hit = head.hits.back();
  const viz::Selection there = hit.applied(selection);
  EXPECT_EQ(there.layer, 2);
  EXPECT_EQ(there.kv_head, 1);
  EXPECT_EQ(there.lane, 3);
  const auto& events = run.lanes[3].steps[static_cast<std::size_t>(*there.step)]->heads[9].events;
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const Event& e) { return e.pos == there.tokens->first; }));
  selection.steps = viz::StepRange{3, 5};
  EXPECT_EQ(find("evict", SearchIn::events).hits.size(), static_cast<std::size_t>(in_range));
  EXPECT_EQ(find("step 1$", SearchIn::events, true).hits.size(), 0u) << "outside of the range";
  EXPECT_GT(find("step 4$", SearchIn::events, true).hits.size(), 0u);
}

TEST_F(SearchTest, ManyHitsAreCutAndThatIsSaid) {
  run.tokens.resize(20001, run.tokens.back());
  const SearchResult many = find("x");
  EXPECT_EQ(many.hits.size(), static_cast<std::size_t>(kSearchHits));
  EXPECT_TRUE(many.note.startsWith("first 10"));
}

/// PCRE ends a search that takes too many tries, and what it has not seen is not gone.
TEST_F(SearchTest, AnExpressionThatTakesTooManyTriesIsGivenUpAndNotNone) {
  const std::string words = "x" + std::string(600, 'y');
  run.tokens = {TokenInfo{.bytes = words}};
  const SearchResult of_tokens = find("(.*)(.*)(.*)(.*)x\\1$", SearchIn::tokens, true);
  EXPECT_TRUE(of_tokens.given_up);
  EXPECT_EQ(of_tokens.note, "too much to search, given up");
  EXPECT_TRUE(find("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)step\\1\\2\\3e$", SearchIn::events, true).given_up);
  EXPECT_FALSE(find("x", SearchIn::tokens, true).given_up);
}

/// Thousands of lines with as many tries each as PCRE allows would stop the window for minutes.
TEST_F(SearchTest, AnExpressionThatTakesLongInEveryLineIsGivenUpInTheMiddle) {
  const std::size_t all = find("evict", SearchIn::events, true).hits.size();
  const SearchResult slow = find("^(?:(.*)(.*)(.*)(.*)(.*)step\\1x|evict)", SearchIn::events, true);
  EXPECT_TRUE(slow.given_up);
  EXPECT_GT(slow.hits.size(), 0u);
  EXPECT_LT(slow.hits.size(), all);
}

TEST(FuzzyScoreTest, LettersInOrderWithBeginningsOfWordsFirst) {
  EXPECT_FALSE(fuzzyScore(u"xyz", u"Generate"));
  EXPECT_FALSE(fuzzyScore(u"tg", u"Generate"));
  EXPECT_FALSE(fuzzyScore(u"a", u""));
  EXPECT_EQ(fuzzyScore(u"", u"Generate"), 0);
  EXPECT_GT(*fuzzyScore(u"rl", u"Reset the layout"), *fuzzyScore(u"rl", u"formula x"));
  EXPECT_GT(*fuzzyScore(u"step", u"Step back"), *fuzzyScore(u"step", u"Reset the panel"));
  EXPECT_GT(*fuzzyScore(u"STEP B", u"Step back"), *fuzzyScore(u"step b", u"Step forward by"));
}

TEST_F(WindowTest, SearchSelectsPlaceAfterPlaceByKeyboard) {
  press(Qt::Key_F, Qt::ControlModifier);
  SearchBar& bar = window->rows().search();
  ASSERT_TRUE(bar.isVisible());
  ASSERT_TRUE(bar.line().hasFocus());
  QTest::keyClicks(&bar.line(), "Helen");
  QTest::keyClick(&bar.line(), Qt::Key_Return);
  EXPECT_TRUE(bar.stateText().startsWith("1 of 3")) << bar.stateText().toStdString();
  const auto first = window->workspace().selection().tokens;
  ASSERT_TRUE(first);
  QTest::keyClick(&bar.line(), Qt::Key_Return);
  EXPECT_GT(window->workspace().selection().tokens->first, first->last);
  QTest::keyClick(&bar.line(), Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(window->workspace().selection().tokens, first);
  QTest::keyClick(&bar.line(), Qt::Key_F3, Qt::ShiftModifier);
  EXPECT_TRUE(bar.stateText().startsWith("3 of 3")) << "round to the end";
  bar.regexButton().setChecked(true);
  bar.line().setText("Hel[en");
  QTest::keyClick(&bar.line(), Qt::Key_Return);
  EXPECT_TRUE(bar.stateText().contains("at character")) << bar.stateText().toStdString();
  bar.line().setText("(.*)(.*)(.*)(.*)(.*)Hel\\1");
  QTest::keyClick(&bar.line(), Qt::Key_Return);
  EXPECT_EQ(bar.stateText(), "too much to search, given up: none found so far");
  QTest::keyClick(&bar.line(), Qt::Key_Escape);
  EXPECT_FALSE(bar.isVisible());
}

TEST_F(WindowTest, SearchForAHeadSelectsIt) {
  press(Qt::Key_F, Qt::ControlModifier);
  SearchBar& bar = window->rows().search();
  bar.scope().setCurrentIndex(1);
  QTest::keyClicks(&bar.line(), "L3 H2");
  ASSERT_TRUE(waitFor([&] { return window->workspace().selection().layer == 3; }, 3000)) << "without Enter, after a pause";
  EXPECT_EQ(window->workspace().selection().kv_head, 2);
}

TEST_F(WindowTest, EscapeClosesTheSearchFromItsButtonsToo) {
  press(Qt::Key_F, Qt::ControlModifier);
  auto* bar = window->findChild<SearchBar*>();
  ASSERT_TRUE(bar->isVisible());
  auto* regex = bar->findChild<QToolButton*>();
  QTest::mouseClick(regex, Qt::LeftButton);
  regex->setFocus();
  QTest::keyClick(regex, Qt::Key_Escape);
  EXPECT_FALSE(bar->isVisible());
}

TEST_F(WindowTest, OneTokenMoreIsCountedInTheToolbar) {
  auto* tools = window->findChild<ToolRow*>();
  const int before = tools->generateCount();
  press(Qt::Key_F6);
  ASSERT_TRUE(settle());
  EXPECT_EQ(static_cast<int>(snapshot().lanes[0].steps.size()), before + 2);
  EXPECT_EQ(tools->generateCount(), before + 1);
}

TEST_F(WindowTest, OneTokenMoreIsOneMoreThanThereAre) {
  window->controller().generate(400);
  ASSERT_TRUE(waitFor([&] { return window->controller().answersNewest(snapshot()) && n_generated(snapshot()) > 5; }, 30000));
  window->controller().stop();
  ASSERT_TRUE(settle());
  const int there = n_generated(snapshot());
  ASSERT_LT(there, 400) << "it was stopped";
  press(Qt::Key_F6);
  ASSERT_TRUE(settle());
  EXPECT_EQ(n_generated(snapshot()), there + 1);
}

TEST_F(WindowTest, AGivenTextIsNotCalledThatOfTheReference) {
  const auto ticked = [&] {
    QStringList out;
    for (QAction* a : window->findChildren<QAction*>())
      if (const QString text = a->text().remove('&'); a->isChecked() && (text == "the text of the reference" || text == "their own text"))
        out << text;
    return out.join(", ").toStdString();
  };
  EXPECT_EQ(ticked(), "the text of the reference");
  RunRequest request = window->controller().request();
  request.follow = Follow::file;
  for (std::size_t i = 1; i < 4; ++i) request.follow_ids.push_back(snapshot().tokens[i].id);
  window->controller().replaceRequest(request);
  ASSERT_TRUE(settle());
  EXPECT_EQ(ticked(), "");
  request.follow = Follow::self;
  request.follow_ids.clear();
  window->controller().replaceRequest(request);
  EXPECT_EQ(ticked(), "their own text");
}

TEST_F(WindowTest, ThePaletteCutsNoNameThatItHasRoomFor) {
  for (const int width : {1366, 1600}) {
    window->resize(width, 900);
    ASSERT_TRUE(settle());
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    const QTreeWidget& list = window->palette().list();
    ASSERT_TRUE(list.isVisible());
    for (int row = 0; row < list.topLevelItemCount(); ++row)
      EXPECT_LE(list.fontMetrics().horizontalAdvance(list.topLevelItem(row)->text(1)) + 8, list.columnWidth(1))
          << list.topLevelItem(row)->text(1).toStdString();
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  }
}

TEST_F(WindowTest, ThePaletteHasEveryCommandAndRunsTheChosenOne) {
  window->canvas("atlas")->setFocus();
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  CommandPalette& palette = window->palette();
  ASSERT_TRUE(palette.isVisible());
  const int all = palette.list().topLevelItemCount();
  EXPECT_EQ(all, static_cast<int>(commandsOf(*window).size()));
  EXPECT_GT(all, 45);
  QTest::keyClicks(&palette.line(), "other th");
  ASSERT_GT(palette.list().topLevelItemCount(), 0);
  EXPECT_LT(palette.list().topLevelItemCount(), all);
  EXPECT_EQ(palette.list().topLevelItem(0)->text(1).toStdString(), "Other theme");
  EXPECT_EQ(palette.list().topLevelItem(0)->text(2).toStdString(), "Ctrl+T") << "its key is shown";
  const bool dark = window->workspace().theme().dark;
  QTest::keyClick(&palette.line(), Qt::Key_Return);
  EXPECT_NE(window->workspace().theme().dark, dark);
  EXPECT_FALSE(palette.isVisible());
  EXPECT_TRUE(window->canvas("atlas")->hasFocus()) << "back where it was";
}

TEST_F(WindowTest, ThePaletteKnowsWhatIsMeasuredAndWhatReplacesTheText) {
  CommandPalette& palette = window->palette();
  palette.open();
  QTest::keyClicks(&palette.line(), "measure");
  QStringList words;
  for (int row = 0; row < palette.list().topLevelItemCount(); ++row) words << palette.list().topLevelItem(row)->text(1);
  EXPECT_THAT(words, ::testing::Contains(QString("Which head breaks the answer? (Measure every head)")));
  EXPECT_THAT(words, ::testing::Contains(QString("What would have saved the answer? (Measure the lowest budgets)")));
  palette.line().clear();
  for (const char* typed : {"bookm", "show bookm", "Show Bookmarks"}) {
    palette.line().clear();
    QTest::keyClicks(&palette.line(), typed);
    ASSERT_GT(palette.list().topLevelItemCount(), 0);
    QStringList found;
    for (int row = 0; row < palette.list().topLevelItemCount(); ++row) found << palette.list().topLevelItem(row)->text(1);
    EXPECT_THAT(found, ::testing::Contains(QString("Show Bookmarks"))) << typed;
  }
  palette.line().clear();
  const QString sample = samplePrompts().front().title;
  QTest::keyClicks(&palette.line(), sample);
  ASSERT_GT(palette.list().topLevelItemCount(), 0);
  EXPECT_EQ(palette.list().topLevelItem(0)->text(1), "In place of the text: " + sample);
}

TEST_F(WindowTest, CommandsThatGoWhileThePaletteIsOpenAreNotItsAnyMore) {
  auto *typed_over = new QAction("Zebra crossing", window.get()), *chosen = new QAction("Zebra finch", window.get());
  CommandPalette& palette = window->palette();
  palette.open();
  delete typed_over;
  QTest::keyClicks(&palette.line(), "zebra");
  ASSERT_EQ(palette.list().topLevelItemCount(), 1);
  delete chosen;
  QTest::keyClick(&palette.line(), Qt::Key_Return);
  EXPECT_TRUE(palette.isVisible()) << "there was nothing to do";
  ASSERT_EQ(palette.list().topLevelItemCount(), 1);
  EXPECT_TRUE(palette.list().topLevelItem(0)->text(1).startsWith("No command has these letters"));
}

TEST_F(WindowTest, ThePaletteHasEveryCommandOnceAndTypedWordsFirst) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  QTreeWidget& list = window->palette().list();
  std::map<QString, QString> areas;
  for (int i = 0; i < list.topLevelItemCount(); ++i) {
    const QString area = list.topLevelItem(i)->text(0), text = list.topLevelItem(i)->text(1);
    if (area != "Sample prompts" && area != "Window") continue;
    EXPECT_TRUE(areas.emplace(text, area).second)
        << text.toStdString() << " in " << area.toStdString() << " and in " << areas[text].toStdString();
  }
  QTest::keyClicks(&window->palette().line(), "what is");
  EXPECT_EQ(list.topLevelItem(0)->text(1).toStdString(), "What is this?");
  window->palette().line().setText("head grid");
  EXPECT_EQ(list.topLevelItem(0)->text(1).toStdString(), "Go to Head grid");
  EXPECT_EQ(list.topLevelItem(1)->text(1).toStdString(), "Hide Head grid") << "it is shown, and would go";
  window->palette().line().setText("stop");
  for (int i = 0; i < list.topLevelItemCount(); ++i) {
    const QString row = list.topLevelItem(i)->text(0) + ' ' + list.topLevelItem(i)->text(1);
    EXPECT_TRUE(row.contains("stop", Qt::CaseInsensitive)) << row.toStdString() << ": letters strewn over other words are no answer";
  }
}

TEST_F(WindowTest, APaletteWithoutACommandSaysSoAndRunsNothing) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  CommandPalette& palette = window->palette();
  QTest::keyClicks(&palette.line(), "zzqx");
  ASSERT_EQ(palette.list().topLevelItemCount(), 1);
  EXPECT_TRUE(palette.list().topLevelItem(0)->text(1).startsWith("No command"));
  QTest::keyClick(&palette.line(), Qt::Key_Down);
  QTest::keyClick(&palette.line(), Qt::Key_Return);
  EXPECT_TRUE(palette.isVisible()) << "the letters can be changed";
  palette.line().setText("other th");
  EXPECT_EQ(palette.list().currentItem(), palette.list().topLevelItem(0));
}

TEST_F(WindowTest, ArrowsChooseInThePaletteAndEscapeDoesNothing) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  CommandPalette& palette = window->palette();
  QTest::keyClicks(&palette.line(), "play");
  const auto current = [&] { return palette.list().indexOfTopLevelItem(palette.list().currentItem()); };
  EXPECT_EQ(current(), 0);
  QTest::keyClick(&palette.line(), Qt::Key_Down);
  QTest::keyClick(&palette.line(), Qt::Key_Down);
  QTest::keyClick(&palette.line(), Qt::Key_Up);
  EXPECT_EQ(current(), 1);
  QTest::keyClick(&palette.line(), Qt::Key_Escape);
  EXPECT_FALSE(palette.isVisible());
  EXPECT_FALSE(window->model().playback.playing());
}

TEST_F(WindowTest, APaletteIsLeftByAShortcutToo) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  CommandPalette& palette = window->palette();
  ASSERT_TRUE(palette.isVisible());
  window->showPage(MainWindow::Page::inspector);
  ASSERT_TRUE(settle());
  window->canvas("inspector")->setFocus(Qt::OtherFocusReason);
  QApplication::processEvents();
  EXPECT_FALSE(palette.isVisible()) << "keys would act on what is below it";
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  QTest::keyClicks(&palette.line(), "which head");
  EXPECT_TRUE(palette.list().topLevelItem(0)->text(1).startsWith("Which head breaks"))
      << palette.list().topLevelItem(0)->text(1).toStdString();
}

/// Events are those of one run and of a range: of others they are searched anew, before anything is gone to.
TEST_F(WindowTest, EventsThatWereFoundAreThoseOfTheRunThatIsShown) {
  viz::Selection at = window->workspace().selection();
  at.lane = 1;
  window->workspace().setSelection(at);
  press(Qt::Key_F, Qt::ControlModifier);
  SearchBar& bar = window->rows().search();
  bar.scope().setCurrentIndex(static_cast<int>(SearchIn::events));
  QTest::keyClicks(&bar.line(), "evict");
  QTest::keyClick(&bar.line(), Qt::Key_Return);
  const auto isThere = [&] {  // what the bar says happened in the run that is shown, where it says
    const viz::Selection& s = window->workspace().selection();
    const auto& heads = snapshot().lanes[static_cast<std::size_t>(s.lane)].steps[static_cast<std::size_t>(*s.step)]->heads;
    return std::ranges::any_of(heads, [&](const HeadRecord& head) {
      return head.layer == s.layer && head.kv_head == s.kv_head &&
             std::ranges::any_of(head.events, [&](const Event& e) { return e.pos == s.tokens->first; });
    });
  };
  ASSERT_TRUE(bar.stateText().startsWith("1 of ")) << bar.stateText().toStdString();
  ASSERT_TRUE(isThere());
  press(Qt::Key_3, Qt::ControlModifier);
  ASSERT_EQ(window->workspace().selection().lane, 2);
  press(Qt::Key_F3);
  EXPECT_TRUE(bar.stateText().startsWith("1 of ")) << bar.stateText().toStdString();
  EXPECT_TRUE(isThere()) << bar.stateText().toStdString();
  const SearchResult here = searchFor({SearchIn::events, "evict"}, snapshot(), window->workspace().selection());
  EXPECT_TRUE(bar.stateText().startsWith(QString("1 of %1").arg(qs(viz::format_count(static_cast<std::int64_t>(here.hits.size()))))))
      << bar.stateText().toStdString();
  at = window->workspace().selection();
  at.steps = viz::StepRange{3, 4};
  window->workspace().setSelection(at);
  EXPECT_TRUE(
      waitFor([&] { return bar.stateText() == "none" || bar.stateText().endsWith("places") || bar.stateText().endsWith("place"); }, 5000))
      << bar.stateText().toStdString();
}

}  // namespace
}  // namespace kvscope
