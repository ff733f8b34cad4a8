// SPDX-License-Identifier: Apache-2.0
// Results without the model that made them: in a session, and as a trace.
#include <algorithm>
#include <filesystem>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <nlohmann/json.hpp>

#include "app/window/files/export_actions.h"
#include "app/window/files/report.h"
#include "app/window/files/share_page.h"
#include "app/window/help/welcome_page.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_file.h"
#include "app/window/session/stored_results.h"
#include "arch/model_parts.h"
#include "core/error.h"
#include "io/file_hash.h"
#include "paths.h"
#include "policy/catalog.h"
#include "trace/trace_writer.h"
#include "window/support/file_bytes.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

QJsonObject objectOf(const QString& path) { return QJsonDocument::fromJson(bytesOf(path)).object(); }

std::string refusal(const PackedTrace& packed) {
  try {
    (void)unpackTrace(packed, "s.kvscope");
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

class ResultsTest : public WindowTest {
 protected:
  bool kept(const QString& path) {
    return window->document().save(path) && waitFor([&] { return !window->document().results().busy(); }, 20000);
  }
  bool shown() {
    return waitFor([&] { return window->controller().viewOnly(); }, 20000);
  }
  /// The file of a session whose model is somewhere else.
  QString handedOut() {
    const QString path = folder.filePath("lecture.kvscope");
    EXPECT_TRUE(kept(path));
    QJsonObject o = objectOf(path);
    o["model"] = QJsonObject{{"folder", "/nowhere/llama"}};
    write(path, QJsonDocument(o).toJson());
    return path;
  }
  void expectPictures() const {
    for (const CanvasWidget* canvas : window->views().all()) {
      if (!canvas->isVisible()) continue;
      EXPECT_FALSE(canvas->view().marks().empty()) << canvas->view().id();
    }
  }
  /// All that a trace says, in bytes; parameters of a lane come back in the order of their keys.
  static std::string asTrace(Snapshot s) {
    for (LaneSnapshot& lane : s.lanes) std::ranges::sort(lane.params, {}, &ParamText::key);
    return trace_text(s, {.detail = Detail::why});
  }
  std::string asTrace() const { return asTrace(snapshot()); }
  /// In passing.
  QString said() const { return window->findChild<QLabel*>("passingWords")->accessibleName(); }

  QTemporaryDir folder;
};

TEST_F(ResultsTest, ASessionOpensWithoutItsModelAndShowsTheSameNumbers) {
  viz::Selection there = window->workspace().selection();
  there.layer = 2, there.kv_head = 1, there.step = 2;
  window->workspace().setSelection(there);
  const std::string before = asTrace();
  const QString path = handedOut();
  EXPECT_LT(QFile(path).size(), 4 << 20) << "a file of a few MB";

  window->controller().setPrompt("Something else was typed in between.");
  ASSERT_TRUE(settle());
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_TRUE(asTrace() == before) << "every slot, event, score and figure";
  EXPECT_EQ(window->workspace().selection().layer, 2);
  EXPECT_EQ(window->workspace().step(), 2);
  EXPECT_FALSE(window->workspace().stale());
  EXPECT_TRUE(window->notices().text().contains("View only")) << window->notices().text().toStdString();
  EXPECT_TRUE(window->notices().text().contains("/nowhere/llama"));
  expectPictures();
}

TEST_F(ResultsTest, SavingAnewNeverLeavesTheFileWithoutThem) {
  const QString path = folder.filePath("s.kvscope");
  ASSERT_TRUE(kept(path));
  ASSERT_TRUE(waitFor([&] { return objectOf(path).contains("results"); }, 20000));
  QTest::qWait(50);  // that they are written is said by another thread
  window->model().bookmarks.add({.selection = window->workspace().selection()});
  ASSERT_TRUE(window->document().save(path));
  EXPECT_TRUE(objectOf(path).contains("results")) << "a program that is killed now has lost nothing";
  window->controller().setPrompt("Another text has other results.");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window->document().save(path));
  EXPECT_FALSE(objectOf(path).contains("results")) << "those of another text would be a lie";
}

TEST_F(ResultsTest, ATableThatARunNamesIsNamedFromTheFolderAndMissedWhenItChanges) {
  const auto table = [this](int keeps) {
    std::string text;
    for (int l = 0; l < snapshot().model.n_layers; ++l) {
      text += l > 0 ? ",[" : "[[";
      for (int g = 0; g < snapshot().model.n_kv_heads; ++g) text += (g > 0 ? "," : "") + std::to_string((g + keeps) % 2);
      text += "]";
    }
    return QByteArray::fromStdString(text + "]");
  };
  const QString path = folder.filePath("s.kvscope"), heads = folder.filePath("hd.json");
  write(heads, table(0));
  const std::string run = "duo:ratio=0.3,heads=" + heads.toStdString();
  window->controller().setLaneSpec(1, QString::fromStdString(run));
  ASSERT_TRUE(settle());
  const auto row = [&] {
    for (const auto& [name, hash] : reportVersions(window->exports().report()))
      if (name.endsWith("hd.json")) return hash;
    return QString();
  };
  const std::string was = hash_of_file(heads.toStdString()).sha256;
  EXPECT_EQ(row().toStdString(), "SHA-256 " + was);
  ASSERT_TRUE(kept(path));
  ASSERT_TRUE(waitFor([&] { return objectOf(path).contains("results"); }, 20000));
  EXPECT_EQ(objectOf(path)["lanes"].toArray()[1].toString(), "duo:ratio=0.3,heads=hd.json");
  const QJsonObject file = objectOf(path)["results"].toObject()["files"].toArray()[0].toObject();
  EXPECT_EQ(file["file"].toString(), "hd.json");
  EXPECT_EQ(file["sha256"].toString().toStdString(), was);
  EXPECT_EQ(unpackTrace(readSession(path).session.results, path).snapshot.lanes[1].spec, "duo:ratio=0.3,heads=hd.json");
  window->openFile(path);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
  EXPECT_EQ(snapshot().lanes[1].spec, run);
  EXPECT_TRUE(window->notices().isHidden()) << window->notices().text().toStdString();

  write(heads, table(1));
  EXPECT_EQ(row(), "changed since it was read");
  window->openFile(path);
  ASSERT_TRUE(waitFor([&] { return window->notices().text().contains("s.kvscope was saved with another"); }, 20000))
      << window->notices().text().toStdString();
  EXPECT_TRUE(window->notices().text().contains("hd.json")) << window->notices().text().toStdString();
}

TEST_F(ResultsTest, TheReportOfATraceHasNoHashesOfTheModelThatIsOpen) {
  const QString path = folder.filePath("t.json");
  write(path, QByteArray::fromStdString(trace_text(snapshot(), {.detail = Detail::why})));
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  bool said = false;
  for (const auto& [name, value] : reportVersions(window->exports().report())) {
    EXPECT_FALSE(name == "config.json" || name.endsWith(".safetensors")) << name.toStdString();
    said = said || (name == "the model's files" && value.startsWith("n/a"));
  }
  EXPECT_TRUE(said);
  EXPECT_TRUE(reportHtml(window->exports().report()).contains("greedy, seed")) << "it says how it was sampled";
}

TEST_F(ResultsTest, AnInspectorThatOpensOnThemIsNoEditToRefuse) {
  window->openFile(handedOut());
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  window->messages().dismiss();
  window->showPage(MainWindow::Page::inspector);
  CanvasWidget* inspector = window->canvas("inspector");
  ASSERT_TRUE(waitFor([&] { return inspector->isVisible() && inspector->settled(); }, 5000));
  QTest::qWait(300);
  EXPECT_TRUE(window->messages().isHidden()) << window->messages().text().toStdString();
  EXPECT_FALSE(window->controller().request().measures.agreement);
}

TEST_F(ResultsTest, ASweepOfThemIsNeitherOfferedNorEstimated) {
  window->openFile(handedOut());
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  press(Qt::Key_4, Qt::AltModifier);
  ASSERT_EQ(window->page(), MainWindow::Page::sweep);
  SweepPanel& sweep = window->runActions().sweep();
  sweep.grid().budgets().setText("25 %, 50 %");
  EXPECT_FALSE(sweep.data().missing().empty());
  EXPECT_FALSE(sweep.startButton().isEnabled());
  EXPECT_EQ(sweep.progressText(), window->controller().whyViewOnly());
}

TEST_F(ResultsTest, WhatIsShownCannotBeEditedAndSaysWhy) {
  window->openFile(handedOut());
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  const std::string before = asTrace();
  SessionController& c = window->controller();
  const std::vector<LaneSpec> lanes = c.request().lanes;
  const std::string prompt = c.request().prompt;
  const std::function<void()> edits[] = {[&] { c.setPrompt("typed"); },
                                         [&] { c.setLaneSpec(1, "h2o:slots=4"); },
                                         [&] { c.addLane("h2o:slots=4"); },
                                         [&] { c.removeLane(1); },
                                         [&] { c.generate(9); },
                                         [&] { c.setSeed(4); },
                                         [&] { c.setTemperature(0.5); },
                                         [&] { c.setFollow(Follow::self); },
                                         [&] { c.setPromptMode(PromptMode::stream); },
                                         [&] { c.setHistory(false); },
                                         [&] { c.runExtra("h2o:slots=4"); },
                                         [&] {
                                           c.want({viz::WantMeasure::What::theta, true});
                                         },
                                         [&] {
                                           c.want({viz::WantMeasure::What::of_one_head, true, /*asked=*/true});
                                         },
                                         [&] { c.replaceRequest({}); },
                                         [&] { window->model().hand.setBudget(1, 0, 0, 5); },
                                         [&] { window->runActions().open("h2o:slots=4"); },
                                         [&] { QTest::keyClicks(&window->work().prompt().editor(), "x"); }};
  for (const auto& edit : edits) {
    window->notices().dismiss();
    edit();
    EXPECT_TRUE(waitFor([&] { return window->notices().text().startsWith("Nothing was changed. View only: "); }, 2000));
    EXPECT_NE(buttonOf(window->notices(), "Open a model"), nullptr) << "the way on is beside it";
    EXPECT_TRUE(window->messages().isHidden()) << "and it is said once";
    EXPECT_EQ(c.request().lanes, lanes);
    EXPECT_EQ(c.request().prompt, prompt);
    EXPECT_TRUE(c.viewOnly());
  }
  EXPECT_EQ(window->work().prompt().editor().toPlainText().toStdString(), prompt) << "what was typed went back";
  EXPECT_TRUE(asTrace() == before);
  EXPECT_FALSE(window->model().undo.now().canUndo());
  // Changes by hand are not offered, and say why.
  viz::Selection selection = window->workspace().selection();
  selection.layer = 1, selection.kv_head = 1;
  selection.select({3, 3});
  window->workspace().setSelection(selection);
  for (const WhatIf::Kind kind : {WhatIf::Kind::pin, WhatIf::Kind::evict, WhatIf::Kind::restore}) window->model().hand.edit(kind);
  EXPECT_TRUE(window->model().hand.obstacle().contains("stored results"));
  QTest::qWait(100);
  EXPECT_EQ(c.request().lanes, lanes);
  EXPECT_TRUE(c.viewOnly());
  EXPECT_TRUE(asTrace() == before);
}

TEST_F(ResultsTest, AForkIsShownBesideTheRunThatItCameFromAndIsSelectedAgain) {
  viz::Selection selection = window->workspace().selection();
  selection.lane = 2, selection.layer = 1, selection.kv_head = 1, selection.step = 0;
  selection.select({5, 5});
  window->workspace().setSelection(selection);
  window->model().hand.edit(WhatIf::Kind::pin);
  ASSERT_TRUE(settle());
  const int fork = window->workspace().selection().lane;
  ASSERT_EQ(fork, static_cast<int>(snapshot().lanes.size()) - 1);
  const int base = snapshot().lanes.back().fork_of;
  ASSERT_EQ(base, 2);
  const QString path = handedOut();
  window->controller().removeLane(fork);
  ASSERT_TRUE(settle());
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_EQ(snapshot().lanes.back().fork_of, base);
  EXPECT_EQ(window->workspace().selection().lane, fork);
}

TEST_F(ResultsTest, WhatANewerProgramWroteIsSaidHereToo) {
  const QString path = handedOut();
  QJsonObject o = objectOf(path);
  o["version"] = 99;
  write(path, QJsonDocument(o).toJson());
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_TRUE(window->notices().text().contains("newer kvscope (version 99")) << window->notices().text().toStdString();
}

TEST_F(ResultsTest, WhatWasSaidOfThemGoesWithThem) {
  window->openFile(handedOut());
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  ASSERT_TRUE(window->notices().text().contains("View only"));
  window->openFile(QString::fromStdString(builtInModel()));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->controller().viewOnly());
  EXPECT_TRUE(window->notices().isHidden() || !window->notices().text().contains("View only")) << window->notices().text().toStdString();
}

