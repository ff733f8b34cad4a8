// SPDX-License-Identifier: Apache-2.0
// Files that are opened: what is taken as a prompt, what is refused, and how long a refusal stands.
#include <QClipboard>
#include <QMimeData>
#include <QTemporaryDir>

#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_mode.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_file.h"
#include "core/error.h"
#include "paths.h"
#include "window/support/file_bytes.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class OpenTest : public WindowTest {
 protected:
  QString file(const QString& name, const QByteArray& bytes) {
    write(folder.filePath(name), bytes);
    return folder.filePath(name);
  }
  std::string notice() const { return window->notices().isVisible() ? window->notices().text().toStdString() : "nothing"; }
  const std::string& prompt() const { return window->controller().request().prompt; }
  bool noticeHas(const std::string& part) const { return notice().find(part) != std::string::npos; }

  const QByteArray png = QByteArray("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  QTemporaryDir folder;
};

TEST_F(OpenTest, WhatIsNoTextIsRefusedWithARemedyAndThePromptStays) {
  const std::pair<QString, const char*> cases[] = {
      {file("numbers.json", R"({"rows": [1, 2]})"), "this is no session of kvscope; to use its text as a prompt, paste it"},
      {file("nothing.json", ""), "got an empty file; copy the file again"},
      {file("nothing.kvscope", ""), "got an empty file; copy the file again"},
      {file("half.kvscope", sessionJson(window->document().session()).left(300)), "it is cut short or damaged; copy the file again"},
      {file("picture.txt", png), "expected a text, got a picture (PNG): a text in UTF-8, a model"},
      {file("photo.jpg", "\xFF\xD8\xFF\xE0 JFIF"), "got a picture (JPEG)"},
      {file("paper.pdf", "%PDF-1.5\n\xD0\xD4"), "got a PDF"},
      {file("numbers.bin", QByteArray("\1\0\2\0", 4)), "got a file of another kind"},
      {file("latin.txt", "caf\xE9 cr\xE8me"), "expected text in UTF-8, got other bytes: save the file as UTF-8 text"},
      {file("utf16.txt", QByteArray("\xFF\xFE"
                                    "a\0",
                                    4)),
       "save the file as UTF-8 text"},
  };
  for (const auto& [path, why] : cases) {
    window->openFile(path);
    EXPECT_TRUE(noticeHas(why)) << notice();
    EXPECT_TRUE(noticeHas(path.toStdString())) << notice();
    EXPECT_EQ(prompt(), *options.prompt) << path.toStdString();
  }
  const QString text = QString::fromUtf8("日本語 سلام 👩‍👩‍👧 ❤️\ttext\n");
  window->openFile(file("text.txt", text.toUtf8()));
  EXPECT_EQ(prompt(), text.toStdString());
  EXPECT_EQ(notice(), "nothing") << "the next file opened well";
}

TEST_F(OpenTest, WhatIsSaidInPassingOfAFileGoesWithIt) {
  const auto passing = [this] {
    const PassingWords& words = window->rows().passing();
    return words.isVisible() ? words.text().toStdString() : "nothing";
  };
  for (const QString& other : {QString::fromStdString(in_checkout("tests/golden/tiny-gqa-prefill-keepkv1.json")),
                               file("other.kvscope", sessionJson(window->document().session()))}) {
    if (window->controller().viewOnly()) window->document().openSample();
    window->openFile(file("text.txt", "Once upon a time"));
    ASSERT_EQ(passing(), "text.txt is the prompt now");
    ASSERT_TRUE(settle());
    window->controller().setLaneSpec(1, QString("h2o:slots=7"));
    ASSERT_EQ(passing(), "text.txt is the prompt now") << "it still is";
    window->openFile(other);
    ASSERT_TRUE(waitFor([&] { return prompt() != "Once upon a time"; }, 30000));
    EXPECT_EQ(passing(), "nothing") << other.toStdString();
  }
}

TEST_F(OpenTest, ASessionIsOneUnderAnotherName) {
  SavedSession session = window->document().session();
  session.request.prompt = "of a session";
  window->openFile(file("copy.json", sessionJson(session)));
  EXPECT_EQ(prompt(), "of a session");
}

TEST_F(OpenTest, TheEditorLeavesFilesThatAreNoTextToTheWindow) {
  PromptEditor& editor = window->work().prompt().editor();
  const auto takes = [&](const QString& path) {
    auto* dropped = new QMimeData;
    dropped->setUrls({QUrl::fromLocalFile(path)});
    QApplication::clipboard()->setMimeData(dropped);
    return editor.canPaste();
  };
  EXPECT_TRUE(takes(file("a.txt", "a")));
  EXPECT_FALSE(takes(file("a.json", "{}")));
  EXPECT_FALSE(takes(file("a.kvscope", "{}")));
}

