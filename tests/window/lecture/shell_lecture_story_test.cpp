// SPDX-License-Identifier: Apache-2.0
// Story S1, a teacher in a lecture: every step of it by key, and again by mouse, on the embedded model. KVSCOPE_STORY_PICTURES names a
// folder for a picture of every step.
#include <functional>

#include <QDir>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenu>
#include <QSlider>
#include <QStyleOptionSlider>
#include <QTimer>
#include <QToolButton>

#include "app/window/help/welcome_page.h"
#include "app/window/lecture/lecture_bars.h"
#include "app/window/lecture/lecture_caption.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_file.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "window/lecture/lecture_fixture.h"
#include "window/support/file_dialog.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

const QString kTyped = "The cat sat on the mat because it";

class StoryTest : public LectureTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    options.theme = GetParam();
    LectureTest::SetUp();
  }

  void picture(const QString& name) {
    ASSERT_TRUE(settle());
    const QString folder = qEnvironmentVariable("KVSCOPE_STORY_PICTURES");
    if (folder.isEmpty()) return;
    ASSERT_TRUE(window->exports().picture().save(QDir(folder).filePath(QString("%1-%2.png").arg(name, GetParam()))));
  }
  bool idle() {
    return waitFor([this] { return snapshot().phase == RunPhase::idle && !window->workspace().stale(); }, 60000);
  }
  int asked() const { return snapshot().lanes[1].slots_asked; }
  /// (head, token) cells of the selected run that are gone after a step.
  int goneAt(int step) const {
    int n = 0;
    for (int h = 0; h < viz::n_heads_total(snapshot()); ++h)
      for (const Category c : viz::categories_of(snapshot(), *window->workspace().lane(), step, h)) n += c == Category::evicted;
    return n;
  }
  int gone() const { return goneAt(window->workspace().step()); }
  /// Of the selected run, for each token that the model says after the text.
  std::vector<double> klAfterTheText() const {
    std::vector<double> out;
    for (const StepPtr& step : window->workspace().lane()->steps)
      if (step->position >= snapshot().n_prompt) out.push_back(step->kl);
    return out;
  }
  void typeTheText() {
    QSet<int> widths;
    const auto watch = QObject::connect(&window->workspace(), &Workspace::snapshotChanged, [&] {
      if (snapshot().phase == RunPhase::idle) widths << snapshot().n_prompt;
    });
    press(Qt::Key_A, Qt::ControlModifier);
    QString so_far;
    for (const QChar c : kTyped) {
      QTest::keyClick(QApplication::focusWidget(), c.toLatin1());
      so_far += c;
      if (c != ' ') continue;
      // a pause of a speaker
      ASSERT_TRUE(waitFor([&] { return snapshot().prompt == so_far.toStdString() && snapshot().phase == RunPhase::idle; }, 30000));
    }
    ASSERT_TRUE(waitFor([this] { return snapshot().prompt == kTyped.toStdString() && snapshot().phase == RunPhase::idle; }, 60000));
    ASSERT_TRUE(idle());
    QObject::disconnect(watch);
    EXPECT_GE(widths.size(), 5) << "columns came while the text was typed";
    EXPECT_EQ(window->workspace().stepRecord()->position, snapshot().n_prompt - 1) << "the text as it was read, before the answer";
    EXPECT_EQ(gone(), 0) << "a budget of 100 % takes nothing";
    const auto now = viz::categories_of(snapshot(), *window->workspace().lane(), window->workspace().step(), 0);
    EXPECT_EQ(now[static_cast<std::size_t>(snapshot().n_prompt) - 1], Category::fresh) << "the newest column is the white one";
  }
  void scenes() {
    for (const auto& [id, category] :
         {std::pair("sink", Category::sink), {"heavy", Category::kept}, {"recent", Category::recent}, {"evicted", Category::evicted}}) {
      for (int i = 0; i < 9 && qs(window->lectureMode().guide().at(window->lectureMode().guide().scene()).id) != id; ++i)
        press(Qt::Key_PageDown);
      ASSERT_EQ(qs(window->lectureMode().guide().at(window->lectureMode().guide().scene()).id), QString(id));
      EXPECT_EQ(window->workspace().emphasis(), category);
      EXPECT_FALSE(window->lectureMode().caption().text().contains('{')) << window->lectureMode().caption().text().toStdString();
      picture(QString("s1-4-%1").arg(id));
    }
  }
  /// Step 7, into the handout and to the students. ask: opens the dialog that saves the session, or the one that exports.
  void handOut(const std::function<void(bool save)>& ask) {
    QTemporaryDir folder;
    const auto dialog = [&](const QString& file, const QString& kind, bool save) {
      window->activateWindow();  // without a window manager nobody else does once a dialog is gone
      EXPECT_TRUE(QTest::qWaitForWindowActive(window.get()));
      FileDialogAnswer answer(folder.filePath(file), kind);
      ask(save);
      EXPECT_TRUE(answer.answered()) << file.toStdString();
    };
    dialog("handout.png", "whole window", false);
    EXPECT_EQ(QImage(folder.filePath("handout.png")).size(), (QSizeF(window->size()) * window->devicePixelRatioF()).toSize());
    dialog("handout.svg", "SVG", false);
    QFile svg(folder.filePath("handout.svg"));
    ASSERT_TRUE(svg.open(QIODevice::ReadOnly));
    const QString picture_text = QString::fromUtf8(svg.readAll());
    EXPECT_TRUE(picture_text.contains(QString::fromStdString(snapshot().lanes[1].spec))) << "settings are stamped in";
    for (const char* name : {">sink<", ">heavy<", ">merged<", ">recent<", ">evicted<"}) EXPECT_TRUE(picture_text.contains(name)) << name;
    dialog("lecture", "Sessions", true);
    EXPECT_LT(QFileInfo(folder.filePath("lecture.kvscope")).size(), 5 << 20);
    EXPECT_FALSE(window->notices().isVisible()) << window->notices().text().toStdString();
    const std::vector<double> kl = klAfterTheText();
    const std::string prompt = snapshot().prompt;
    window.reset();  // a student's computer, where nothing but the program and the file is
    options.session = folder.filePath("lecture.kvscope").toStdString();
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    ASSERT_TRUE(waitFor([this, &prompt] { return snapshot().prompt == prompt && snapshot().lanes.size() == 4; }, 60000));
    ASSERT_TRUE(idle());
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->page(), MainWindow::Page::lecture);
    EXPECT_EQ(klAfterTheText(), kl) << "the same numbers";
    picture("s1-7-at-home");
  }
  /// A command of the menu behind the button, by mouse from menu to menu.
  void choose(const QStringList& path) {
    chooseByMouse(path, [this] { QTest::mouseClick(window->lectureMode().row().menuButton(), Qt::LeftButton); });
  }
};

