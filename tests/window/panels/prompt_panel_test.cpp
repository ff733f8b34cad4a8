// SPDX-License-Identifier: Apache-2.0
#include "window/panels/panel_fixture.h"

#include <cmath>

#include <gmock/gmock.h>
#include <QClipboard>
#include <QElapsedTimer>
#include <QInputMethodEvent>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QSet>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextLayout>
#include <QUrl>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_editor_layout.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/prompt_panel_legend.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {
namespace {

class PromptPanelTest : public PanelTest {
 protected:
  PromptPanelTest() { show(panel, 392, 480); }
  QString requested() const { return QString::fromStdString(controller.request().prompt); }
  /// Colour at the upper edge of a token's fill, above the letters.
  QColor fillOf(int token) {
    const auto rects = panel.editor().rectsOf(token);
    if (rects.empty()) return {};
    const QImage picture = panel.editor().viewport()->grab().toImage();
    const double ratio = picture.devicePixelRatio();
    return picture.pixelColor(static_cast<int>(rects[0].center().x() * ratio), static_cast<int>((rects[0].top() + 1) * ratio));
  }

  PromptPanel panel{workspace, controller};
};

const char* const kHardText =
    "a\u00A0b\u2028c \u200D👩‍👩‍👧 日本語 سلام e\u0301 ﬁ \U0001F1EB\U0001F1F7\tend\nline two\n";

/// Where a space stands beside the width at which a line breaks, the caret must not take the text with it.
TEST_F(PromptPanelTest, TheFirstLettersOfLinesStayWhole) {
  PromptEditor& editor = panel.editor();
  editor.setFocus();
  for (int width = 300; width < 400; width += 3) {
    panel.resize(width, 480);
    editor.setExactText(
        "It was a dark evening in the harbour and the ships were coming home slowly. The men on the pier were tired and wanted to go to "
        "sleep after a long day. The door number of Peter is 735. A small dog ran along the wall and looked at the sea, while the rain "
        "began to fall on the roofs and the lamps were lit one by one. What is the door number of Peter?");
    QApplication::processEvents();
    editor.moveCursor(QTextCursor::Start);
    for (int line = 0; line < 14; ++line) {
      QTest::keyClick(&editor, Qt::Key_End);
      ASSERT_EQ(editor.horizontalScrollBar()->value(), 0) << width << ", in line " << line;
      QTest::keyClick(&editor, Qt::Key_Down);
    }
  }
}

/// The line that says what to look for goes with the first letter, and the text grows: its frame must follow.
TEST_F(PromptPanelTest, TheFrameAroundTheTextIsWholeWhenTheLineBelowItGoes) {
  ASSERT_FALSE(samplePrompts().empty());
  panel.editor().setExactText(samplePrompts().front().text);
  panel.editor().setFocus();
  QTest::qWait(50);
  const int before = panel.editor().geometry().bottom();
  QTest::keyClick(&panel.editor(), Qt::Key_X);
  QTest::qWait(100);
  const QRect editor = panel.editor().geometry();
  ASSERT_GT(editor.bottom(), before);
  ASSERT_TRUE(panel.editor().writing());
  const QPoint edge(editor.center().x(), editor.bottom() + 3);
  const QPoint on_screen = panel.mapToGlobal(edge);
  const QImage screen = panel.screen()->grabWindow(0, on_screen.x(), on_screen.y() - 1, 1, 3).toImage();
  const QColor frame = toColor(workspace.theme().accent);
  bool found = false;
  for (int y = 0; y < screen.height(); ++y) found |= std::abs(screen.pixelColor(0, y).hue() - frame.hue()) < 12;
  EXPECT_TRUE(found) << screen.pixelColor(0, 1).name().toStdString() << " " << frame.name().toStdString();
}

TEST_F(PromptPanelTest, TheLegendCallsWhatTheFullCacheHoldsKept) {
  publish(synthetic::make_snapshot());
  const CategoryLegend& legend = *panel.findChild<CategoryLegend*>();
  ASSERT_GT(workspace.selection().lane, 0);
  EXPECT_EQ(legend.wordOf(Category::kept), "heavy");
  viz::Selection full = workspace.selection();
  full.lane = 0;
  workspace.setSelection(full);
  EXPECT_EQ(legend.wordOf(Category::kept), "kept") << "nothing was ranked";
  EXPECT_EQ(legend.wordOf(Category::sink), "sink");
}

TEST_F(PromptPanelTest, TheLegendSaysWhichFateIsLit) {
  publish(synthetic::make_snapshot());
  selectHead(4, 1);
  const CategoryLegend& legend = *panel.findChild<CategoryLegend*>();
  EXPECT_FALSE(legend.lit());
  const QImage before = panel.grab().toImage();
  workspace.setEmphasis(Category::sink);
  EXPECT_EQ(legend.lit(), Category::sink);
  EXPECT_EQ(legend.accessibleDescription(), "in full colour: sink; the others step back");
  EXPECT_NE(panel.grab(legend.geometry()).toImage(), before.copy(legend.geometry()));
  workspace.setEmphasis(std::nullopt);
  EXPECT_EQ(legend.accessibleDescription(), QString());
  EXPECT_EQ(panel.grab(legend.geometry()).toImage(), before.copy(legend.geometry()));
}

TEST_F(PromptPanelTest, WordsThatAreGoneDoNotOutshineThoseThatAreThere) {
  publish(synthetic::make_snapshot());
  selectHead(4, 1);
  TokenColours colours;
  colours.update(workspace);
  const auto of = [&](Category wanted) {
    int token = 0;
    while (colours.category(token) != wanted && token < workspace.snapshot().n_prompt) ++token;
    return colours.paint(token);
  };
  workspace.setEmphasis(Category::evicted);
  colours.update(workspace);
  const QColor panel_colour = toColor(workspace.theme().panel);
  EXPECT_GT(contrast(of(Category::kept).text, panel_colour), contrast(of(Category::evicted).text, panel_colour));
  EXPECT_TRUE(of(Category::kept).fill.isValid());
  EXPECT_TRUE(of(Category::evicted).outline.isValid()) << "hollow, as in the legend";
  EXPECT_FALSE(of(Category::kept).outline.isValid());
}

TEST_F(PromptPanelTest, KeepsEveryCharacterOfThePrompt) {
  const QString text = QString::fromUtf8(kHardText);
  panel.editor().setExactText(text);
  EXPECT_EQ(panel.editor().exactText(), text);
  EXPECT_EQ(controller.request().prompt, text.toStdString());
}

/// A file of another system has other line ends: a letter that is typed rewrites none of them.
TEST_F(PromptPanelTest, KeepsTheLineEndsOfAFileWhereNothingIsTyped) {
  PromptEditor& editor = panel.editor();
  editor.setExactText("a b\r\nc d\r\ne\rf");
  EXPECT_EQ(controller.request().prompt, "a b\r\nc d\r\ne\rf");
  QTextCursor cursor = editor.textCursor();
  cursor.setPosition(5);  // behind c
  editor.setTextCursor(cursor);
  QTest::keyClicks(&editor, "Q");
  EXPECT_EQ(controller.request().prompt, "a b\r\ncQ d\r\ne\rf");
  editor.setExactText("a b\ncQ d\ne\nf");
  EXPECT_EQ(controller.request().prompt, "a b\ncQ d\ne\nf") << "other line ends are another text";
}

TEST_F(PromptPanelTest, ATextThatIsNoPromptIsRefusedAtOnceAndHarmsNothing) {
  panel.editor().setExactText("my text");
  QString why;
  QObject::connect(&panel.editor(), &PromptEditor::refused, [&](const QString& words) { why = words; });
  QApplication::clipboard()->setText(QString(10 << 20, 'a'));
  QElapsedTimer clock;
  clock.start();
  panel.editor().paste();
  EXPECT_LT(clock.elapsed(), 1000);
  EXPECT_EQ(panel.editor().exactText(), "my text");
  EXPECT_TRUE(why.contains("10.0 MiB")) << why.toStdString();
  QApplication::clipboard()->setText("!");
  panel.editor().paste();
  EXPECT_TRUE(panel.editor().exactText().contains('!')) << "what is no more than a prompt is taken";
}

TEST_F(PromptPanelTest, APictureTakesNoSelectedTextAway) {
  PromptEditor& editor = panel.editor();
  editor.setExactText("my text");
  QString why;
  QObject::connect(&editor, &PromptEditor::refused, [&](const QString& words) { why = words; });
  QApplication::clipboard()->setImage(QImage(2, 2, QImage::Format_RGB32));
  editor.selectAll();
  editor.paste();
  EXPECT_EQ(editor.exactText(), "my text");
  EXPECT_EQ(requested(), "my text");
  EXPECT_EQ(why, "The clipboard has no text: the prompt stays as it was");
  QMimeData picture;
  picture.setImageData(QImage(2, 2, QImage::Format_RGB32));
  QDropEvent drop(QPointF(5, 5), Qt::CopyAction, &picture, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(editor.viewport(), &drop);
  EXPECT_EQ(editor.exactText(), "my text");
}

/// Between words the layout would read to the end of the word for every line: a minute for these.
TEST_F(PromptPanelTest, AMegabyteWithoutASpaceIsBrokenAnywhereUntilItIsGone) {
  const auto mode = [this] { return panel.editor().document()->defaultTextOption().wrapMode(); };
  const QString one_word(1'000'000, 'x');
  panel.editor().setExactText("a few words");
  EXPECT_EQ(mode(), QTextOption::WrapAtWordBoundaryOrAnywhere);
  panel.editor().setExactText(one_word);
  QTest::qWait(50);
  EXPECT_EQ(mode(), QTextOption::WrapAnywhere);
  EXPECT_GT(panel.editor().document()->firstBlock().layout()->lineCount(), 1000);
  EXPECT_EQ(requested(), one_word);
  panel.editor().moveCursor(QTextCursor::End);
  QTest::keyClicks(&panel.editor(), " and more");
  EXPECT_TRUE(panel.editor().exactText().endsWith("x and more"));
  panel.editor().setExactText("a few words");
  EXPECT_EQ(mode(), QTextOption::WrapAtWordBoundaryOrAnywhere);
}

TEST_F(PromptPanelTest, AfterThatManyEmojiOfAParagraphTheOthersAreBoxesAndTheTextIsWhole) {
  const int most = SpacedTextLayout::kMostEmoji;
  const QString rocket = QString::fromUtf8("\U0001F680");
  const auto formats = [&] { return panel.editor().document()->firstBlock().layout()->formats(); };
  const QString few = "a " + rocket.repeated(most);
  panel.editor().setExactText(few);
  EXPECT_TRUE(formats().isEmpty());
  EXPECT_FALSE(panel.facts().contains("boxes"));
  const QString many = few + QString(" and " + rocket).repeated(3000);
  panel.editor().setExactText(many);
  EXPECT_EQ(panel.editor().exactText(), many);
  EXPECT_EQ(requested(), many);
  ASSERT_EQ(formats().size(), 1);
  EXPECT_EQ(formats()[0].start, few.size() + 5) << "from the first one too many on";
  EXPECT_EQ(formats()[0].length, many.size() - few.size() - 5);
  EXPECT_TRUE(panel.facts().contains("boxes for emoji after the first 2")) << panel.facts().toStdString();
  QTextCharFormat underlined;
  underlined.setFontUnderline(true);
  panel.editor().moveCursor(QTextCursor::Start);
  QInputMethodEvent composing("にほ", {{QInputMethodEvent::TextFormat, 0, 2, underlined}});
  QApplication::sendEvent(&panel.editor(), &composing);
  ASSERT_EQ(formats().size(), 2) << "and the line under what is composed";
  EXPECT_TRUE(formats()[0].format.fontUnderline());
  EXPECT_EQ(formats()[1].start, few.size() + 5 + 2);
  QInputMethodEvent cancelled("", {});
  QApplication::sendEvent(&panel.editor(), &cancelled);
  EXPECT_EQ(formats().size(), 1);
  QTextCursor last(panel.editor().document());
  last.movePosition(QTextCursor::End);
  last.insertText("\n" + rocket);
  EXPECT_TRUE(panel.editor().document()->lastBlock().layout()->formats().isEmpty()) << "another paragraph";
  panel.editor().setExactText(few);
  EXPECT_TRUE(formats().isEmpty());
}

TEST_F(PromptPanelTest, CopiesBackExactlyWhatWasWritten) {
  const QString text = QString::fromUtf8(kHardText);
  panel.editor().setExactText(text);
  panel.editor().selectAll();
  panel.editor().copy();
  EXPECT_EQ(QApplication::clipboard()->text(), text);
  panel.editor().clear();
  panel.editor().paste();
  EXPECT_EQ(panel.editor().exactText(), text);
}

TEST_F(PromptPanelTest, SendsEveryKeystrokeAtOnce) {
  QTest::keyClicks(&panel.editor(), "Hi");
  EXPECT_EQ(requested(), "Hi");
}

TEST_F(PromptPanelTest, TakesWhatAnInputMethodCommitsButNotWhatItComposes) {
  QInputMethodEvent composing("にほ", {});
  QApplication::sendEvent(&panel.editor(), &composing);
  panel.editor().viewport()->grab();  // paints the composition
  EXPECT_EQ(requested(), "");
  QInputMethodEvent commit;
  commit.setCommitString("日本");
  QApplication::sendEvent(&panel.editor(), &commit);
  EXPECT_EQ(requested(), "日本");
}

TEST_F(PromptPanelTest, ReplacesThePromptByADroppedFile) {
  panel.editor().setExactText("before");
  QTemporaryDir folder;
  QFile file(folder.filePath("prompt.txt"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("from a file 🙂\n");
  file.close();
  auto* drop = new QMimeData;
  drop->setUrls({QUrl::fromLocalFile(file.fileName())});
  QApplication::clipboard()->setMimeData(drop);
  panel.editor().paste();
  EXPECT_EQ(requested(), "from a file 🙂\n");
}

TEST_F(PromptPanelTest, ReplacesOnlyWhatDiffersAndNoHalfOfACharacter) {
  PromptEditor& editor = panel.editor();
  QTextCursor caret(editor.document());
  for (const QString text : {"one 👩 two", "one 👨 two", "👨 two", "👨 two two", "", "a\nb", "a\n\nb"}) {
    editor.setExactText(text);
    EXPECT_EQ(editor.exactText(), text);
    EXPECT_EQ(requested(), text);
  }
  editor.setExactText("left right");
  caret.setPosition(10);
  editor.setExactText("left and right");
  EXPECT_EQ(caret.position(), 14) << "what stays is not written anew";
}

TEST_F(PromptPanelTest, RefusesAFileThatIsNoText) {
  panel.editor().setExactText("before");
  QTemporaryDir folder;
  QFile file(folder.filePath("model.bin"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray("\x00\xff\xfe\x80junk", 8));
  file.close();
  EXPECT_THAT(panel.editor().loadFile(file.fileName()).toStdString(),
              ::testing::HasSubstr("model.bin: expected a text, got a file of another kind"));
  EXPECT_THAT(panel.editor().loadFile(folder.filePath("absent.txt")).toStdString(),
              ::testing::HasSubstr("absent.txt: cannot be opened for reading"));
  EXPECT_EQ(requested(), "before");
}

TEST_F(PromptPanelTest, ShowsAPromptThatCameFromElsewhere) {
  panel.editor().setExactText("typed");
  RunRequest request = controller.request();
  request.prompt = "opened";
  controller.replaceRequest(request);
  EXPECT_EQ(panel.editor().exactText(), "opened");
  EXPECT_EQ(requested(), "opened");
}

TEST_F(PromptPanelTest, OffersThreePromptsWhileTheEditorIsEmpty) {
  const auto buttons = panel.findChildren<QPushButton*>();
  ASSERT_EQ(buttons.size(), 4) << "and the menu of all";
  EXPECT_TRUE(buttons[0]->isVisible());
  QTest::mouseClick(buttons[0], Qt::LeftButton);
  EXPECT_THAT(controller.request().prompt, ::testing::EndsWith("The house number of Helen is"));
  EXPECT_FALSE(buttons[0]->isVisible());
  panel.editor().setExactText({});
  EXPECT_TRUE(buttons[0]->isVisible());
}

TEST_F(PromptPanelTest, TheTextThatIsWrittenInIsFramed) {
  panel.editor().setFocus();
  ASSERT_TRUE(panel.editor().hasFocus());
  const QImage with = panel.grab().toImage();
  const QPoint left(panel.editor().geometry().left() - 6, panel.editor().geometry().center().y());
  panel.editor().clearFocus();
  const QImage without = panel.grab().toImage();
  EXPECT_NE(with.pixel(left), without.pixel(left));
}

TEST_F(PromptPanelTest, CountsTokensBeforeAndAfterThePrompt) {
  panel.editor().clearFocus();
  publish(synthetic::make_snapshot());
  EXPECT_EQ(panel.facts(), "167 + 12 tokens");
}

TEST_F(PromptPanelTest, SaysHowMuchOfThePromptWasNotRead) {
  panel.editor().clearFocus();
  Snapshot s = textOf({"one", " two"});
  s.prompt += " three";
  publish(std::move(s));
  EXPECT_EQ(panel.facts(), "3 + 1 tokens · last 6 characters not read");
}

TEST_F(PromptPanelTest, FillsEachTokenByItsFateInTheSelectedHead) {
  publish(synthetic::make_snapshot());
  selectHead(4, 1);
  selectStep(2);
  const LaneSnapshot& lane = *workspace.lane();
  const auto fate = categories(*lane.fates, *lane.steps[2], 4 * 4 + 1, lane.sinks, false);
  std::array<int, kCategories> seen{};
  for (int t = 1; t < 100; ++t) {
    const auto rects = panel.editor().rectsOf(t);
    if (rects.empty() || rects[0].width() < 8 || rects[0].bottom() > panel.editor().viewport()->height()) continue;
    const Category c = fate[static_cast<std::size_t>(t)];
    const QColor tint = categoryTint(workspace.theme(), c);
    ASSERT_EQ(fillOf(t).name().toStdString(), (tint.isValid() ? tint : toColor(workspace.theme().panel)).name().toStdString())
        << "token " << t;
    ++seen[static_cast<std::size_t>(c)];
  }
  EXPECT_GT(seen[static_cast<std::size_t>(Category::kept)], 0);
  EXPECT_GT(seen[static_cast<std::size_t>(Category::merged)], 0);
  EXPECT_GT(seen[static_cast<std::size_t>(Category::evicted)], 0);
  EXPECT_GT(seen[static_cast<std::size_t>(Category::sink)], 0);
}

TEST_F(PromptPanelTest, CountsTheHeadsThatStillRepresentATokenWithoutASelectedHead) {
  publish(synthetic::make_snapshot());
  selectStep(5);
  const LaneSnapshot& lane = *workspace.lane();
  for (int t = 0; t < 179; ++t) {
    int n = 0;
    for (int h = 0; h < 24; ++h) {
      const Category c = categories(*lane.fates, *lane.steps[5], h, lane.sinks, false)[static_cast<std::size_t>(t)];
      if (c != Category::evicted && c != Category::unseen) ++n;
    }
    const bool seen = t <= lane.steps[5]->position;
    ASSERT_EQ(panel.editor().colours().representedBy(t), seen ? n : -1) << "token " << t;
  }
}

TEST_F(PromptPanelTest, DoesNotShowWhatWasNotReadYetAsEvicted) {
  synthetic::Shape shape;
  shape.n_prompt = 60;
  shape.slots = 20;
  shape.prefill = false;
  publish(synthetic::make_snapshot(shape));
  const CategoryLegend& legend = *panel.findChild<CategoryLegend*>();
  const TokenColours& colours = panel.editor().colours();
  selectStep(59);
  EXPECT_EQ(legend.unreadWords(), "");
  selectStep(40);
  EXPECT_EQ(legend.unreadWords(), "not read yet");
  for (const bool one_head : {false, true}) {
    if (one_head) selectHead(4, 1);
    EXPECT_FALSE(colours.paint(50).fill.isValid());
    EXPECT_EQ(colours.paint(50).text, toColor(workspace.theme().text)) << one_head;
  }
  int evicted = 0;
  while (colours.category(evicted) != Category::evicted) ASSERT_LT(++evicted, 40);
  EXPECT_NE(colours.paint(evicted).text, colours.paint(50).text);
  workspace.setEmphasis(Category::sink);
  EXPECT_NE(colours.paint(evicted).text, colours.paint(50).text);
}

TEST_F(PromptPanelTest, KeepsTextLegibleOnEveryColourOfTheRamp) {
  for (const viz::Theme* theme : {&viz::dark_theme(), &viz::light_theme()}) {
    QSet<QRgb> inks;
    for (int n = 1; n <= 1024; ++n) {
      const QColor fill = rampTint(*theme, n / 1024.0);
      ASSERT_GE(contrast(inkOn(*theme, fill), fill), 4.5) << n;
      inks << inkOn(*theme, fill).rgb();
    }
    EXPECT_EQ(inks.size(), 2) << "near greys look like a change of weight";
    EXPECT_FALSE(rampTint(*theme, 0).isValid()) << "no head: nothing is drawn";
  }
}

TEST_F(PromptPanelTest, KeepsTheColoursOfTheUnchangedTextWhileTyping) {
  publish(textOf({"one", " two", " three", " four"}));
  QTextCursor cursor(panel.editor().document());
  cursor.setPosition(7);  // behind " two"
  cursor.insertText("X");
  EXPECT_EQ(panel.editor().rectsOf(1).size(), 1u);
  EXPECT_EQ(panel.editor().rectsOf(2).size(), 1u);
  EXPECT_EQ(panel.editor().rectsOf(4).size(), 1u);
  EXPECT_EQ(panel.editor().spans().positionOf(4), 14);
}

TEST_F(PromptPanelTest, SelectsTheTokensOfTheSelectedText) {
  publish(textOf({"one", " two", " three", " four"}));
  panel.editor().moveCursor(QTextCursor::Start);
  for (int i = 0; i < 5; ++i) QTest::keyClick(&panel.editor(), Qt::Key_Right, Qt::ShiftModifier);
  ASSERT_TRUE(workspace.selection().tokens.has_value());
  EXPECT_EQ(*workspace.selection().tokens, (viz::TokenRange{1, 2})) << "one t";
}

TEST_F(PromptPanelTest, ACtrlClickedTokenJoinsTheSelectionOrLeavesIt) {
  publish(textOf({"one", " two", " three", " four"}));
  QWidget* viewport = panel.editor().viewport();
  QTest::mouseClick(viewport, Qt::LeftButton, Qt::ControlModifier, panel.editor().rectsOf(2)[0].center().toPoint());
  EXPECT_EQ(*workspace.selection().tokens, (viz::TokenRange{2, 2}));
  QTest::mouseClick(viewport, Qt::LeftButton, Qt::ControlModifier, panel.editor().rectsOf(4)[0].center().toPoint());
  EXPECT_EQ(viz::all_tokens(workspace.selection()), (std::vector<viz::TokenRange>{{2, 2}, {4, 4}}))
      << "what is between them is not selected";
  QTest::mouseClick(viewport, Qt::LeftButton, Qt::ControlModifier, panel.editor().rectsOf(2)[0].center().toPoint());
  EXPECT_EQ(viz::all_tokens(workspace.selection()), (std::vector<viz::TokenRange>{{4, 4}}));
}

/// Widest of the lines of an editor, as they were laid out, points.
double widestLine(const PromptEditor& editor) {
  double widest = 0;
  for (QTextBlock block = editor.document()->begin(); block.isValid(); block = block.next())
    for (int i = 0; i < block.layout()->lineCount(); ++i) widest = std::max(widest, block.layout()->lineAt(i).naturalTextWidth());
  return widest;
}

TEST_F(PromptPanelTest, LinesEndWhereTheScrollBarBegins) {
  std::vector<std::string> words;
  for (int i = 0; i < 90; ++i) words.push_back(" word" + std::to_string(i * i));
  publish(textOf(words));
  for (int height = 700; height > 200; height -= 7) {
    panel.resize(350, height);
    QApplication::processEvents();
    EXPECT_LE(widestLine(panel.editor()), panel.editor().viewport()->width()) << height;
  }
  for (int height = 200; height < 700; height += 7) {
    panel.resize(350, height);
    QApplication::processEvents();
    EXPECT_LE(widestLine(panel.editor()), panel.editor().viewport()->width()) << height;
  }
}

TEST_F(PromptPanelTest, TellsAllViewsWhichTokenIsUnderTheMouse) {
  publish(textOf({"one", " two", " three", " four"}));
  QTest::mouseMove(panel.editor().viewport(), panel.editor().rectsOf(3)[0].center().toPoint());
  QApplication::processEvents();
  EXPECT_EQ(workspace.hover().token, 3);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(&panel.editor(), &leave);
  EXPECT_FALSE(workspace.hover().token.has_value());
}

TEST_F(PromptPanelTest, FindsEveryVisibleTokenAtThePlaceWhereItIsDrawn) {
  publish(synthetic::make_snapshot());  // with emoji, Arabic, CJK and byte tokens
  int found = 0;
  for (int t = 1; t < 80; ++t) {
    for (const QRectF& rect : panel.editor().rectsOf(t)) {
      if (rect.width() < 4 || rect.bottom() > panel.editor().viewport()->height()) continue;
      ASSERT_EQ(panel.editor().tokenAt(rect.center().toPoint()), t);
      ++found;
    }
  }
  EXPECT_GT(found, 60);
}

TEST_F(PromptPanelTest, PutsTheCursorOnTheLineThatWasClickedAlsoBetweenTheLetters) {
  publish(textOf({"first line\n", "second line\n", "third"}));
  QTest::mouseClick(panel.editor().viewport(), Qt::LeftButton, {}, QPoint(30, 25 + 1));
  EXPECT_EQ(panel.editor().textCursor().blockNumber(), 1);
  QTest::mouseClick(panel.editor().viewport(), Qt::LeftButton, {}, QPoint(30, 50 - 1));
  EXPECT_EQ(panel.editor().textCursor().blockNumber(), 1);
  QTest::mouseClick(panel.editor().viewport(), Qt::LeftButton, {}, QPoint(30, 50 + 1));
  EXPECT_EQ(panel.editor().textCursor().blockNumber(), 2);
}

TEST_F(PromptPanelTest, BringsATokenSelectedElsewhereIntoSightWithoutMovingTheTextCursor) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("line " + std::to_string(i) + "\n");
  publish(textOf(lines));
  QWidget other;  // has the focus
  other.show();
  other.setFocus();
  panel.editor().clearFocus();
  const int place = panel.editor().textCursor().position();
  panel.editor().verticalScrollBar()->setValue(0);
  ASSERT_TRUE(panel.editor().rectsOf(90).empty());
  viz::Selection selection = workspace.selection();
  selection.tokens = viz::TokenRange{90, 90};
  workspace.setSelection(selection);
  EXPECT_FALSE(panel.editor().rectsOf(90).empty());
  EXPECT_EQ(panel.editor().textCursor().position(), place);
}

TEST_F(PromptPanelTest, BringsTheFirstTokenThatIsSpokenOfIntoSightUnlessOneIs) {
  Snapshot run = synthetic::make_snapshot();
  publish(run);
  selectHead(1, 1);
  selectStep(0);           // the newest are those of the prompt
  panel.resize(200, 300);  // a few lines
  QApplication::processEvents();
  PromptEditor& editor = panel.editor();
  editor.clearFocus();
  editor.verticalScrollBar()->setValue(0);
  const auto is_in_sight = [&](int token) {
    const auto rects = editor.rectsOf(token);
    return !rects.empty() && rects[0].top() >= 0 && rects[0].bottom() <= editor.viewport()->height();
  };
  const int newest = run.n_prompt - 1;
  ASSERT_FALSE(is_in_sight(newest));
  workspace.setEmphasis(Category::recent);
  EXPECT_GT(editor.verticalScrollBar()->value(), 0);
  const int there = editor.verticalScrollBar()->value();
  workspace.setEmphasis(std::nullopt);
  workspace.setEmphasis(Category::recent);
  EXPECT_EQ(editor.verticalScrollBar()->value(), there) << "one is to be seen";
  workspace.setEmphasis(Category::sink);
  EXPECT_EQ(editor.verticalScrollBar()->value(), 0);
}

// ---- generated tokens

TEST_F(PromptPanelTest, NamesEverythingThatTakesTheFocus) { EXPECT_THAT(unnamed(panel), ::testing::IsEmpty()); }

}  // namespace
}  // namespace kvscope