TEST_F(ResultsTest, ResultsWithoutTheWhyShowTheSameCaches) {  // of a session that is too large with it
  const Snapshot computed = snapshot();
  const QString path = folder.filePath("slots.json");
  write(path, QByteArray::fromStdString(trace_text(computed)));
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_FALSE(window->notices().text().contains("is not in it")) << window->notices().text().toStdString();
  ASSERT_EQ(snapshot().lanes.size(), computed.lanes.size());
  for (std::size_t l = 0; l < computed.lanes.size(); ++l) {
    EXPECT_EQ(snapshot().lanes[l].slots_asked, computed.lanes[l].slots_asked);
    EXPECT_EQ(snapshot().lanes[l].bytes, computed.lanes[l].bytes);
    for (std::size_t i = 0; i < computed.lanes[l].steps.size(); ++i)
      for (std::size_t h = 0; h < computed.lanes[l].steps[i]->heads.size(); ++h) {
        const HeadRecord &was = computed.lanes[l].steps[i]->heads[h], &is = snapshot().lanes[l].steps[i]->heads[h];
        ASSERT_EQ(is.recent, was.recent);
        ASSERT_EQ(is.evicted_votes, was.evicted_votes);
        ASSERT_EQ(is.pos, was.pos);
      }
  }
  EXPECT_EQ(window->work().prompt().editor().toPlainText().toStdString(), options.prompt);
}