TEST_F(OpenTest, OneRefusalStandsOnceAndAnOfferOfSomethingElseStays) {
  const QString picture = file("picture.txt", png);
  window->controller().refused(window->work().prompt().editor().loadFile(picture));  // as after a drop on the editor
  ASSERT_TRUE(window->messages().isVisible());
  window->openFile(picture);
  EXPECT_TRUE(noticeHas("picture.txt"));
  EXPECT_FALSE(window->messages().isVisible());
  window->notices().show("the session before was not saved", {}, "Recover it", [] {});
  window->openFile(file("text.txt", "text"));
  EXPECT_TRUE(noticeHas("The session before was not saved")) << "it is about no file that was opened";
}

TEST_F(OpenTest, AnOfferThatNobodyAnsweredComesBackWhenWhatWasSaidOverItIsRead) {
  MessageBar& bar = window->notices();
  int n_recovered = 0;
  bar.show("The session of today was not saved.", {}, "Recover it", [&] { ++n_recovered; });
  window->openFile(file("half.kvscope", "{"));
  ASSERT_TRUE(noticeHas("half.kvscope"));
  EXPECT_EQ(buttonOf(bar, "Recover it"), nullptr) << "another message, another remedy";
  bar.dismiss();
  ASSERT_TRUE(noticeHas("was not saved")) << notice();
  QTest::mouseClick(buttonOf(bar, "Recover it"), Qt::LeftButton);
  EXPECT_EQ(n_recovered, 1);
  bar.dismiss();
  EXPECT_TRUE(bar.isHidden()) << "it was seen";
}

TEST_F(OpenTest, WhatIsToBeSaidAfterItWaitsUntilItIsRead) {
  MessageBar& bar = window->notices();
  bar.clear();
  bar.showAfter("The first.", {});
  bar.showAfter("The second.", {}, "Recover it", [] {});
  bar.showAfter("The third.", {});
  bar.showAfter("The fourth.", {});
  EXPECT_EQ(notice(), "The first.") << "nothing was said before it";
  EXPECT_EQ(buttonOf(bar, "Recover it"), nullptr);
  bar.show("An answer.", {});
  EXPECT_EQ(notice(), "An answer.") << "what happens now is said now";
  bar.dismiss();
  EXPECT_EQ(notice(), "The second.");
  EXPECT_NE(buttonOf(bar, "Recover it"), nullptr);
  bar.takeBack("The third.");
  bar.dismiss();
  EXPECT_EQ(notice(), "The fourth.");
  bar.dismiss();
  EXPECT_TRUE(bar.isHidden());
  bar.showAfter("The first.", {});
  bar.showAfter("The second.", {});
  bar.clear();
  bar.dismiss();
  EXPECT_TRUE(bar.isHidden());
}

TEST_F(OpenTest, ATextThatCannotBeReadAtTheStartIsSaidInTheWindow) {
  for (const QByteArray& bytes : {png, QByteArray(10 << 20, 'a')}) {
    Options start;
    start.file = start.prompt_file = file("start.txt", bytes).toStdString();
    start.journal = folder.path().toStdString();
    const StartState state = beginning(start);
    EXPECT_FALSE(state.request.prompt.empty()) << "the sample";
    start.picture = "unused.png";  // no settings are read or written
    MainWindow other(start, state);
    other.show();
    ASSERT_TRUE(waitUntilSettled(other, 60000));
    EXPECT_TRUE(other.notices().isVisible());
    EXPECT_TRUE(other.notices().text().contains("start.txt: expected")) << other.notices().text().toStdString();
    Options script = start;
    script.prompt_file = script.file;
    EXPECT_THROW(beginning(script), Error) << "who asks for a picture asked for one of this text";
  }
}

TEST_F(OpenTest, ALessonThatCannotBeReadAtTheStartIsSaidBesideTheShippedOne) {
  Options start;
  start.scenes = file("lesson.json", R"({"kvscope": "scenes", "version": 1, "scenes": []})").toStdString();
  start.view = "lecture";
  start.journal = folder.path().toStdString();
  const StartState state = beginning(start);
  start.picture = "unused.png";  // no settings are read or written
  MainWindow other(start, state);
  other.show();
  ASSERT_TRUE(waitUntilSettled(other, 60000));
  EXPECT_TRUE(other.notices().text().contains("expected at least one scene")) << other.notices().text().toStdString();
  EXPECT_GT(other.lectureMode().guide().nScenes(), 0) << "nobody stands before an empty page";
}

TEST_F(OpenTest, AFileKeepsTheLettersOfItsName) {
  window->controller().setPrompt("unsaved");
  SavedSession session = window->document().session();
  window->openFile(file("s1.kvscope", sessionJson(session)));
  EXPECT_TRUE(noticeHas("Opened s1.kvscope;")) << notice();
  window->notices().show("s1.kvscope is there", {});
  EXPECT_EQ(notice(), "s1.kvscope is there.");
}

}  // namespace
}  // namespace kvscope
