// SPDX-License-Identifier: Apache-2.0
// Time stamps on the way from an input to its picture, the window over made-up runs, and scripts of inputs.
#include "app/window/diagnostics/latency.h"

#include <QLabel>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "app/window/diagnostics/latency_hud.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/budget_box.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using Part = Latency::Stage;

TEST(DurationsTest, QuantilesAreValuesThatOccurred) {
  Durations d;
  EXPECT_TRUE(d.quantile(0.5) != d.quantile(0.5)) << "none is no zero";
  for (int i = 100; i >= 1; --i) d.add(i);
  EXPECT_EQ(d.quantile(0.5), 50);
  EXPECT_EQ(d.quantile(0.95), 95);
  EXPECT_EQ(d.quantile(0.99), 99);
  EXPECT_EQ(d.quantile(1), 100);
  EXPECT_EQ(d.newest(), 1);
  for (int i = 0; i < 5000; ++i) d.add(7);
  EXPECT_EQ(d.n(), 4096u) << "the newest ones";
  EXPECT_EQ(d.quantile(1), 7);
}

TEST_F(WindowTest, AKeyLeavesAStampAtEveryStage) {
  Latency& latency = window->timing().latency();
  latency.clear();
  QTest::keyClick(&window->work().prompt().editor(), Qt::Key_X);
  ASSERT_TRUE(waitFor([&] { return latency.of(Part::view).n() == 1; }, 30000));
  double sum = 0;
  for (const Part stage : {Part::command, Part::waiting, Part::engine, Part::hand_over, Part::paint}) {
    ASSERT_EQ(latency.of(stage).n(), 1u) << Latency::nameOf(stage);
    EXPECT_GE(latency.of(stage).newest(), 0) << Latency::nameOf(stage);
    sum += latency.of(stage).newest();
  }
  EXPECT_NEAR(latency.of(Part::view).newest(), sum, 0.01) << "the stages are the whole way";
  EXPECT_LE(latency.of(Part::published).newest(), latency.of(Part::view).newest());
  EXPECT_GE(latency.of(Part::submit).n(), 1u);
  EXPECT_GE(latency.frames(), 1u);
}

TEST_F(WindowTest, TheFirstEditIsSentAtOnceAndThoseRightAfterItTogether) {
  SessionController& controller = window->controller();
  QTest::qWait(100);  // no edit before this one
  QSignalSpy sent(&controller, &SessionController::submitted);
  const QString text = QString::fromStdString(controller.request().prompt);
  controller.setPrompt(text + " a");
  EXPECT_EQ(sent.size(), 1) << "before the event loop runs";
  controller.setPrompt(text + " ab");
  controller.setPrompt(text + " abc");
  EXPECT_EQ(sent.size(), 1);
  ASSERT_TRUE(waitFor([&] { return sent.size() > 1; }, 3000));
  ASSERT_TRUE(waitFor([&] { return !window->workspace().stale(); }, 30000));
  QTest::qWait(100);
  EXPECT_EQ(sent.size(), 2) << "one request for both";
  EXPECT_EQ(window->workspace().snapshot().prompt, (text + " abc").toStdString());
}

TEST_F(WindowTest, F12ShowsHowLongThingsTakeAndThenNothingIsPainted) {
  LatencyHud& hud = window->timing().hud();
  EXPECT_FALSE(hud.isVisible());
  press(Qt::Key_F12);
  ASSERT_TRUE(hud.isVisible());
  EXPECT_EQ(hud.lines().size(), Latency::kStages);
  EXPECT_TRUE(hud.lines().join('\n').contains("input to view"));
  QTest::qWait(500);
  const quint64 frames = window->timing().latency().frames();
  QTest::qWait(1000);
  EXPECT_EQ(window->timing().latency().frames(), frames) << "looking at it is no reason to draw";
  press(Qt::Key_F12);
  EXPECT_FALSE(hud.isVisible());
}

