// SPDX-License-Identifier: Apache-2.0
// What must hold whatever happens: no stale picture, one set of numbers everywhere, no lost work, every script.
#include <map>

#include <QClipboard>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRandomGenerator>
#include <QTemporaryDir>

#include "app/window/diagnostics/scene_dump.h"
#include "app/window/files/export.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"
#include "policy/catalog.h"
#include "trace/trace_writer.h"
#include "viz/draw/draw.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST_F(WindowTest, AThousandRapidEditsNeverShowAnOlderAnswerAfterANewerOne) {
  std::map<quint64, RunRequest> asked;
  QObject::connect(&window->controller(), &SessionController::submitted, window.get(),
                   [&](quint64 generation) { asked[generation] = window->controller().request(); });
  CanvasWidget* atlas = window->canvas("atlas");
  std::uint64_t drawn = atlas->drawnGeneration();
  int wrong = 0, frames = 0;
  QObject::connect(atlas, &CanvasWidget::painted, window.get(), [&] {
    ++frames;
    if (atlas->drawnGeneration() < drawn) ++wrong;
    drawn = atlas->drawnGeneration();
    const Snapshot& s = snapshot();
    const auto request = asked.find(s.generation);
    if (s.lanes.size() != 5 || request == asked.end()) return;
    // The picture is of the text and the budget that its generation was asked for.
    if (s.prompt != request->second.prompt || s.lanes[4].spec != request->second.lanes[4].text) ++wrong;
  });
  const std::string lane4 = lane(4);
  for (int i = 0; i < 1000; ++i) {
    if (i % 4 == 0)
      window->controller().setPrompt(QString("The house number of Helen is %1.").arg(i));
    else
      window->controller().setLaneSpec(4, QString::fromStdString(with_param(lane4, "slots", std::to_string(4 + i % 9))));
    if (i % 3 == 0) QApplication::processEvents();
    if (i % 100 == 99) QTest::qWait(60);  // now and then an answer gets through
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(frames, 3) << "some answers were shown on the way";
  EXPECT_EQ(snapshot().prompt, "The house number of Helen is 996.");
  EXPECT_EQ(snapshot().lanes[4].spec, lane(4));
  EXPECT_EQ(snapshot().generation, asked.rbegin()->first) << "at rest the newest is shown";
  const QJsonObject dump = QJsonDocument::fromJson(sceneDump({atlas}))["canvases"][0].toObject();
  EXPECT_EQ(dump["generation"].toString().toULongLong(), snapshot().generation);
  EXPECT_GT(dump["marks"].toArray().size(), 10);
}

TEST_F(WindowTest, TenSecondsOfRestPaintNothing) {
  QTest::qWait(500);
  std::vector<int> before;
  for (const CanvasWidget* canvas : window->views().all()) before.push_back(canvas->paints());
  QTest::qWait(10000);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(window->views().all()[i]->paints(), before[i]) << window->views().all()[i]->view().id();
}

/// Token-heads that have an own slot, live on merged, or are gone.
struct Counts {
  long own = 0, merged = 0, evicted = 0;
  bool operator==(const Counts&) const = default;
  void add(const QString& category) { ++(category == "merged" ? merged : category == "evicted" ? evicted : own); }
};
std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.own << " own, " << c.merged << " merged, " << c.evicted << " evicted";
}

/// Cells of a CSV text (RFC 4180).
std::vector<QStringList> cellsOf(const QString& csv) {
  std::vector<QStringList> rows(1);
  QString cell;
  bool quoted = false;
  for (qsizetype i = 0; i < csv.size(); ++i) {
    const QChar c = csv[i];
    if (quoted && c == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
      cell += csv[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || c == '\n')) {
      rows.back() << cell;
      cell.clear();
      if (c == '\n') rows.emplace_back();
    } else if (quoted || c != '\r') {
      cell += c;
    }
  }
  return rows;
}