TEST_F(ResultsTest, ATraceOfAnEarlierVersionSaysWhatItDoesNotHave) {
  const Snapshot computed = snapshot();
  nlohmann::ordered_json earlier = nlohmann::ordered_json::parse(trace_text(computed));
  for (auto& lane : earlier["lanes"])
    for (auto& step : lane["steps"])
      for (auto& head : step["heads"]) head.erase("recent");
  const QString path = folder.filePath("default.json");
  write(path, QByteArray::fromStdString(earlier.dump()));
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  for (const char* words : {"shown as heavy", "earlier versions"})
    EXPECT_TRUE(window->notices().text().contains(words)) << words << ": " << window->notices().text().toStdString();
  for (std::size_t l = 0; l < computed.lanes.size(); ++l)
    for (std::size_t i = 0; i < computed.lanes[l].steps.size(); ++i)
      for (std::size_t h = 0; h < computed.lanes[l].steps[i]->heads.size(); ++h)
        ASSERT_EQ(snapshot().lanes[l].steps[i]->heads[h].evicted_votes, computed.lanes[l].steps[i]->heads[h].evicted_votes)
            << computed.lanes[l].spec;
}

TEST_F(ResultsTest, ATraceWithoutCachesIsRefusedWithWhatToDo) {
  const std::string before = asTrace();
  for (const Detail detail : {Detail::summary, Detail::events}) {
    const QString path = folder.filePath("short.json");
    write(path, QByteArray::fromStdString(trace_text(snapshot(), {.detail = detail})));
    window->openFile(path);
    ASSERT_TRUE(waitFor([&] { return window->notices().text().contains("--detail slots or why"); }, 20000))
        << window->notices().text().toStdString();
    EXPECT_TRUE(window->notices().text().contains("short.json"));
    EXPECT_FALSE(window->controller().viewOnly());
    EXPECT_TRUE(asTrace() == before);
  }
}

TEST_F(ResultsTest, TheyAreSavedAgainAndComputedAgainWhereThereIsAModel) {
  window->openFile(handedOut());
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  const std::string before = asTrace();
  const QString again = folder.filePath("again.kvscope");
  ASSERT_TRUE(kept(again));
  const SavedSession saved = readSession(again).session;
  EXPECT_EQ(saved.model, "/nowhere/llama") << "not the model that happens to be open";
  EXPECT_TRUE(asTrace(unpackTrace(saved.results, again).snapshot) == before);
  // A model: all is computed, with the same result, as it is the same model.
  window->openFile(QString::fromStdString(builtInModel()));
  EXPECT_FALSE(window->controller().viewOnly());
  ASSERT_TRUE(settle());
  EXPECT_TRUE(asTrace() == before);
  window->controller().setLaneSpec(1, "h2o:slots=4");
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[1].spec, "h2o:slots=4");
}

