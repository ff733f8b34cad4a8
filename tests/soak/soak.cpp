// SPDX-License-Identifier: Apache-2.0
// Uses the whole window for as long as it is told to: types and takes back, moves budgets, adds and removes runs, turns pages, saves and
// opens sessions, opens models. Everything is in a circle, so that what grows with the rounds is not given back. tests/soak/run measures.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <QApplication>
#include <QPixmapCache>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "app/window/diagnostics/script.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/shell/main_window.h"
#include "policy/catalog.h"

namespace kvscope {
namespace {

constexpr int kSettleMs = 120000;

class Soak {
 public:
  /// `only`: names of parts, none: all.
  Soak(MainWindow& window, QString folder, QStringList models, const QStringList& only)
      : m_window(window), m_folder(std::move(folder)), m_models(std::move(models)), m_start(window.controller().request()) {
    if (!only.isEmpty()) std::erase_if(m_parts, [&](const Part& part) { return !only.contains(part.name); });
  }
  bool empty() const { return m_parts.empty(); }

  /// Each once, in an order of its own. False: the window did not come to rest.
  bool round(int number) {
    m_round = number;
    std::shuffle(m_parts.begin(), m_parts.end(), m_random);
    for (const Part& part : m_parts) {
      (this->*part.play)();
      if (!waitUntilSettled(m_window, kSettleMs)) return false;
      if (!m_window.document().notOpened().isEmpty()) std::printf("round %d: %s\n", number, qPrintable(m_window.document().notOpened()));
    }
    m_window.controller().openRequest(m_start);  // edits do not add up
    return waitUntilSettled(m_window, kSettleMs);
  }

 private:
  void pause() { QTest::qWait(static_cast<int>(20 + m_random() % 80)); }

  void type() {
    m_window.showPage(Page::inspect);
    PromptEditor& editor = m_window.work().prompt().editor();
    editor.setFocus();
    editor.moveCursor(QTextCursor::End);
    const QString words = QString(" and %1 more").arg(m_round);
    for (const QChar c : words) {
      QTest::keyClick(&editor, c.toLatin1());
      if (m_random() % 3 == 0) pause();
    }
    pause();
    for (qsizetype i = 0; i < words.size(); ++i) QTest::keyClick(&editor, Qt::Key_Backspace);
  }

  void moveBudgets() {
    const int lanes = static_cast<int>(m_window.controller().request().lanes.size());
    m_window.controller().beginDrag();
    for (int i = 0; i < 20 && lanes > 1; ++i) {
      const int lane = 1 + static_cast<int>(m_random() % static_cast<unsigned>(lanes - 1));
      const std::string text = m_window.controller().request().lanes[static_cast<std::size_t>(lane)].text;
      m_window.controller().setLaneSpec(lane, QString::fromStdString(with_param(text, "slots", std::to_string(4 + m_random() % 30))));
      pause();
    }
    m_window.controller().endDrag();
  }

  void changeRuns() {
    m_window.controller().addLane(QString("tova:slots=%1").arg(6 + m_random() % 10));
    (void)waitUntilSettled(m_window, kSettleMs);
    m_window.controller().generate(8);
    pause();
    m_window.controller().stop();
    m_window.controller().removeLane(static_cast<int>(m_window.controller().request().lanes.size()) - 1);
  }

  void turnPages() {
    for (const Page page : {Page::inspect, Page::inspector, Page::compare, Page::sweep, Page::lecture, Page::welcome, Page::inspect}) {
      m_window.showPage(page);
      pause();
      viz::Selection selection;
      selection.lane = static_cast<int>(m_random() % m_start.lanes.size());
      selection.layer = static_cast<int>(m_random() % 2);
      m_window.workspace().setSelection(selection);
      pause();
    }
  }

  void keepSession() {
    const QString path = m_folder + QString("/soak-%1.kvscope").arg(m_round % 3);
    if (!m_window.document().save(path)) std::printf("round %d: not saved\n", m_round);
    (void)waitUntilSettled(m_window, kSettleMs);
    m_window.controller().setPrompt(QString("Something else, number %1.").arg(m_round));
    (void)waitUntilSettled(m_window, kSettleMs);
    m_window.openFile(path);
  }

  void openModel() { m_window.openFile(m_models[m_round % m_models.size()]); }

  struct Part {
    const char* name;
    void (Soak::*play)();
  };
  std::vector<Part> m_parts = {{"type", &Soak::type},       {"budgets", &Soak::moveBudgets},  {"runs", &Soak::changeRuns},
                               {"pages", &Soak::turnPages}, {"sessions", &Soak::keepSession}, {"models", &Soak::openModel}};
  MainWindow& m_window;
  const QString m_folder;
  const QStringList m_models;
  const RunRequest m_start;
  std::mt19937 m_random{27};
  int m_round = 0;
};

/// HOME is a folder that may be written. Arguments: minutes, names of the parts to play or "all", then models beside the one that comes
/// with the program.
int run(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: soak MINUTES all|PART,... [MODEL...]\n", stderr), 2;
  const std::chrono::duration<double, std::ratio<60>> length(std::atof(argv[1]));
  QApplication app(argc, argv);
  QApplication::setApplicationName("kvscope-soak");
  QTemporaryDir folder;
  Options options;
  options.prompt = "The house number of Helen is 482. What is the house number of Helen? The house number of Helen is";
  options.lanes = {"streaming:ratio=0.25", "h2o:ratio=0.25", "snapkv:ratio=0.25", "keepkv:ratio=0.25"};
  options.generate = 4;
  options.view_given = true;
  options.journal = folder.filePath("journal").toStdString();
  QStringList models{QString::fromStdString(builtInModel())};
  for (int i = 3; i < argc; ++i) models << argv[i];
  MainWindow window(options, startState(options));
  window.show();
  if (!QTest::qWaitForWindowExposed(&window) || !waitUntilSettled(window, kSettleMs)) return std::fputs("no result\n", stderr), 1;
  const QString parts = argv[2];
  Soak soak(window, folder.path(), models, parts == "all" ? QStringList() : parts.split(','));
  if (soak.empty()) return std::fprintf(stderr, "no such part: %s\n", argv[2]), 2;
  // Inside of exec(), as in the program: what is to be deleted later is deleted by its event loop alone.
  QTimer::singleShot(0, &app, [&] {
    int status = 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
    for (int round = 0; status == 0 && elapsed() < length; ++round) {
      if (!soak.round(round)) status = (std::fprintf(stderr, "round %d: no rest after %d s\n", round, kSettleMs / 1000), 1);
      QPixmapCache::clear();  // it fills for hours, up to its 10 MiB
      std::printf("%.1f %d %zu\n", std::chrono::duration<double>(elapsed()).count(), round + 1, ::mallinfo2().uordblks);
      std::fflush(stdout);
    }
    QApplication::exit(status);
  });
  return QApplication::exec();
}

}  // namespace
}  // namespace kvscope

int main(int argc, char** argv) { return kvscope::run(argc, argv); }
