// SPDX-License-Identifier: Apache-2.0
// The prompt as a message to a chat model: the text is what the model sees, and undo, files and typing keep to that.
#include <QInputDialog>
#include <QMenu>
#include <QTimer>
#include <QToolButton>

#include "app/window/panels/prompt/chat_button.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/session/session_file.h"
#include "paths.h"
#include "policy/text/lane_edits.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class ChatTest : public WindowTest {
 protected:
  void SetUp() override {
    options.model = in_checkout("tests/data/gguf/tiny.gguf");
    options.lanes = {"h2o:slots=8"};
    WindowTest::SetUp();
    window->controller().setPrompt("hi");
    ASSERT_TRUE(settle());
  }
  ChatButton& button() { return *window->panel("prompt")->content()->findChild<ChatButton*>(); }
  PromptEditor& editor() { return *window->panel("prompt")->content()->findChild<PromptEditor*>(); }
  void click() {
    QTest::mouseClick(&button(), Qt::LeftButton, {}, QPoint(8, button().height() / 2));
    ASSERT_TRUE(settle());
  }
  std::string text() { return editor().exactText().toStdString(); }
  const RunRequest& request() { return window->controller().request(); }
  int nSpecial() const {
    return static_cast<int>(std::count_if(snapshot().tokens.begin(), snapshot().tokens.begin() + snapshot().n_prompt,
                                          [](const TokenInfo& t) { return t.special; }));
  }
  /// Answers the question for the system's message.
  void saySystem(const QString& words) {
    QTimer::singleShot(0, this->window.get(), [this, words] {
      auto* dialog = window->findChild<QInputDialog*>();
      if (!dialog) dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      dialog->setTextValue(words);
      dialog->accept();
    });
    button().menu()->actions().front()->trigger();
    ASSERT_TRUE(settle());
  }
};

TEST_F(ChatTest, WritesTheTemplateAroundTheWordsAndTakesItAwayAgain) {
  ASSERT_TRUE(button().isVisible());
  EXPECT_EQ(nSpecial(), 1) << "the start token";
  click();
  EXPECT_EQ(text(), "<|begin|>user: hi<|end|>");
  EXPECT_TRUE(button().isChecked());
  EXPECT_EQ(nSpecial(), 2);
  EXPECT_EQ(snapshot().prompt, text());
  const TokenInfo& last = snapshot().tokens[static_cast<std::size_t>(snapshot().n_prompt - 1)];
  EXPECT_EQ(last.text_end - last.text_begin, 7) << "the name of the token stands in the text";
  EXPECT_FALSE(editor().rectsOf(snapshot().n_prompt - 1).empty());
  click();
  EXPECT_EQ(text(), "hi");
  EXPECT_FALSE(button().isChecked());
  EXPECT_EQ(nSpecial(), 1);
}

TEST_F(ChatTest, TypedNamesAreTextUntilItIsAChat) {
  editor().setExactText("hi<|end|>");
  ASSERT_TRUE(settle());
  EXPECT_EQ(nSpecial(), 1);
  EXPECT_EQ(request().prompt_text, PromptText::plain);
}

TEST_F(ChatTest, WordsTypedIntoItStayAMessage) {
  click();
  QTextCursor cursor = editor().textCursor();
  cursor.setPosition(static_cast<int>(std::string("<|begin|>user: hi").size()));
  editor().setTextCursor(cursor);
  editor().setFocus();
  QTest::keyClicks(&editor(), " you");
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().prompt, "<|begin|>user: hi you<|end|>");
  EXPECT_EQ(nSpecial(), 2);
  click();
  EXPECT_EQ(text(), "hi you");
}