TEST_F(ResultsTest, WithItsModelASessionIsComputedAndNotShownFromTheFile) {
  const QString path = folder.filePath("s.kvscope");
  ASSERT_TRUE(kept(path));
  EXPECT_FALSE(readSession(path).session.results.zlib.isEmpty());
  window->controller().setPrompt("Something else.");
  ASSERT_TRUE(settle());
  window->openFile(path);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->controller().viewOnly());
  EXPECT_EQ(snapshot().prompt, options.prompt);
}

TEST_F(ResultsTest, AModelThatDoesNotOpenLeavesWhatTheSessionHolds) {
  const std::string before = asTrace();
  const QString path = folder.filePath("s.kvscope"), model = folder.filePath("damaged");
  ASSERT_TRUE(QDir().mkdir(model));
  write(model + "/config.json", "{ \"model_type\": ");
  ASSERT_TRUE(kept(path));
  QJsonObject o = objectOf(path);
  o["model"] = QJsonObject{{"folder", model}};
  write(path, QJsonDocument(o).toJson());
  window->controller().setPrompt("Something else.");
  ASSERT_TRUE(settle());
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->messages().text().toStdString();
  EXPECT_TRUE(asTrace() == before);
  const QString said = window->notices().text();
  EXPECT_TRUE(said.contains("View only") && said.contains(model + ", does not open (") && said.contains("config.json"))
      << said.toStdString();
  EXPECT_TRUE(window->messages().isHidden()) << "said once: " << window->messages().text().toStdString();
  EXPECT_EQ(window->document().session().model, model);
}

TEST_F(ResultsTest, OfAnotherModelInTheSameFolderAreNotTakenForTheSame) {
  const QString model = folder.filePath("model"), path = folder.filePath("s.kvscope");
  std::filesystem::copy(builtInModel(), model.toStdString());
  window->openFile(model);
  ASSERT_TRUE(settle());
  const std::string before = asTrace();
  ASSERT_TRUE(kept(path));
  EXPECT_EQ(readSession(path).session.results.model_sha256.size(), 64);
  const auto opened = [&] {
    window->notices().clear();
    window->openFile(path);
    return settle() && waitFor([&] { return !window->document().results().busy(); }, 20000);
  };
  ASSERT_TRUE(opened());
  EXPECT_TRUE(window->notices().isHidden()) << window->notices().text().toStdString();

  write(model + "/config.json", bytesOf(model + "/config.json") + "\n");
  ASSERT_TRUE(opened());
  EXPECT_TRUE(window->notices().text().contains("s.kvscope was saved with another model than the one that is in " + model))
      << window->notices().text().toStdString();
  EXPECT_FALSE(window->controller().viewOnly());
  QPushButton* show = buttonOf(window->notices(), "Show what was saved");
  ASSERT_NE(show, nullptr);
  show->click();
  ASSERT_TRUE(shown());
  EXPECT_TRUE(asTrace() == before);
  EXPECT_TRUE(window->notices().text().contains(model + ", is another one by now")) << window->notices().text().toStdString();
  EXPECT_EQ(window->document().session().results.model_sha256, readSession(path).session.results.model_sha256) << "saved again as it was";
}

TEST_F(ResultsTest, ThatAreDamagedOrOfSomethingElseAreComputedAnewWithAWord) {
  const QString path = folder.filePath("s.kvscope");
  const auto save = [&] { return kept(path) && waitFor([&] { return objectOf(path).contains("results"); }, 20000); };
  ASSERT_TRUE(save());
  const QJsonObject whole = objectOf(path);
  window->controller().setPrompt("Results of another text.");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(save());
  const QJsonObject other = objectOf(path)["results"].toObject();
  const auto opened = [&](const QJsonObject& results, const QJsonObject& edits = {}) {
    QJsonObject o = whole;
    for (auto edit = edits.begin(); edit != edits.end(); ++edit) o[edit.key()] = edit.value();
    o["results"] = results;
    write(path, QJsonDocument(o).toJson());
    window->notices().clear();
    window->openFile(path);
    EXPECT_TRUE(settle() && waitFor([&] { return !window->document().results().busy(); }, 20000));
    EXPECT_EQ(snapshot().prompt, options.prompt) << "it is computed in any case";
    return window->notices().isHidden() ? std::string() : window->notices().text().toStdString();
  };
  const QJsonObject good = whole["results"].toObject();
  EXPECT_EQ(opened(good), "");
  EXPECT_NE(opened(good, {{"temperature", 0.5}}).find("of another request (temperature) than its own"), std::string::npos);
  EXPECT_NE(opened(good, {{"seed", "77"}}).find("of another request (seed) than its own"), std::string::npos);
  QJsonObject changed = good;
  QByteArray bytes = QByteArray::fromBase64(good["data"].toString().toLatin1());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x40);
  changed["data"] = QString::fromLatin1(bytes.toBase64());
  EXPECT_NE(opened(changed).find("The results that s.kvscope holds are damaged ("), std::string::npos) << opened(changed);
  EXPECT_NE(opened(changed).find("what is shown is computed anew"), std::string::npos);
  EXPECT_EQ(opened(other),
            "The results that s.kvscope holds are those of another request (prompt) than its own: what is shown is computed anew.");
  QJsonArray runs = whole["lanes"].toArray();
  runs.append("foo:slots=1");
  const std::string both = opened(other, {{"lanes", runs}});
  EXPECT_NE(both.find("what is shown is computed anew"), std::string::npos) << both;
  EXPECT_NE(both.find("foo:slots=1"), std::string::npos) << both << ": what is left out is said, too";
  EXPECT_EQ(opened(other),
            "The results that s.kvscope holds are those of another request (prompt) than its own: what is shown is computed anew.");
  window->model().bookmarks.add({.selection = window->workspace().selection()});
  ASSERT_TRUE(save());
  EXPECT_NE(objectOf(path)["results"].toObject()["data"], other["data"]) << "saving anew does not write them again";
  changed["data"] = "%%%";
  EXPECT_NE(opened(changed).find("session.results are damaged"), std::string::npos) << opened(changed);
}