TEST_F(WindowTest, PictureTableCsvTraceAndFatesCountTheSameTokens) {
  for (const int run : {1, 2, 4}) {
    viz::Selection selection;
    selection.lane = run;
    window->workspace().setSelection(selection);
    ASSERT_TRUE(settle());
    CanvasWidget* atlas = window->canvas("atlas");
    const int n_tokens = snapshot().lanes[static_cast<std::size_t>(run)].fates->n_tokens;

    Counts picture;
    const viz::Scene scene = atlas->scene();
    const auto cells = std::find_if(scene.images.begin(), scene.images.end(),
                                    [&](const viz::SceneImage& image) { return image.width == n_tokens && image.height == 24; });
    ASSERT_NE(cells, scene.images.end()) << "one texel per head and token seen";
    std::map<std::uint32_t, QString> names;
    for (int c = 1; c < kCategories; ++c)
      names[viz::colour(viz::cell_fill(window->workspace().theme(), static_cast<Category>(c)))] =
          viz::category_name(static_cast<Category>(c));
    for (const std::uint32_t texel : cells->rgba) {
      if (texel == 0) continue;  // not seen at this step
      ASSERT_TRUE(names.count(texel)) << texel;
      picture.add(names[texel]);
    }

    Counts table;
    for (const auto& row : atlas->table().rows) table.add(QString::fromStdString(row[4]));

    QTemporaryDir folder;
    QString error;
    ASSERT_TRUE(exportCanvas(*atlas, *window, window->workspace(), folder.filePath("a.csv"), 1, &error)) << error.toStdString();
    QFile file(folder.filePath("a.csv"));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    Counts csv;
    for (const QStringList& row : cellsOf(QString::fromUtf8(file.readAll())))
      if (row.size() == 10 && row[0] != "layer") csv.add(row[4]);

    Counts trace;
    const QJsonDocument json = QJsonDocument::fromJson(QByteArray::fromStdString(trace_text(snapshot())));
    const QJsonArray steps = json["lanes"][run]["steps"].toArray();
    const QJsonObject last = steps.last().toObject();
    for (const QJsonValue& head : last["heads"].toArray()) {
      long votes = 0;
      const QJsonArray slots_ = head.toObject()["slots"].toArray();
      for (const QJsonValue& slot : slots_) votes += slot.toArray()[1].toInt();
      trace.own += slots_.size();
      trace.merged += votes - slots_.size();
      trace.evicted += last["position"].toInt() + 1 - votes;
    }

    Counts fates;
    const LaneSnapshot& lane_now = snapshot().lanes[static_cast<std::size_t>(run)];
    const int step = static_cast<int>(lane_now.steps.size()) - 1;
    for (const HeadFates& head : lane_now.fates->heads)
      for (int t = 0; t <= lane_now.steps.back()->position; ++t) {
        const Fate fate = fate_at(head, t, step);
        ++(fate.left > step ? fates.own : fate.lost > step ? fates.merged : fates.evicted);
      }

    EXPECT_EQ(table, picture) << lane_now.spec;
    EXPECT_EQ(csv, picture) << lane_now.spec;
    EXPECT_EQ(trace, picture) << lane_now.spec;
    EXPECT_EQ(fates, picture) << lane_now.spec;
    EXPECT_GT(picture.evicted + picture.merged, 0) << lane_now.spec;
  }
}

TEST_F(WindowTest, EmojiCjkArabicAndByteTokensAreShownAndCopiedBackExactly) {
  const QString text =
      QString::fromUtf8("日本語 سلام 👩‍👩‍👧 e\u0301 \U0001F1EB\U0001F1F7 ❤️ ﬁ Ελλ жук\tend");
  PromptEditor& editor = window->work().prompt().editor();
  editor.setExactText(text);
  ASSERT_TRUE(waitFor([&] { return snapshot().prompt == text.toStdString() && !window->workspace().stale(); }, 30000));
  editor.selectAll();
  editor.copy();
  EXPECT_EQ(QApplication::clipboard()->text(), text);
  // The tokens are the text, byte for byte, and each of them has a name on screen.
  std::string bytes;
  int byte_tokens = 0;
  for (int t = 0; t < snapshot().n_prompt; ++t) bytes += snapshot().tokens[static_cast<std::size_t>(t)].bytes;
  if (bytes.starts_with(' ')) bytes.erase(0, 1);
  EXPECT_EQ(bytes, text.toStdString());
  for (const auto& row : window->canvas("atlas")->table().rows) {
    ASSERT_FALSE(row[3].empty()) << "token " << row[2];
    EXPECT_EQ(QString::fromUtf8(row[3]).toStdString(), row[3]) << "no half characters";
    byte_tokens += row[3].find("⟨") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(byte_tokens, 0) << "the model knows few of these characters";
}

TEST(KilledProgramTest, LeavesWhatItsJournalHeldWheneverItIsKilled) {
  QTemporaryDir home;
  // What another program kept has no session's file: a window that has only opened one has nothing that could be lost.
  const QString text = "Once upon a killed time there was a light at the end of the shore.", kept = home.filePath("kept.json");
  ASSERT_EQ(QProcess::execute(KVSCOPE_CLI, {"trace", "--prompt", text, "--lane", "streaming:slots=12", "--generate", "0", "--out",
                                            home.filePath("t.json"), "--out-kept", kept, "--quiet"}),
            0);
  QRandomGenerator random(11);
  for (int i = 0; i < 4; ++i) {
    const QString journal = home.filePath(QString("journal-%1").arg(i));
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) environment.insert(name, home.path());
    program.setProcessEnvironment(environment);
    program.start(KVSCOPE_PROGRAM, {"--generate", "900", "--session", kept, "--journal", journal});  // so that it is at work when it goes
    ASSERT_TRUE(program.waitForStarted(20000));
    ASSERT_TRUE(waitFor([&] { return !QDir(journal).entryList({"*.kvscope"}).isEmpty(); }, 60000));
    QTest::qWait(static_cast<int>(random.bounded(600)));
    program.kill();
    ASSERT_TRUE(program.waitForFinished(20000));
    const QStringList left = SessionJournal::left(journal);
    ASSERT_EQ(left.size(), 1);
    const ReadSession read = readSession(left.front());
    EXPECT_TRUE(read.notes.isEmpty()) << read.notes.join("; ").toStdString();
    EXPECT_EQ(read.session.request.prompt, text.toStdString());
    EXPECT_EQ(read.session.request.lanes.size(), 2u);
    EXPECT_EQ(read.session.request.n_generate, 900);
  }
}

}  // namespace
}  // namespace kvscope