TEST_F(ChatTest, SelectingAllAndTypingAnewWritesAnotherMessage) {
  EXPECT_EQ(button().text(), "Chat: off");
  click();
  EXPECT_EQ(button().text(), "Chat: on");
  editor().setFocus();
  QTest::keyClick(&editor(), Qt::Key_A, Qt::ControlModifier);
  EXPECT_EQ(editor().textCursor().selectedText(), "hi") << "the words, not what the template writes around them";
  QTest::keyClicks(&editor(), "oh, you");
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "<|begin|>user: oh, you<|end|>");
  EXPECT_EQ(request().prompt_text, PromptText::chat);
  QTest::keyClick(&editor(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(&editor(), Qt::Key_A, Qt::ControlModifier);
  EXPECT_EQ(editor().textCursor().selectedText(), "<|begin|>user: oh, you<|end|>") << "once more: everything";
}

TEST_F(ChatTest, UndoAndRedoGoBetweenWordsAndMessage) {
  click();
  editor().setFocus();
  QTest::keyClick(&editor(), Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "hi");
  EXPECT_EQ(request().prompt_text, PromptText::plain);
  EXPECT_FALSE(button().isChecked());
  QTest::keyClick(&editor(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "<|begin|>user: hi<|end|>");
  EXPECT_EQ(request().prompt_text, PromptText::chat);
  EXPECT_TRUE(button().isChecked());
}

TEST_F(ChatTest, TheSystemsMessageIsWrittenChangedAndTakenAway) {
  click();
  saySystem("Be short.");
  EXPECT_EQ(text(), "<|begin|>system: Be short.<|end|>user: hi<|end|>");
  EXPECT_EQ(nSpecial(), 3);
  saySystem("Be long.");
  EXPECT_EQ(text(), "<|begin|>system: Be long.<|end|>user: hi<|end|>");
  saySystem("");
  EXPECT_EQ(text(), "<|begin|>user: hi<|end|>");
}

TEST_F(ChatTest, AnEditByHandKeepsItsToken) {
  editor().setExactText("hi hi hi oh");
  ASSERT_TRUE(settle());
  const auto last_id = [this] { return snapshot().tokens[static_cast<std::size_t>(snapshot().n_prompt - 1)].id; };
  const int token = snapshot().n_prompt - 2, id = snapshot().tokens[static_cast<std::size_t>(token)].id;
  ASSERT_NE(id, last_id());
  window->controller().addLane(QString("h2o:slots=50@evict=%1,step=0").arg(token));
  ASSERT_TRUE(settle());
  const auto edited = [this] { return edits_of(request().lanes.back().text).what_ifs.at(0).positions.at(0); };
  ASSERT_EQ(edited(), token);
  click();
  ASSERT_TRUE(settle());
  EXPECT_NE(edited(), token) << "what the template writes stands before it";
  EXPECT_EQ(snapshot().tokens[static_cast<std::size_t>(edited())].id, id);
  click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(edited(), token);
}

TEST_F(ChatTest, ATokenOfTheTemplateThatWasEditedTwiceIsOneToken) {
  click();
  const int token = snapshot().n_prompt - 1;  // <|end|>
  window->controller().addLane(QString("h2o:slots=50@pin=%1,step=0@evict=%1,step=1").arg(token));
  window->controller().addLane(QString("h2o:slots=60@evict=%1,step=1").arg(token));
  ASSERT_TRUE(settle());
  ASSERT_EQ(request().lanes.size(), 4u);
  QStringList told;
  QObject::connect(&window->model().hand, &HandEdits::said, [&](const QString& words) { told << words; });
  click();
  EXPECT_EQ(request().lanes.size(), 2u);
  told.removeAll(QString());
  ASSERT_FALSE(told.isEmpty());
  EXPECT_EQ(told.back(), "What was done by hand to a token is taken back: the text has it no more.");
}

TEST_F(ChatTest, AnotherTextInItsPlaceIsNoMessage) {
  click();
  editor().setExactText("Once upon a time");
  ASSERT_TRUE(settle());
  EXPECT_EQ(request().prompt_text, PromptText::plain);
  EXPECT_EQ(nSpecial(), 1);
  EXPECT_FALSE(button().isChecked());
}

TEST_F(ChatTest, ASessionKeepsIt) {
  click();
  SavedSession session;
  session.request = request();
  const ReadSession read = parseSession(sessionJson(session), "session");
  EXPECT_TRUE(read.notes.isEmpty()) << read.notes.join(" ").toStdString();
  EXPECT_EQ(read.session.request.prompt_text, PromptText::chat);
  EXPECT_EQ(read.session.request.prompt, "<|begin|>user: hi<|end|>");
}

using NoChatTest = WindowTest;

TEST_F(NoChatTest, AModelWithoutATemplateHasNoButton) {
  EXPECT_FALSE(window->panel("prompt")->content()->findChild<ChatButton*>()->isVisible());
}

}  // namespace
}  // namespace kvscope