TEST_P(StoryTest, ByKeyboardAlone) {
  // 1: the cards
  picture("s1-1-welcome");
  EXPECT_EQ(QApplication::focusWidget(), &window->firstSteps().welcome().sampleCard());
  press(Qt::Key_Tab);
  EXPECT_EQ(QApplication::focusWidget(), &window->firstSteps().welcome().lectureCard());
  // 2: the sample
  window->document().openSampleLecture();
  ASSERT_TRUE(waitFor([this] { return window->lectureMode().on() && snapshot().lanes.size() == 4; }, 60000));
  ASSERT_TRUE(idle());
  EXPECT_EQ(window->page(), MainWindow::Page::lecture);
  picture("s1-2-sample");
  // 3: typing
  press(Qt::Key_L, Qt::ControlModifier);
  ASSERT_EQ(QApplication::focusWidget(), &window->lectureMode().page().prompt().editor());
  typeTheText();
  picture("s1-3-typed");
  EXPECT_EQ(asked(), snapshot().n_prompt) << "a budget of 100 %";
  EXPECT_EQ(goneAt(snapshot().n_prompt - 1), 0) << "the whole text is there";
  // 4: the budget, slow motion, scenes
  press(Qt::Key_B, Qt::AltModifier);
  ASSERT_EQ(QApplication::focusWidget(), window->lectureMode().row().budgetSlider());
  const int quarter = (snapshot().n_prompt + 3) / 4;
  while (window->lectureMode().row().budgetSlider()->value() > quarter) press(Qt::Key_Left);
  ASSERT_TRUE(waitFor([&] { return asked() <= std::max(quarter, 5); }, 30000));
  ASSERT_TRUE(idle());
  EXPECT_EQ(Playback::kSpeeds[static_cast<std::size_t>(window->model().playback.speed())], 2)
      << "steps a second, unless somebody wants it faster";
  window->model().playback.setSpeed(5);
  press(Qt::Key_F8);
  ASSERT_TRUE(window->model().playback.playing());
  std::vector<int> greys;
  ASSERT_TRUE(waitFor(
      [&] {
        if (greys.empty() || greys.back() != gone()) greys.push_back(gone());
        return !window->model().playback.playing();
      },
      30000));
  EXPECT_GT(greys.size(), 5u) << "cells turn grey step by step";
  EXPECT_TRUE(std::is_sorted(greys.begin(), greys.end()));
  scenes();
  // 5: what may go? by hand
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(waitFor([&] { return asked() == snapshot().n_prompt; }, 30000)) << "the budget is taken back";
  ASSERT_TRUE(idle());
  press(Qt::Key_5, Qt::AltModifier);  // to the picture of all heads
  press(Qt::Key_Home, Qt::ControlModifier);
  for (int i = 0; i < snapshot().n_prompt - 1; ++i) press(Qt::Key_Right, Qt::ControlModifier);
  press(Qt::Key_Home);
  for (int i = 0; i < 2; ++i) press(Qt::Key_Right);
  press(Qt::Key_Return);
  press(Qt::Key_Right);
  press(Qt::Key_Return, Qt::ShiftModifier);
  ASSERT_TRUE(selection().tokens);
  EXPECT_EQ(viz::token_range_text(snapshot().tokens, selection().tokens->first, selection().tokens->last), "·cat");
  const std::vector<double> before = klAfterTheText();
  const int made_at = window->workspace().step();
  press(Qt::Key_E);
  ASSERT_TRUE(
      waitFor([this] { return snapshot().lanes.size() == 5 && selection().lane >= 1 && window->workspace().lane()->fork_of >= 0; }, 30000));
  ASSERT_TRUE(idle());
  EXPECT_EQ(window->workspace().step(), made_at) << "the step shown already sees it";
  const std::vector<double> after = klAfterTheText();
  double jump = 0;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) jump = std::max(jump, after[i] - before[i]);
  EXPECT_GT(jump, 0.01) << "the answer moves; how far depends on what the model says next";
  for (int h = 0; h < viz::n_heads_total(snapshot()); ++h) {
    const auto now = viz::categories_of(snapshot(), *window->workspace().lane(), window->workspace().step(), h);
    EXPECT_EQ(now[2], Category::evicted) << "in all heads, also in " << h;
    EXPECT_EQ(now[3], Category::evicted) << h;
  }
  const int scene = window->lectureMode().guide().scene();
  window->lectureMode().guide().goTo("missed");
  picture("s1-5-evicted-by-hand");
  EXPECT_TRUE(window->lectureMode().caption().text().contains("Evicted before it was needed"))
      << window->lectureMode().caption().text().toStdString();
  EXPECT_EQ(window->lectureMode().page().textPanel().facts(), "by hand: «·cat» evicted in all heads");
  EXPECT_TRUE(window->lectureMode().page().nextPanel().facts().contains(" → "))
      << window->lectureMode().page().nextPanel().facts().toStdString();
  EXPECT_TRUE(std::ranges::any_of(window->lectureMode().page().attention().shown(), [](const auto& row) {
    return row.state == viz::PairRow::State::gone;
  })) << "it would look where nothing is any more";
  window->lectureMode().guide().goTo(scene);
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 4; }, 30000));
  ASSERT_TRUE(idle());
  EXPECT_EQ(window->lectureMode().page().textPanel().facts(), "") << "what was taken back is not said";
  EXPECT_EQ(window->workspace().step(), made_at) << "and the picture is where it was";
  // 6: compare
  press(Qt::Key_5, Qt::AltModifier);
  press(Qt::Key_C);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  EXPECT_TRUE(window->lectureMode().on()) << "still in large type";
  picture("s1-6-compare");
  press(Qt::Key_C);
  EXPECT_EQ(window->page(), MainWindow::Page::lecture);
  handOut([this](bool save) { press(save ? Qt::Key_S : Qt::Key_E, Qt::ControlModifier); });
}