TEST_F(ResultsTest, HaveNoHashOfAModelThatCameAfterTheyWereComputed) {
  const QString model = folder.filePath("model"), path = folder.filePath("s.kvscope");
  std::filesystem::copy(builtInModel(), model.toStdString());
  window->openFile(model);
  ASSERT_TRUE(settle());
  const auto files = [&] { return ShownFacts(window->controller(), window->workspace().snapshot()).withHashes().files; };
  EXPECT_GT(files().size(), 1u);
  const QString config = model + "/config.json";
  write(config + ".new", bytesOf(config) + "\n");
  std::filesystem::rename((config + ".new").toStdString(), config.toStdString());
  ASSERT_TRUE(kept(path));
  EXPECT_EQ(readSession(path).session.results.model_sha256, kChangedSinceRead) << "the one that is there never computed this";
  ASSERT_EQ(files().size(), 1u);
  EXPECT_NE(files().front().second.find("changed since they were read"), std::string::npos);
  window->openFile(path);
  ASSERT_TRUE(settle() && waitFor([&] { return !window->document().results().busy(); }, 20000));
  EXPECT_EQ(window->notices().text().toStdString(), "s.kvscope was saved after the files of its model had changed: whether what is in " +
                                                        model.toStdString() +
                                                        " now computed its results is not known, and what is shown is computed anew.");
}

TEST_F(ResultsTest, AFileThatWasRemovedOrReplacedMeanwhileStaysSo) {
  const QString path = folder.filePath("s.kvscope");
  ASSERT_TRUE(window->document().save(path));  // its results follow
  ASSERT_TRUE(QFile::remove(path));
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
  EXPECT_FALSE(QFile::exists(path));
  ASSERT_TRUE(window->document().save(path));
  write(path, "something of the user's own");
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
  EXPECT_EQ(bytesOf(path), "something of the user's own");
}

TEST_F(ResultsTest, ATraceOpens) {
  const std::string before = asTrace();
  const QString path = folder.filePath("trace.json");
  write(path, QByteArray::fromStdString(before));
  window->controller().setPrompt("Something else.");
  ASSERT_TRUE(settle());
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_TRUE(asTrace() == before);
  EXPECT_EQ(window->work().prompt().editor().toPlainText().toStdString(), options.prompt);
  EXPECT_EQ(window->controller().request().n_generate, 4);
  // It is of the model that comes with the program.
  viz::Selection at = window->workspace().selection();
  at.layer = 2, at.kv_head = 1, at.step = 2;
  at.select({3, 3});
  window->workspace().setSelection(at);
  window->model().causes.want(true);  // of stored results nothing is measured
  QTest::qWait(100);
  EXPECT_EQ(window->workspace().causes().n_heads, 0);
  QPushButton* here = buttonOf(window->notices(), "Compute it here");
  ASSERT_NE(here, nullptr);
  QTest::mouseClick(here, Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->controller().viewOnly());
  EXPECT_TRUE(asTrace() == before);
  EXPECT_EQ(window->workspace().selection(), at) << "it is looked at where the trace was";
  const viz::HeadCauses& causes = window->workspace().causes();
  EXPECT_TRUE(waitFor([&] { return causes.n_heads > 0 && causes.n_measured == causes.n_heads; }, 30000)) << "what was asked is answered";
}

TEST_F(ResultsTest, ATraceOfAnotherProgramOpensOnEveryPage) {
  window->openFile(QString::fromStdString(in_checkout("tests/golden/tiny-gqa-prefill-keepkv1.json")));
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_EQ(snapshot().model.name, "tiny-gqa");
  EXPECT_EQ(buttonOf(window->notices(), "Compute it here"), nullptr) << "another model";
  EXPECT_TRUE(window->notices().text().contains("shown as heavy")) << "what it does not say is not made up";
  for (const auto page : {MainWindow::Page::inspect, MainWindow::Page::inspector, MainWindow::Page::compare, MainWindow::Page::lecture}) {
    window->showPage(page);
    QTest::qWait(200);
    expectPictures();
  }
}

TEST_F(ResultsTest, ADamagedFileSaysWhatIsWrongAndLosesNothing) {
  const std::string before = asTrace();
  const QString path = folder.filePath("broken.json");
  const QByteArray whole = QByteArray::fromStdString(before);
  for (const qsizetype length : {whole.size() / 3, whole.size() - 2}) {
    write(path, whole.left(length));
    window->openFile(path);
    ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
    QApplication::processEvents();
    EXPECT_TRUE(window->notices().text().contains("broken.json")) << window->notices().text().toStdString();
    EXPECT_FALSE(window->notices().text().endsWith("is being read"));
    EXPECT_FALSE(window->controller().viewOnly());
    EXPECT_TRUE(asTrace() == before);
  }
}