TEST(SyntheticWindowTest, ShowsMadeUpRunsAndSaysSo) {
  Options options;
  options.picture = "unused.png";
  options.synthetic_size = SyntheticSize{.n_layers = 3, .n_kv_heads = 2, .n_prompt = 700, .n_generated = 3};
  MainWindow window(options, startState(options));
  window.show();
  ASSERT_TRUE(waitFor([&] { return window.timing().synthetic()->done(); }, 30000));
  const Snapshot& s = window.workspace().snapshot();
  EXPECT_EQ(s.lanes.size(), 4u);
  EXPECT_EQ(s.model.n_layers, 3);
  EXPECT_EQ(s.n_prompt, 700);
  EXPECT_TRUE(window.notices().isVisible());
  EXPECT_TRUE(window.notices().text().contains("no model has run")) << window.notices().text().toStdString();
  EXPECT_TRUE(window.windowTitle().contains("synthetic"));
  EXPECT_TRUE(window.findChild<ElidedLabel*>("modelFacts")->text().contains("synthetic"));
  EXPECT_EQ(window.work().prompt().editor().exactText().toStdString(), s.prompt);
  ASSERT_TRUE(waitFor([&] { return window.timing().latency().openMs().has_value(); }, 30000));
  const auto shown = window.workspace().snapshotPtr();
  const std::vector<QWidget*> off = {buttonOf(window, "Generate"), window.rows().tools().policyBox(), window.rows().tools().budgetSlider(),
                                     window.rows().tools().budgetBox()};
  for (QWidget* w : off) {
    ASSERT_NE(w, nullptr);
    EXPECT_FALSE(w->isEnabled()) << w->accessibleName().toStdString();
  }
  EXPECT_TRUE(off[0]->toolTip().contains("made up")) << off[0]->toolTip().toStdString();
  EXPECT_EQ(window.rows().tools().policyBox()->placeholderText().toStdString(), window.workspace().lane()->title) << "not an empty list";
  EXPECT_EQ(window.rows().tools().budgetBox()->value(), window.workspace().lane()->slots_asked);
  for (const QLabel* label : window.findChildren<QLabel*>()) {
    EXPECT_FALSE(label->text().contains(", ,")) << label->text().toStdString();
    EXPECT_FALSE(label->text().endsWith(", 0 ms")) << label->text().toStdString();
  }
  window.controller().generate(40);
  QTest::qWait(200);
  EXPECT_EQ(window.workspace().snapshotPtr(), shown) << "an edit changes nothing";
  EXPECT_FALSE(window.workspace().stale());
}

struct Played {
  int status = -1;
  QString out, err;
};

Played play(const QByteArray& script, const QString& output = {}) {
  QTemporaryDir folder;
  QFile file(folder.filePath("ui.json"));
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(script);
  file.close();
  QProcess process;
  if (!output.isEmpty()) process.setStandardOutputFile(output);
  process.start(KVSCOPE_PROGRAM, {"--synthetic", "2x2x600", "--size", "1200x800", "--bench-ui", file.fileName()});
  EXPECT_TRUE(process.waitForFinished(90000));
  return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

TEST(BenchUiTest, PlaysItsInputsAndLeavesWithOnePastALimit) {
  const QByteArray wide =
      R"({"actions": [{"do": "scrub", "times": 6, "warm_up": 1, "gates": {"submit": {"p95": 1e9}}}, {"do": "pan", "times": 4},
          {"do": "zoom", "times": 4}, {"do": "hover", "times": 4}, {"do": "page", "times": 4}], "gates": {"open": {"max": 1e9}}})";
  const Played within = play(wide);
  EXPECT_EQ(within.status, 0) << within.out.toStdString() << within.err.toStdString();
  for (const char* word : {"scrub", "pan", "zoom", "hover", "page", "p95", "within"})
    EXPECT_TRUE(within.out.contains(word)) << word << "\n" << within.out.toStdString();
  const Played past = play(R"({"actions": [{"do": "scrub", "times": 3, "gates": {"submit": {"p50": 0}}}]})");
  EXPECT_EQ(past.status, 1);
  EXPECT_TRUE(past.out.contains("p50 PAST 0")) << past.out.toStdString();
  const Played unmeasured = play(R"({"actions": [{"do": "scrub", "times": 3, "gates": {"nothing": {"p50": 9}}}]})");
  EXPECT_EQ(unmeasured.status, 1) << "a limit on nothing is no success";
}

TEST(BenchUiTest, FiguresThatNobodyGotAreNoSuccess) {
  const Played played = play(R"({"actions": [{"do": "scrub", "times": 2}]})", "/dev/full");
  EXPECT_EQ(played.status, 1);
  EXPECT_TRUE(played.err.contains("is the disk full")) << played.err.toStdString();
}

TEST(BenchUiTest, AScriptThatCannotBeReadLeavesWithTwoAndAReason) {
  for (const auto& [script, reason] : {std::pair{"{", "JSON"},
                                       {R"({"actions": [{"do": "juggle"}]})", "juggle"},
                                       {R"({"actions": [{"do": "scrub", "gates": {"submit": {"p77": 4}}}]})", "p77"}}) {
    const Played played = play(script);
    EXPECT_EQ(played.status, 2);
    EXPECT_TRUE(played.err.contains(reason)) << played.err.toStdString();
  }
}

}  // namespace
}  // namespace kvscope