TEST_P(StoryTest, ByMouse) {
  const auto click = [](QWidget* w) { QTest::mouseClick(w, Qt::LeftButton); };
  window->document().openSampleLecture();
  ASSERT_TRUE(waitFor([this] { return window->lectureMode().on() && snapshot().lanes.size() == 4; }, 60000));
  ASSERT_TRUE(idle());
  QTest::mouseDClick(window->lectureMode().page().prompt().editor().viewport(), Qt::LeftButton, {}, QPoint(30, 12));
  ASSERT_EQ(QApplication::focusWidget(), &window->lectureMode().page().prompt().editor());
  typeTheText();
  // The handle of the slider, dragged to a quarter.
  QSlider* slider = window->lectureMode().row().budgetSlider();
  const auto place = [slider](double part) { return QPoint(12 + static_cast<int>(part * (slider->width() - 24)), slider->height() / 2); };
  const int before = window->model().undo.now().count();
  QTest::mousePress(slider, Qt::LeftButton, {}, place(1));
  for (double part = 1; part > 0.2; part -= 0.1) {
    QTest::mouseMove(slider, place(part));
    QMouseEvent move(QEvent::MouseMove, place(part), slider->mapToGlobal(place(part)), Qt::LeftButton, Qt::LeftButton, {});
    QApplication::sendEvent(slider, &move);
    QTest::qWait(40);
  }
  QTest::mouseRelease(slider, Qt::LeftButton, {}, place(0.2));
  ASSERT_TRUE(waitFor([&] { return asked() <= 5; }, 30000)) << asked();
  ASSERT_TRUE(idle());
  EXPECT_GT(gone(), 0);
  EXPECT_EQ(window->model().undo.now().count(), before + 1) << "one drag, one step back";
  // Scenes by their dots, play by its button.
  click(window->lectureMode().row().findChildren<QToolButton*>()[1]);
  EXPECT_TRUE(window->model().playback.playing());
  window->model().playback.play(false);
  SceneDots& dots = window->lectureMode().caption().dots();
  QTest::mouseClick(&dots, Qt::LeftButton, {}, dots.rectOf(2).center());
  EXPECT_EQ(window->workspace().emphasis(), Category::sink);
  // Two cells of the atlas, and E.
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(waitFor([&] { return asked() == snapshot().n_prompt; }, 30000)) << "the whole drag is taken back";
  ASSERT_TRUE(idle());
  viz::Selection at = selection();
  at.step = snapshot().n_prompt - 1;
  window->workspace().setSelection(at);
  ASSERT_TRUE(settle());
  CanvasWidget* atlas = nullptr;
  for (CanvasWidget* c : window->views().all())
    if (c->objectName() == "canvas_lecture") atlas = c;
  ASSERT_NE(atlas, nullptr);
  const viz::Mark* row = nullptr;
  for (const viz::Mark& m : atlas->view().marks())
    if (m.kind == "row" && m.label == "L2 H1") row = &m;
  ASSERT_NE(row, nullptr);
  const float px = (row->max.x - row->min.x) / static_cast<float>(snapshot().lanes[1].fates->n_tokens);
  const auto cell = [&](int token) {
    return QPoint(static_cast<int>(row->min.x + px * (static_cast<float>(token) + 0.5f)), static_cast<int>((row->min.y + row->max.y) / 2));
  };
  const QPoint first = cell(2), second = cell(3);
  QTest::mouseClick(atlas, Qt::LeftButton, {}, first);
  ASSERT_TRUE(waitFor([this] { return selection().tokens && selection().tokens->first == 2; }, 5000));
  QTest::mouseClick(atlas, Qt::LeftButton, Qt::ShiftModifier, second);
  ASSERT_TRUE(waitFor([this] { return selection().tokens && selection().tokens->last == 3; }, 5000));
  EXPECT_EQ(selection().tokens->first, 2);
  press(Qt::Key_E);
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 5; }, 30000));
  ASSERT_TRUE(idle());
  choose({"Edit", "Undo"});
  ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 4; }, 30000));
  ASSERT_TRUE(idle());
  // The last scene compares.
  QTest::mouseClick(&dots, Qt::LeftButton, {}, dots.rectOf(window->lectureMode().guide().nScenes() - 1).center());
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  EXPECT_TRUE(window->lectureMode().on()) << "still in large type";
  QTest::mouseClick(&dots, Qt::LeftButton, {}, dots.rectOf(0).center());
  EXPECT_EQ(window->page(), MainWindow::Page::lecture);
  handOut([this](bool save) { choose({"File", save ? "Save session" : "Export view"}); });
}

INSTANTIATE_TEST_SUITE_P(Themes, StoryTest, ::testing::Values("light", "dark"));

}  // namespace
}  // namespace kvscope