/// What a session holds is taken once its results are there: a file that is not opened changes nothing.
TEST_F(ResultsTest, ASessionWhoseResultsAreDamagedLeavesTheOneBefore) {
  const QString theirs = handedOut(), mine = folder.filePath("mine.kvscope");
  window->controller().setPrompt("Mine.");
  ASSERT_TRUE(settle());
  window->model().bookmarks.add({.name = "mine", .selection = window->workspace().selection()});
  ASSERT_TRUE(kept(mine));
  ASSERT_TRUE(window->model().undo.now().canUndo());
  const QJsonObject whole = objectOf(theirs);
  QJsonObject damaged = whole, other = whole;
  QJsonObject results = whole["results"].toObject();
  results["data"] = results["data"].toString().replace(400, 8, "AAAAAAAA");
  damaged["results"] = results;
  other["results"] = objectOf(mine)["results"];
  for (const QJsonObject& file : {damaged, other}) {
    write(theirs, QJsonDocument(file).toJson());
    const QByteArray bytes = bytesOf(theirs);
    window->openFile(theirs);
    window->document().saveNow();  // while they are read
    ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
    QApplication::processEvents();
    EXPECT_TRUE(window->notices().text().contains("lecture.kvscope")) << window->notices().text().toStdString();
    EXPECT_FALSE(window->controller().viewOnly());
    EXPECT_EQ(window->windowTitle(), "mine – kvscope");
    EXPECT_EQ(window->model().bookmarks.size(), 1);
    EXPECT_TRUE(window->model().undo.now().canUndo());
    window->document().saveNow();
    ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
    EXPECT_TRUE(bytesOf(theirs) == bytes) << "nothing was written over it";
    EXPECT_EQ(readSession(mine).session.request.prompt, "Mine.");
  }
  write(theirs, QJsonDocument(whole).toJson());
  window->openFile(theirs);
  ASSERT_TRUE(shown());
  EXPECT_EQ(window->windowTitle(), "lecture – kvscope");
  EXPECT_EQ(window->model().bookmarks.size(), 0);
}

TEST_F(ResultsTest, ATraceThatIsRefusedLeavesWhatIsShown) {
  const QString path = handedOut(), trace = folder.filePath("broken.json");
  window->openFile(path);
  ASSERT_TRUE(shown());
  const QByteArray whole = QByteArray::fromStdString(asTrace());
  write(trace, whole.left(whole.size() / 3));
  window->openFile(trace);
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 20000));
  QApplication::processEvents();
  ASSERT_TRUE(window->notices().text().contains("broken.json")) << window->notices().text().toStdString();
  window->document().saveNow();
  const SavedSession saved = readSession(path).session;
  EXPECT_EQ(saved.model, "/nowhere/llama");
  EXPECT_FALSE(saved.results.zlib.isEmpty());
}

/// Sessions that are left behind are found again by the next start.
class LeftForResultsTest : public ResultsTest {
 protected:
  void SetUp() override {
    options.journal = folder.filePath("journal").toStdString();
    ResultsTest::SetUp();
  }
  qsizetype left(const std::string& prompt) const {
    const QFileInfoList files = QDir(folder.filePath("journal")).entryInfoList({"unsaved-*.kvscope"});
    return std::ranges::count_if(files, [&](const QFileInfo& f) { return readSession(f.filePath()).session.request.prompt == prompt; });
  }
};

TEST_F(LeftForResultsTest, WorkThatATraceTakesThePlaceOfIsKept) {
  const QString trace = folder.filePath("trace.json");
  write(trace, QByteArray::fromStdString(asTrace()));
  window->controller().setPrompt("Work of hours.");
  ASSERT_TRUE(settle());
  window->openFile(trace);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_EQ(left("Work of hours."), 1);
  EXPECT_TRUE(window->notices().text().contains("was not saved, and is kept to be recovered")) << window->notices().text().toStdString();
  window.reset();
  EXPECT_EQ(left("Work of hours."), 1) << "and the next start offers it";
}

TEST_F(LeftForResultsTest, TheWelcomeHasWhatThisWindowLeftBehind) {
  const QString trace = folder.filePath("trace.json");
  write(trace, QByteArray::fromStdString(asTrace()));
  window->controller().setPrompt("Work of hours.");
  ASSERT_TRUE(settle());
  window->openFile(trace);
  ASSERT_TRUE(shown());
  window->showPage(MainWindow::Page::welcome);
  auto& welcome = *window->findChild<WelcomePage*>();
  EXPECT_NE(buttonOf(welcome, "Go on with what is open (Esc)"), nullptr) << "it is no sample text";
  WelcomeCard& card = window->findChild<WelcomePage*>()->recoverCard();
  EXPECT_TRUE(card.isEnabled());
  EXPECT_TRUE(card.sentence().contains("Work of hours.")) << card.sentence().toStdString();
  window->notices().dismiss();
  QPushButton* back = buttonOf(window->notices(), "Back to the session before");
  ASSERT_NE(back, nullptr) << window->notices().text().toStdString();
  back->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, "Work of hours.");
  EXPECT_EQ(left("Work of hours."), 1) << "its own backup again, and no other";
  EXPECT_FALSE(card.isEnabled());
  EXPECT_TRUE(card.sentence().contains("nothing to recover")) << card.sentence().toStdString();
}

class UnwritableBackupTest : public ResultsTest {
 protected:
  void SetUp() override {
    write(folder.filePath("file"), "");
    options.journal = folder.filePath("file/journal").toStdString();  // whoever runs the tests cannot write there
    ResultsTest::SetUp();
  }
};

TEST_F(UnwritableBackupTest, WorkIsNotSaidToBeKeptAndCanBeHadBack) {
  const QString trace = folder.filePath("trace.json"), session = folder.filePath("other.kvscope");
  write(trace, QByteArray::fromStdString(asTrace()));
  ASSERT_TRUE(window->document().save(session));
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 30000));
  const auto back = [&] {
    for (int i = 0; i < 4 && buttonOf(window->notices(), "Back to the session before") == nullptr; ++i) window->notices().dismiss();
    QPushButton* button = buttonOf(window->notices(), "Back to the session before");
    if (button != nullptr) button->click();
    return button != nullptr && settle();
  };
  for (const QString& other : {trace, session}) {
    window->controller().setPrompt("Work of hours, before " + QFileInfo(other).suffix());
    ASSERT_TRUE(settle());
    const std::string text = window->controller().request().prompt;
    window->openFile(other);
    ASSERT_TRUE(other == trace ? shown() : settle());
    EXPECT_FALSE(window->notices().text().contains("kept to be recovered")) << window->notices().text().toStdString();
    EXPECT_TRUE(window->notices().text().contains("could not be backed up")) << window->notices().text().toStdString();
    WelcomeCard& card = window->findChild<WelcomePage*>()->recoverCard();
    EXPECT_TRUE(card.isEnabled() && card.sentence().contains("Work of hours, before")) << card.sentence().toStdString();
    ASSERT_TRUE(back()) << window->notices().text().toStdString();
    EXPECT_EQ(window->controller().request().prompt, text);
  }
  const QString card = window->findChild<WelcomePage*>()->recoverCard().sentence();
  EXPECT_TRUE(card.contains("cannot be backed up")) << card.toStdString();
}

TEST_F(UnwritableBackupTest, WhatOnlyTheWindowHasKeepsItFromClosing) {
  options.picture.clear();  // a script leaves nothing
  window.reset();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const QString trace = folder.filePath("trace.json");
  write(trace, QByteArray::fromStdString(asTrace()));
  window->controller().setPrompt("Work of days.");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->document().leave().isEmpty());
  window->openFile(trace);
  ASSERT_TRUE(shown());
  EXPECT_FALSE(window->document().leave().isEmpty()) << "a trace is shown, and the work is nowhere else";
  window->showPage(MainWindow::Page::welcome);
  QTest::mouseClick(&window->findChild<WelcomePage*>()->recoverCard(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, "Work of days.");
  ASSERT_TRUE(window->document().save(folder.filePath("saved.kvscope")));
  EXPECT_TRUE(window->document().leave().isEmpty());
}

TEST_F(LeftForResultsTest, WorkThatASessionWithoutItsModelTakesThePlaceOfIsKept) {
  const QString path = handedOut();
  window->controller().setPrompt("Work of hours.");
  ASSERT_TRUE(settle());
  window->openFile(path);
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_EQ(left("Work of hours."), 1);
  EXPECT_TRUE(window->notices().text().contains("was not saved, and is kept to be recovered")) << window->notices().text().toStdString();
}

TEST_F(LeftForResultsTest, WorkThatWhatWasSavedTakesThePlaceOfIsKept) {
  const QString model = folder.filePath("model"), path = folder.filePath("s.kvscope");
  std::filesystem::copy(builtInModel(), model.toStdString());
  window->openFile(model);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(kept(path));
  write(model + "/config.json", bytesOf(model + "/config.json") + "\n");
  window->openFile(path);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(waitFor([&] { return buttonOf(window->notices(), "Show what was saved") != nullptr; }, 20000));
  window->controller().setPrompt("Work of hours.");
  window->model().bookmarks.add({.selection = window->workspace().selection()});
  ASSERT_TRUE(settle());
  QPushButton* show = buttonOf(window->notices(), "Show what was saved");
  ASSERT_NE(show, nullptr);
  show->click();
  ASSERT_TRUE(shown());
  EXPECT_EQ(left("Work of hours."), 1);
  EXPECT_EQ(window->model().bookmarks.size(), 0) << "what was saved, and nothing else";
  EXPECT_EQ(window->windowTitle(), "s – kvscope");
}

TEST_F(ResultsTest, OpeningSomethingDoesNotEndTheWritingOfThem) {
  const QString path = folder.filePath("s.kvscope"), trace = folder.filePath("trace.json");
  write(trace, QByteArray::fromStdString(asTrace()));
  ASSERT_TRUE(window->document().save(path));
  window->openFile(trace);  // at once
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  EXPECT_TRUE(objectOf(path).contains("results"));
}

TEST_F(ResultsTest, ThatTheyAreInTheFileIsSaidOnceTheyAre) {
  const QString path = folder.filePath("s.kvscope");
  ASSERT_TRUE(window->document().save(path));
  EXPECT_EQ(said(), "Saved to " + path + "; its results are being written");
  ASSERT_TRUE(waitFor([&] { return said() == "Saved to " + path + ", with its results"; }, 20000)) << said().toStdString();
  EXPECT_TRUE(objectOf(path).contains("results"));
}

TEST_F(ResultsTest, ASessionMadeOfATraceSaysThatItHasNone) {
  const QString path = folder.filePath("s.kvscope");
  window->openFile(QString::fromStdString(in_checkout("tests/golden/tiny-gqa-prefill-keepkv1.json")));
  ASSERT_TRUE(shown()) << window->notices().text().toStdString();
  ASSERT_TRUE(kept(path));
  ASSERT_FALSE(objectOf(path).contains("results"));
  EXPECT_TRUE(window->notices().text().contains("s.kvscope is saved, but without its results")) << window->notices().text().toStdString();
}

TEST_F(ResultsTest, ThatAreBeingComputedFollowOnceTheyAreThere) {
  const QString path = folder.filePath("s.kvscope");
  ASSERT_TRUE(kept(path));
  ASSERT_TRUE(objectOf(path).contains("results"));
  window->controller().setPrompt("A run that is not there yet has a file all the same. A run that is");
  ASSERT_TRUE(window->document().save(path));
  EXPECT_FALSE(objectOf(path).contains("results")) << "those of another text";
  EXPECT_EQ(said(), "Saved to " + path + "; its results are written once they are computed");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(waitFor([&] { return said() == "Saved to " + path + ", with its results"; }, 20000)) << said().toStdString();
  EXPECT_TRUE(asTrace(unpackTrace(readSession(path).session.results, path).snapshot) == asTrace());
}

TEST_F(ResultsTest, ThatNeverCameAreNotPromised) {
  const QString path = folder.filePath("s.kvscope");
  window->controller().setPrompt("A run that is not there yet.");
  ASSERT_TRUE(window->document().save(path));
  window->controller().setPrompt("Another one.");
  ASSERT_TRUE(settle());
  const QString without = path + " is saved, but without its results (%1): it can be opened only where its model is";
  EXPECT_EQ(window->notices().text().toStdString(), (without.arg("it was changed before they were computed") + '.').toStdString());
  window->notices().clear();
  window->controller().setPrompt(QString("word ").repeated(3000));
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  ASSERT_TRUE(window->document().save(path));
  EXPECT_EQ(window->notices().text().toStdString(), (without.arg("they could not be computed") + '.').toStdString());
  window->controller().setPrompt("One that can be.");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(kept(path));
  EXPECT_TRUE(objectOf(path).contains("results"));
  EXPECT_FALSE(window->notices().isVisible()) << window->notices().text().toStdString() << ": it has them now";
}

TEST_F(ResultsTest, AreTheTracesBytesAndWithoutTheWhyWhereThatIsTooLarge) {
  const RunRequest& request = window->controller().request();
  const PackedTrace whole = packTrace(snapshot(), request);
  ASSERT_GT(whole.zlib.size(), 4096);
  EXPECT_TRUE(asTrace(unpackTrace(whole, "whole").snapshot) == asTrace());
  const PackedTrace slots = packTrace(snapshot(), request, nullptr, {.why = 4096});
  EXPECT_EQ(slots.bytes, trace_text(snapshot(), {.detail = Detail::slots, .seed = request.seed}).size());
  EXPECT_LT(slots.bytes, whole.bytes);
  EXPECT_THAT([&] { packTrace(snapshot(), request, nullptr, {.why = 4096, .slots = 4096}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("larger than the 36 MiB that a session has for them")));
}

/// It was written, and then it could not be opened: prompt, runs and all.
TEST_F(ResultsTest, ASessionThatNobodyCouldReadIsNotWritten) {
  const QString path = folder.filePath("s.kvscope");
  SavedSession session;
  session.request.prompt = "The whistle is 42.";
  session.request.lanes = parse_lane_specs({"full"});
  session.results = {QByteArray(static_cast<qsizetype>(kMostPacked), 'x'), kMostPacked};
  EXPECT_LT(sessionJson(session).size(), kSessionBytes) << "as much as is ever packed";
  session.results.zlib = "abc";
  writeSession(path, session);
  session.results = {QByteArray(kSessionBytes, 'x'), kSessionBytes};
  EXPECT_THAT([&] { writeSession(path, session); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("not written: expected at most 67108864")));
  EXPECT_EQ(readSession(path).session.request.prompt, session.request.prompt) << "what was there stays";
}

TEST(PackedTraceTest, HostileSizesAndBytesAreRefused) {
  const QByteArray junk(1000, 'x');
  EXPECT_EQ(refusal({junk, 1000}), "s.kvscope: results: not readable by zlib as the 1000 bytes they should be: the file is damaged");
  EXPECT_NE(refusal({junk, std::size_t(1) << 40}).find("expected at most 536870912 bytes"), std::string::npos);
  EXPECT_NE(refusal({junk, 400 << 20}).find("cannot come of 1000 compressed ones"), std::string::npos);
  EXPECT_NE(refusal({{}, 0}).find("results"), std::string::npos);
  // What unpacks well and is no trace.
  const QByteArray other = qCompress("{\"schema\":\"other\"}").mid(4);
  EXPECT_NE(refusal({other, 18}).find("schema"), std::string::npos) << refusal({other, 18});
  EXPECT_NE(refusal({other, 17}).find("not readable by zlib"), std::string::npos) << "more than it says";
}

TEST(PackedTraceTest, ResultsOfAnotherSchemaAreLeftOutWithANote) {
  SavedSession session;
  session.request.lanes = parse_lane_specs({"full"});
  session.results = {QByteArray("abc"), 3};
  QByteArray json = sessionJson(session);
  EXPECT_EQ(parseSession(json, "s").session.results.zlib, "abc");
  ASSERT_TRUE(json.contains("kvscope.trace/1"));
  const ReadSession newer = parseSession(QByteArray(json).replace("kvscope.trace/1", "kvscope.trace/9"), "s");
  EXPECT_TRUE(newer.session.results.zlib.isEmpty());
  EXPECT_TRUE(newer.notes.join(" ").contains("kvscope.trace/9")) << newer.notes.join(" ").toStdString();
  const ReadSession damaged = parseSession(json.replace("YWJj", "**++"), "s");
  EXPECT_TRUE(damaged.session.results.zlib.isEmpty());
  EXPECT_TRUE(damaged.notes.join(" ").contains("session.results are damaged (data: expected base64"))
      << damaged.notes.join(" ").toStdString();
}

}  // namespace
}  // namespace kvscope
